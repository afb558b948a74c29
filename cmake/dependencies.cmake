# What assay links: OpenMP, jansson, libyaml, the maths library. Drivers and vendor libraries are opened at
# run time and need nothing here.

find_package(OpenMP REQUIRED COMPONENTS C)
find_path(JANSSON_INCLUDE_DIR jansson.h REQUIRED)
find_path(YAML_INCLUDE_DIR yaml.h REQUIRED)
find_library(JANSSON_LIBRARY jansson REQUIRED)
find_library(YAML_LIBRARY yaml REQUIRED)
add_library(assay_dependencies INTERFACE)
target_include_directories(assay_dependencies SYSTEM INTERFACE ${JANSSON_INCLUDE_DIR}
                                                               ${YAML_INCLUDE_DIR})
target_link_libraries(assay_dependencies INTERFACE ${JANSSON_LIBRARY} ${YAML_LIBRARY}
                                                   OpenMP::OpenMP_C m ${CMAKE_DL_LIBS})

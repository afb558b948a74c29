# What assay links: OpenMP, jansson, libyaml, the maths library. Drivers and vendor libraries are opened at
# run time and need nothing here.

find_path(JANSSON_INCLUDE_DIR jansson.h REQUIRED)
find_path(YAML_INCLUDE_DIR yaml.h REQUIRED)
add_library(assay_dependencies INTERFACE)
target_include_directories(assay_dependencies SYSTEM INTERFACE ${JANSSON_INCLUDE_DIR}
                                                               ${YAML_INCLUDE_DIR})

if(NOT ASSAY_PORTABLE)
  find_package(OpenMP REQUIRED COMPONENTS C)
  find_library(JANSSON_LIBRARY jansson REQUIRED)
  find_library(YAML_LIBRARY yaml REQUIRED)
  target_link_libraries(assay_dependencies INTERFACE ${JANSSON_LIBRARY} ${YAML_LIBRARY}
                                                     OpenMP::OpenMP_C m ${CMAKE_DL_LIBS})
  return()
endif()

# A vendor library opened at run time brings libgomp.so.1 along. Two OpenMP runtimes would fight
# over the cores, so the portable program holds all of libgomp and exports it: the dynamic linker
# asks the program first, and both sides share one pool of threads. tools/test-dist checks that.
if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "ASSAY_PORTABLE needs gcc: it links gcc's static libgomp")
endif()
find_library(JANSSON_STATIC libjansson.a REQUIRED)
find_library(YAML_STATIC libyaml.a REQUIRED)
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libgomp.a
                OUTPUT_VARIABLE GOMP_STATIC OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT EXISTS ${GOMP_STATIC})
  message(FATAL_ERROR "ASSAY_PORTABLE needs libgomp.a, which this gcc does not have")
endif()
target_compile_options(assay_dependencies INTERFACE -fopenmp)
target_link_libraries(assay_dependencies INTERFACE ${JANSSON_STATIC} ${YAML_STATIC}
  -Wl,--whole-archive ${GOMP_STATIC} -Wl,--no-whole-archive m ${CMAKE_DL_LIBS})
set(ASSAY_PORTABLE_LINK_OPTIONS "-Wl,--export-dynamic-symbol=GOMP_*"
    "-Wl,--export-dynamic-symbol=omp_*")

# assay_portable: the program's own objects, linked so that it needs nothing but the C library.
#
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
add_executable(assay_portable EXCLUDE_FROM_ALL $<TARGET_OBJECTS:assay_cli> ${assay_all_objects})
target_link_libraries(assay_portable PRIVATE assay_flags ${JANSSON_STATIC} ${YAML_STATIC}
  -Wl,--whole-archive ${GOMP_STATIC} -Wl,--no-whole-archive m ${CMAKE_DL_LIBS})
# Without a build id, which would tell of the build's folder: the same bytes wherever it is built.
target_link_options(assay_portable PRIVATE -Wl,--build-id=none "-Wl,--export-dynamic-symbol=GOMP_*"
                    "-Wl,--export-dynamic-symbol=omp_*")
set_target_properties(assay_portable PROPERTIES LINKER_LANGUAGE C)

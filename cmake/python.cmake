# _assay.abi3.so, the C part of the Python package `assay` (python/): the harness without assay's own kernels, for
# CPython 3.11 and later. Without Python's headers it is not built.
file(GLOB python_folders /usr/include/python3.*)
foreach(python python3 /usr/bin/python3)
  execute_process(COMMAND ${python} -c "import sysconfig; print(sysconfig.get_paths()['include'])"
                  OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(PREPEND python_folders ${folder})
endforeach()
find_path(PYTHON_INCLUDE_DIR Python.h PATHS ${python_folders} NO_DEFAULT_PATH)
set(python_version 0)
if(PYTHON_INCLUDE_DIR)
  file(STRINGS ${PYTHON_INCLUDE_DIR}/patchlevel.h numbers REGEX "define PY_(MAJOR|MINOR)_VERSION")
  string(REGEX REPLACE ".*MAJOR_VERSION[ \t]+([0-9]+).*MINOR_VERSION[ \t]+([0-9]+).*" "\\1.\\2" python_version "${numbers}")
endif()
set(ASSAY_PYTHON OFF)
if(python_version VERSION_GREATER_EQUAL 3.11)
  set(ASSAY_PYTHON ON)
  file(GLOB assay_python_sources CONFIGURE_DEPENDS python/src/*.c)
  # The same registry, with an empty list.
  add_library(assay_no_kernels OBJECT src/kernel/kernel_registry.c)
  target_compile_definitions(assay_no_kernels PRIVATE ASSAY_NO_KERNELS)
  target_link_libraries(assay_no_kernels PRIVATE assay_objects assay_strict_warnings)
  set_target_properties(assay_no_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set(harness $<TARGET_OBJECTS:assay_objects>)
  set(harness "$<FILTER:${harness},EXCLUDE,/src/kernel/(native|onednn|openblas|cuda|cublaslt|cudnn)/>")
  set(harness "$<FILTER:${harness},EXCLUDE,/src/kernel/kernel_registry\\.c\\.o>")
  add_library(assay_python MODULE ${assay_python_sources} "${harness}" $<TARGET_OBJECTS:assay_no_kernels>)
  target_compile_definitions(assay_python PRIVATE Py_LIMITED_API=0x030B0000 ASSAY_VERSION="${PROJECT_VERSION}")
  target_include_directories(assay_python PRIVATE src include)
  target_include_directories(assay_python SYSTEM PRIVATE ${PYTHON_INCLUDE_DIR})
  target_link_libraries(assay_python PRIVATE assay_flags assay_dependencies assay_strict_warnings)
  target_compile_definitions(assay_python PRIVATE _GNU_SOURCE ASSAY_KERNEL_ONLY)
  set_target_properties(assay_python PROPERTIES PREFIX "" OUTPUT_NAME _assay SUFFIX .abi3.so LINKER_LANGUAGE C
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/assay
                        BUILD_RPATH "$ORIGIN/_libs") # where a wheel has jansson and libyaml (tools/wheel)
  # The rest of the package beside it: PYTHONPATH=build/python is all that a test needs.
  file(GLOB_RECURSE files RELATIVE ${CMAKE_SOURCE_DIR}/python CONFIGURE_DEPENDS python/*/*.py python/*/*.pyi python/*/*.typed)
  set(copies)
  foreach(file IN LISTS files)
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/python/${file}
      COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/python/${file} ${CMAKE_BINARY_DIR}/python/${file}
      DEPENDS python/${file} VERBATIM)
    list(APPEND copies ${CMAKE_BINARY_DIR}/python/${file})
  endforeach()
  add_custom_target(assay_python_files ALL DEPENDS ${copies})
endif()
# The program carries the package, the module and all (src/runner/python.h). Sanitizers have to be in a process
# from its start, which an interpreter's is not.
if(ASSAY_PYTHON AND TARGET assay AND NOT ASSAY_SANITIZE)
  file(GLOB_RECURSE assay_python_files CONFIGURE_DEPENDS python/*.py)
  list(FILTER assay_python_files EXCLUDE REGEX "/setup\\.py$")
  list(FILTER assay_python_files EXCLUDE REGEX "/tests/")
  set(libraries) # that the module needs and another machine may not have, by the names it knows them by
  foreach(library ${JANSSON_LIBRARY} ${YAML_LIBRARY})
    file(REAL_PATH ${library} file)
    execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${file} OUTPUT_VARIABLE header)
    string(REGEX MATCH "SONAME +([^\n ]+)" soname "${header}")
    list(APPEND libraries "${CMAKE_MATCH_1}=${file}")
  endforeach()
  set(parts ${CMAKE_CURRENT_BINARY_DIR}/python_parts.c)
  set(module ${CMAKE_CURRENT_BINARY_DIR}/python_module.so)
  add_custom_command(OUTPUT ${parts} ${module}
    COMMAND ${CMAKE_STRIP} -o ${module} $<TARGET_FILE:assay_python>
    COMMAND ${CMAKE_COMMAND} -DOUT=${parts} -DROOT=${CMAKE_SOURCE_DIR}/python "-DFILES=${assay_python_files}"
            -DMODULE=${module} "-DLIBRARIES=${libraries}" -P ${CMAKE_SOURCE_DIR}/cmake/python_parts.cmake
    DEPENDS ${assay_python_files} assay_python cmake/python_parts.cmake VERBATIM)
  add_library(assay_python_parts OBJECT ${parts})
  set_source_files_properties(${parts} PROPERTIES OBJECT_DEPENDS "${module};${assay_python_files}")
  target_include_directories(assay_python_parts PRIVATE src include)
  set_target_properties(assay_python_parts PROPERTIES C_EXTENSIONS ON)
  foreach(program assay assay_portable)
    if(TARGET ${program})
      target_sources(${program} PRIVATE $<TARGET_OBJECTS:assay_python_parts>)
    endif()
  endforeach()
endif()

# What `make install` and `make deb` put where. Nothing is written into the build folder, so that two installs
# of one build do not disturb each other.

if(TARGET assay)
  install(TARGETS assay)
  # The same program under KoBench's name: a link beside it.
  install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} -E create_symlink assay
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/kobench\" COMMAND_ERROR_IS_FATAL ANY)")

  # The program knows its options: it prints the man page and the completions.
  function(assay_install_printed folder name)
    install(CODE "set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}\")
file(MAKE_DIRECTORY \"\${folder}\")
execute_process(COMMAND \"$<TARGET_FILE:assay>\" help ${ARGN}
  OUTPUT_FILE \"\${folder}/${name}\" COMMAND_ERROR_IS_FATAL ANY)")
  endfunction()
  assay_install_printed(${CMAKE_INSTALL_MANDIR}/man1 assay.1 --man "${CMAKE_SOURCE_DIR}/docs/assay.1.in")
  assay_install_printed(${CMAKE_INSTALL_DATADIR}/bash-completion/completions assay --completion bash)
  assay_install_printed(${CMAKE_INSTALL_DATADIR}/zsh/site-functions _assay --completion zsh)
  assay_install_printed(${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d assay.fish --completion fish)
endif()

install(DIRECTORY include/assay TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(DIRECTORY share/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/assay FILES_MATCHING PATTERN "*.json")
install(FILES LICENSE README.md CHANGELOG.md TYPE DOC)
install(DIRECTORY docs TYPE DOC PATTERN "*.in" EXCLUDE PATTERN runs EXCLUDE)
# By kind, so that what somebody built there stays behind.
install(DIRECTORY examples TYPE DOC FILES_MATCHING PATTERN "*.c" PATTERN "*.cc" PATTERN "*.cu" PATTERN "*.h"
                                                   PATTERN "*.yml" PATTERN "*.md" PATTERN "CMakeLists.txt")

# find_package(assay): assay::assay and assay::assay_static. What the static library needs goes by name, as
# in assay.pc: who links the shared one needs none of it.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/assay)
set_target_properties(assay_shared PROPERTIES EXPORT_NAME assay)
foreach(library jansson yaml m ${CMAKE_DL_LIBS} ${OpenMP_C_FLAGS})
  target_link_libraries(assay_static INTERFACE $<INSTALL_INTERFACE:${library}>)
endforeach()
install(TARGETS assay_shared assay_static EXPORT assay_targets
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT assay_targets NAMESPACE assay:: FILE assayTargets.cmake DESTINATION ${package})
configure_package_config_file(cmake/assayConfig.cmake.in ${CMAKE_BINARY_DIR}/assayConfig.cmake
                              INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
# A program built against an older header goes on working with a newer library (docs/c-api.md).
write_basic_package_version_file(${CMAKE_BINARY_DIR}/assayConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/assayConfig.cmake ${CMAKE_BINARY_DIR}/assayConfigVersion.cmake
        DESTINATION ${package})

# Written when installing, because only then is the prefix known.
# By name, not as Requires.private: pkg-config would want their files for the shared library, too.
set(ASSAY_LIBS_PRIVATE "-ljansson -lyaml -lm ${OpenMP_C_FLAGS}")
configure_file(assay.pc.in ${CMAKE_BINARY_DIR}/assay.pc.in @ONLY)
install(CODE "file(READ \"${CMAKE_BINARY_DIR}/assay.pc.in\" text)
string(REPLACE \"%PREFIX%\" \"\${CMAKE_INSTALL_PREFIX}\" text \"\${text}\")
file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig/assay.pc\" \"\${text}\")")

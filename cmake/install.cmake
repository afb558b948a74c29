# What `make install` puts where.

if(TARGET assay)
  install(TARGETS assay)
  # The same program under KoBench's name: a link beside it.
  install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} -E create_symlink assay
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/kobench\")")

  # The program knows its options: it prints the man page and the completions.
  function(assay_install_printed folder name)
    install(CODE "execute_process(COMMAND \"$<TARGET_FILE:assay>\" help ${ARGN}
      OUTPUT_FILE \"${CMAKE_BINARY_DIR}/printed/${folder}/${name}\" COMMAND_ERROR_IS_FATAL ANY)")
    install(FILES ${CMAKE_BINARY_DIR}/printed/${folder}/${name} DESTINATION ${folder})
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/printed/${folder})
  endfunction()
  assay_install_printed(${CMAKE_INSTALL_MANDIR}/man1 assay.1 --man "${CMAKE_SOURCE_DIR}/docs/assay.1.in")
  assay_install_printed(${CMAKE_INSTALL_DATADIR}/bash-completion/completions assay --completion bash)
  assay_install_printed(${CMAKE_INSTALL_DATADIR}/zsh/site-functions _assay --completion zsh)
  assay_install_printed(${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d assay.fish --completion fish)
endif()
install(TARGETS assay_shared assay_static)
install(DIRECTORY include/assay TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE TYPE DOC)
install(FILES share/schema/pytorch_benchmark_v3.schema.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/schema)

# Written when installing, because only then is the prefix known.
set(ASSAY_LIBS_PRIVATE "-lm ${OpenMP_C_FLAGS}")
configure_file(assay.pc.in ${CMAKE_BINARY_DIR}/assay.pc.in @ONLY)
install(CODE "file(READ \"${CMAKE_BINARY_DIR}/assay.pc.in\" text)
string(REPLACE \"%PREFIX%\" \"\${CMAKE_INSTALL_PREFIX}\" text \"\${text}\")
file(WRITE \"${CMAKE_BINARY_DIR}/assay.pc\" \"\${text}\")")
install(FILES ${CMAKE_BINARY_DIR}/assay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

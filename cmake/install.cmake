# What `make install` puts where.

if(TARGET assay)
  install(TARGETS assay)
  # The same program under KoBench's name: a link beside it.
  install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} -E create_symlink assay
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/kobench\")")
endif()
install(TARGETS assay_shared assay_static)
install(DIRECTORY include/assay TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE TYPE DOC)
install(FILES docs/assay.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
install(FILES share/completions/assay.bash RENAME assay
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES share/completions/assay.zsh RENAME _assay
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES share/completions/assay.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES share/schema/pytorch_benchmark_v3.schema.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/schema)

# Written when installing, because only then is the prefix known.
set(ASSAY_LIBS_PRIVATE "-lm ${OpenMP_C_FLAGS}")
configure_file(assay.pc.in ${CMAKE_BINARY_DIR}/assay.pc.in @ONLY)
install(CODE "file(READ \"${CMAKE_BINARY_DIR}/assay.pc.in\" text)
string(REPLACE \"%PREFIX%\" \"\${CMAKE_INSTALL_PREFIX}\" text \"\${text}\")
file(WRITE \"${CMAKE_BINARY_DIR}/assay.pc\" \"\${text}\")")
install(FILES ${CMAKE_BINARY_DIR}/assay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

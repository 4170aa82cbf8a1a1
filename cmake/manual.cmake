# Manual pages and shell completions are made from what the command itself says with --help.

if(TARGET nadir_command AND NOT CMAKE_CROSSCOMPILING)
    find_program(BASH bash REQUIRED)
    set(manual ${PROJECT_BINARY_DIR}/manual)
    set(completion ${PROJECT_BINARY_DIR}/completion)
    set(scripts ${PROJECT_SOURCE_DIR}/scripts)
    add_custom_command(OUTPUT ${manual}/nadir.1 ${completion}/nadir ${completion}/nadir.fish
        COMMAND ${BASH} ${scripts}/manual $<TARGET_FILE:nadir_command> ${manual}
        COMMAND ${BASH} ${scripts}/completion $<TARGET_FILE:nadir_command> ${completion}
        DEPENDS nadir_command ${scripts}/manual ${scripts}/completion
        COMMENT "Manual pages and completions" VERBATIM)
    add_custom_target(nadir_manual ALL DEPENDS ${manual}/nadir.1 ${completion}/nadir ${completion}/nadir.fish)

    install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
    install(FILES ${completion}/nadir DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${completion}/nadir.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

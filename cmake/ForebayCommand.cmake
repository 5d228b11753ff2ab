# SPDX-License-Identifier: Apache-2.0
#
# The command `forebay` and the documents of an installed prefix. Each is a component of its own:
# scripts/build installs neither into .venv, where the command is an editable installation.
if(FOREBAY_TOOLS)
  set(forebay_python_dir "${CMAKE_INSTALL_DATADIR}/forebay/python")
  file(RELATIVE_PATH forebay_python_from_bin "/${CMAKE_INSTALL_BINDIR}" "/${forebay_python_dir}")
  file(RELATIVE_PATH forebay_libexec_from_bin "/${CMAKE_INSTALL_BINDIR}"
       "/${CMAKE_INSTALL_LIBEXECDIR}/forebay")
  set(forebay_extensions_from_bin "")
  if(FOREBAY_PYTHON AND NOT SKBUILD)
    file(RELATIVE_PATH forebay_extensions_from_bin "/${CMAKE_INSTALL_BINDIR}"
         "/${forebay_site_packages}")
  endif()
  configure_file(cmake/launcher.py "${PROJECT_BINARY_DIR}/launcher/forebay" @ONLY)
  install(
    PROGRAMS "${PROJECT_BINARY_DIR}/launcher/forebay"
    DESTINATION ${CMAKE_INSTALL_BINDIR}
    COMPONENT command)
  install(
    DIRECTORY python/forebay
    DESTINATION ${forebay_python_dir}
    COMPONENT command
    FILES_MATCHING
    PATTERN "*.py"
    PATTERN "*.toml"
    PATTERN "*.j2"
    PATTERN "py.typed"
    PATTERN "__pycache__" EXCLUDE)

  # Where each shell searches for the completion of a command, below a prefix in its path.
  set(completions packaging/completions)
  install(
    FILES ${completions}/forebay.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME forebay
    COMPONENT command)
  install(
    FILES ${completions}/_forebay
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
    COMPONENT command)
  install(
    FILES ${completions}/forebay.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    COMPONENT command)
  unset(completions)
endif()

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
# In the same places relative to each other as in the source tree, so that links work.
install(
  FILES CHANGELOG.md LICENSE README.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT doc)
install(
  DIRECTORY docs
  DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT doc)
install(
  DIRECTORY examples
  DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT doc
  FILES_MATCHING
  PATTERN "*.c"
  PATTERN "*.[ch]pp"
  PATTERN "*.f90")
install(
  FILES cmake/examples.cmake
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
  RENAME CMakeLists.txt
  COMPONENT doc)

# Debian packages, made by `cpack` in the build folder (scripts/package does both): the program, the shared library, and
# what programs are built with.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME millrace)
set(CPACK_PACKAGE_VENDOR Millrace)
set(MILLRACE_MAINTAINER "Millrace developers <millrace@packages.invalid>" CACHE STRING "Who answers for the packages: Name <mail>")
set(CPACK_PACKAGE_CONTACT "${MILLRACE_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_BINARY_DIR}/packages)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL library development program)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(soname ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libmillrace${soname})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmillrace-dev)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME millrace)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libmillrace${soname} (= ${PROJECT_VERSION}-1)")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "mini deep-learning trainer with a native input graph (library)
The shared library of Millrace, which trains and runs small neural networks in
the process of the program that uses it, fed by a graph of native input ops.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "mini deep-learning trainer with a native input graph (headers)
Headers, a static library, and package files for CMake and pkg-config: what
programs that embed Millrace, and plug-ins that extend it, are built with.")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "mini deep-learning trainer with a native input graph
The program trainer learns from CSV files larger than memory by what a YAML
file says, deterministically for any number of threads, and evaluates and
applies what it learned.")

file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers)

# Each has its licence and what changed.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component LIBRARY DEVELOPMENT PROGRAM)
  set(package ${CPACK_DEBIAN_${component}_PACKAGE_NAME})
  string(TOLOWER ${component} lower)
  set(folder ${PROJECT_BINARY_DIR}/debian/${package})
  file(WRITE ${folder}/copyright [[
Millrace, a mini deep-learning trainer with a native input graph.

Copyright 2026 the Millrace developers
License: Apache-2.0

On Debian systems the Apache License, version 2.0, is the file
/usr/share/common-licenses/Apache-2.0.
]])
  file(WRITE ${folder}/changelog.Debian
    "millrace (${PROJECT_VERSION}-1) unstable; urgency=medium\n\n  * See the project's CHANGELOG.md.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  execute_process(COMMAND gzip -9nf ${folder}/changelog.Debian)
  install(FILES ${folder}/copyright ${folder}/changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${lower})
endforeach()
include(CPack)

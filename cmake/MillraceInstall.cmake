# What `cmake --install` and `cpack` take: the library, its headers, and how CMake and pkg-config find them; the program
# with its manual page and configurations, where it is built.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Millrace)

# The name under which the loader finds a shared library: what another machine has without files for development.
# Empty for a static one.
function(millrace_soname out file)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${file} OUTPUT_VARIABLE headers RESULT_VARIABLE failed ERROR_QUIET)
  set(${out} "" PARENT_SCOPE)
  if(NOT failed AND headers MATCHES "SONAME +([^ \n]+)")
    set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
  endif()
endfunction()

# The file of an imported library, whichever of its configurations it comes in.
function(millrace_file_of out target)
  foreach(property IMPORTED_LOCATION_RELEASE IMPORTED_LOCATION_NONE IMPORTED_LOCATION_RELWITHDEBINFO IMPORTED_LOCATION)
    get_target_property(file ${target} ${property})
    if(file)
      set(${out} ${file} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "CMake does not know the file of ${target}; -DMILLRACE_INSTALL=OFF builds without what installs")
endfunction()

execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libgomp.so OUTPUT_VARIABLE files OUTPUT_STRIP_TRAILING_WHITESPACE)
foreach(target TBB::tbb OneDNN::OneDNN yaml-cpp ${MILLRACE_FORMAT_TARGETS})
  millrace_file_of(file ${target})
  list(APPEND files ${file})
endforeach()
set(MILLRACE_RUNTIME_LIBRARIES "")
foreach(file ${files})
  millrace_soname(soname ${file})
  if(NOT soname)
    message(WARNING "Millrace is built, but not installed: ${file} is no shared library, and an installed "
                    "millrace::static needs the name of one. -DMILLRACE_INSTALL=OFF says so without this warning.")
    set(MILLRACE_INSTALL OFF)
    return()
  endif()
  list(APPEND MILLRACE_RUNTIME_LIBRARIES ${soname})
endforeach()

set(targets millrace_static)
if(BUILD_SHARED_LIBS)
  list(APPEND targets millrace)
endif()
install(TARGETS ${targets} EXPORT MillraceTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT MillraceTargets NAMESPACE millrace:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/MillraceConfig.cmake.in ${PROJECT_BINARY_DIR}/MillraceConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/MillraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/MillraceConfig.cmake ${PROJECT_BINARY_DIR}/MillraceConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/MillraceCudaLanguage.cmake ${PROJECT_SOURCE_DIR}/cmake/MillracePlugin.cmake
  DESTINATION ${package_dir} COMPONENT development)

# A static library alone needs what the shared one brings itself.
list(TRANSFORM MILLRACE_RUNTIME_LIBRARIES PREPEND "-l:" OUTPUT_VARIABLE pkg_libraries)
list(JOIN pkg_libraries " " pkg_libraries)
string(APPEND pkg_libraries " -ldl -lpthread -lstdc++ -lm")
if(MILLRACE_WITH_CUDA)
  string(PREPEND pkg_libraries "-lcudart_static -lrt ")
endif()
set(pkg_private "")
set(pkg_public "")
if(BUILD_SHARED_LIBS)
  set(pkg_private ${pkg_libraries})
else()
  set(pkg_public " ${pkg_libraries}")
endif()
# Folders within the prefix move with it; others are where they were said to be.
set(pkg_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
set(pkg_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pkg_prefix ${CMAKE_INSTALL_PREFIX})
  set(pkg_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH pkg_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" pkg_prefix "\${pcfiledir}/${pkg_prefix}")
endif()
set(include_destination "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pkg_includedir ${CMAKE_INSTALL_INCLUDEDIR})
  set(include_destination ${CMAKE_INSTALL_INCLUDEDIR})
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/millrace.pc.in ${PROJECT_BINARY_DIR}/millrace.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/millrace.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# Headers lie in the build as links, which are followed.
install(CODE "
  set(include_dir \"${MILLRACE_INCLUDE_DIR}\")
  set(destination \"${include_destination}\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake\")
" COMPONENT development)

# Beside one another as in the sources, for the links between them.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libmillrace-dev COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libmillrace-dev COMPONENT development
  FILES_MATCHING PATTERN *.md PATTERN *.svg)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/results DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libmillrace-dev/bench
  COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/bench/gemm.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libmillrace-dev/bench
  COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libmillrace-dev COMPONENT development
  PATTERN __pycache__ EXCLUDE PATTERN build EXCLUDE PATTERN *.safetensors EXCLUDE)

if(MILLRACE_PROGRAM)
  install(TARGETS trainer RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/millrace/configs COMPONENT program
    FILES_MATCHING PATTERN *.yaml)
  # Written by the program itself.
  if(NOT CMAKE_CROSSCOMPILING)
    set(written ${PROJECT_BINARY_DIR}/written)
    install(CODE "
      file(MAKE_DIRECTORY ${written})
      execute_process(COMMAND \"$<TARGET_FILE:trainer>\" completion bash OUTPUT_FILE ${written}/trainer COMMAND_ERROR_IS_FATAL ANY)
      execute_process(COMMAND \"$<TARGET_FILE:trainer>\" completion zsh OUTPUT_FILE ${written}/_trainer COMMAND_ERROR_IS_FATAL ANY)
      execute_process(COMMAND \"$<TARGET_FILE:trainer>\" completion fish OUTPUT_FILE ${written}/trainer.fish COMMAND_ERROR_IS_FATAL ANY)
      execute_process(COMMAND \"$<TARGET_FILE:trainer>\" man OUTPUT_FILE ${written}/trainer.1 COMMAND_ERROR_IS_FATAL ANY)
      execute_process(COMMAND gzip -9nf ${written}/trainer.1 COMMAND_ERROR_IS_FATAL ANY)
    " COMPONENT program)
    install(FILES ${written}/trainer.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
    install(FILES ${written}/trainer DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
    install(FILES ${written}/_trainer DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
    install(FILES ${written}/trainer.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
  endif()
endif()

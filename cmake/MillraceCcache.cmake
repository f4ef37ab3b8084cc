# Compilations are cached when ccache is there, unless the caller chose a launcher. Paths count from the source folder, so
# that presets and clones share what they have in common.
find_program(MILLRACE_CCACHE ccache)
mark_as_advanced(MILLRACE_CCACHE)
if(MILLRACE_CCACHE AND PROJECT_IS_TOP_LEVEL)
  # Files that use precompiled headers are cached, too: ccache asks for both settings and the compiler's option below.
  # Comments count, because GCC recognises a header with `#pragma once` by all of its bytes.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_COMMENTS=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${MILLRACE_CCACHE})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
                      "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  foreach(language CXX CUDA)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${launcher})
    endif()
  endforeach()
endif()

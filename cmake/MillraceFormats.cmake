# The libraries of file formats. Every one that is found is linked; the files that need another one "are not in this build",
# and the error names its Debian package. -DMILLRACE_ZSTD_LIBRARY=OFF builds without one that is there. Whatever links one of
# MILLRACE_FORMAT_TARGETS is compiled with MILLRACE_HAS_NAME, for example MILLRACE_HAS_ZLIB, and finds its header.
set(MILLRACE_FORMATS "")
set(MILLRACE_FORMATS_MISSING "")
set(MILLRACE_FORMAT_TARGETS "")

# millrace_format(NAME HEADER LIBRARY PACKAGE)
macro(millrace_format name header library package)
  string(TOUPPER ${name} upper)
  find_path(MILLRACE_${upper}_INCLUDE_DIR ${header})
  find_library(MILLRACE_${upper}_LIBRARY ${library})
  mark_as_advanced(MILLRACE_${upper}_INCLUDE_DIR MILLRACE_${upper}_LIBRARY)
  if(MILLRACE_${upper}_INCLUDE_DIR AND MILLRACE_${upper}_LIBRARY)
    add_library(millrace_format::${name} UNKNOWN IMPORTED)
    set_target_properties(millrace_format::${name} PROPERTIES
      IMPORTED_LOCATION ${MILLRACE_${upper}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${MILLRACE_${upper}_INCLUDE_DIR}
      INTERFACE_COMPILE_DEFINITIONS MILLRACE_HAS_${upper})
    list(APPEND MILLRACE_FORMATS ${name})
    list(APPEND MILLRACE_FORMAT_TARGETS millrace_format::${name})
  else()
    list(APPEND MILLRACE_FORMATS_MISSING ${name})
    message(STATUS "Millrace: without ${name}; install ${package} to have the files that need it")
  endif()
endmacro()

millrace_format(zlib zlib.h z zlib1g-dev)
millrace_format(libdeflate libdeflate.h deflate libdeflate-dev)
millrace_format(zstd zstd.h zstd libzstd-dev)
millrace_format(snappy snappy-c.h snappy libsnappy-dev)
millrace_format(lz4 lz4.h lz4 liblz4-dev)
millrace_format(jpeg jpeglib.h jpeg libjpeg62-turbo-dev)
millrace_format(png png.h png libpng-dev)

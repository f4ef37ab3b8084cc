# Enables the language CUDA where nvcc is found, for the architectures that the library is built for; after it,
# CMAKE_CUDA_COMPILER_LOADED says whether. To be included in file scope, as enable_language() asks.

# From Turing on: 7.5 and what is newer than 9.0 are compiled by the driver at the first start, 8.0 serves all of 8.x. The text
# for 7.5 serves them all: our kernels use nothing that came later.
if(NOT CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(CMAKE_CUDA_ARCHITECTURES 75-virtual 80-real 90-real)
endif()
# nvcc is rarely on the PATH where the toolkit has its own folder.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(MILLRACE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(MILLRACE_NVCC)
  if(MILLRACE_NVCC)
    set(ENV{CUDACXX} ${MILLRACE_NVCC})
  endif()
endif()
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
endif()

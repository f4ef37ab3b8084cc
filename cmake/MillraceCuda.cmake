# Finds the CUDA toolkit as MILLRACE_CUDA asks; sets MILLRACE_WITH_CUDA.
#
# CMake 3.25 drops C++20 for CUDA without a word, so the standard is given as a flag and CMAKE_CUDA_STANDARD stays unset.
set(MILLRACE_WITH_CUDA OFF)
if(MILLRACE_CUDA STREQUAL "OFF")
  message(STATUS "Millrace: for the CPU only (MILLRACE_CUDA is OFF)")
  return()
endif()

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
  find_package(CUDAToolkit 12.4)
endif()
if(CMAKE_CUDA_COMPILER AND CUDAToolkit_FOUND)
  set(MILLRACE_WITH_CUDA ON)
  set(CMAKE_CUDA_STANDARD_REQUIRED OFF)
  string(APPEND CMAKE_CUDA_FLAGS " -std=c++20")
  list(JOIN CMAKE_CUDA_ARCHITECTURES ", " architectures)
  message(STATUS "Millrace: with CUDA ${CUDAToolkit_VERSION}, architectures ${architectures}")
elseif(MILLRACE_CUDA STREQUAL "ON")
  message(FATAL_ERROR "MILLRACE_CUDA=ON, but no CUDA toolkit >= 12.4 was found (is nvcc on the PATH?)")
else()
  message(STATUS "Millrace: for the CPU only (no CUDA toolkit >= 12.4 was found)")
endif()

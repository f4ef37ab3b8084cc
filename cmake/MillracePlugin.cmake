# For who extends Millrace: plug-ins, and kinds that are compiled by nvcc, so that they run on a GPU, too.
#
# nvcc is used where Millrace was built with CUDA and the project has the language:
#   find_package(Millrace REQUIRED OPTIONAL_COMPONENTS CUDA)   # enables it where nvcc is found; or
#   project(mine LANGUAGES CXX CUDA)
# Elsewhere the same files are compiled as C++, for the CPU alone, and a line says why.

# millrace_add_plugin(NAME SOURCE... [CUDA])
# A module that `trainer --plugin` and load_plugin() of <millrace/plugin.h> take. It links no library: whoever loads it
# has Millrace, and there must not be a second one. CUDA: its sources are compiled by nvcc.
function(millrace_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CUDA" "" "")
  add_library(${name} MODULE ${arg_UNPARSED_ARGUMENTS})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_include_directories(${name} PRIVATE $<TARGET_PROPERTY:millrace::static,INTERFACE_INCLUDE_DIRECTORIES>)
  # As the library is compiled: the same numbers, as fast.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off;-fno-trapping-math;-fno-math-errno>)
  set_target_properties(${name} PROPERTIES PREFIX "" VISIBILITY_INLINES_HIDDEN ON
                                           CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden)
  if(arg_CUDA)
    millrace_cuda_sources(${name} ${arg_UNPARSED_ARGUMENTS})
  endif()
endfunction()

# millrace_cuda_sources(TARGET SOURCE...)
# Has nvcc compile these sources of a target, as Millrace's own layers are.
function(millrace_cuda_sources target)
  get_target_property(with_cuda millrace::static MILLRACE_WITH_CUDA)
  set(why "")
  if(NOT with_cuda)
    set(why "this Millrace was built without CUDA")
  elseif(NOT CMAKE_CUDA_COMPILER_LOADED)
    set(why "no nvcc (find_package(Millrace REQUIRED OPTIONAL_COMPONENTS CUDA) looks for it)")
  elseif(NOT CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" OR CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.4)
    set(why "nvcc 12.4 is needed, got ${CMAKE_CUDA_COMPILER_ID} ${CMAKE_CUDA_COMPILER_VERSION}")
  endif()
  list(JOIN ARGN ", " sources)
  if(why)
    message(STATUS "Millrace: ${target}: ${sources} as C++, for the CPU alone: ${why}")
    return()
  endif()
  message(STATUS "Millrace: ${target}: ${sources} as CUDA, for CPU and GPU")
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE CUDA)
  # The standard is a flag, as CMake 3.25 drops C++20 for CUDA without a word. Of the host's code, the same numbers as
  # the library's.
  set_property(TARGET ${target} PROPERTY CUDA_STANDARD)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>
    "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler=-ffp-contract=off,-fno-trapping-math,-fno-math-errno --expt-relaxed-constexpr -Wno-deprecated-gpu-targets>")
endfunction()

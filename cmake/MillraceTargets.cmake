# One object target a folder, joined into one library: millrace::millrace, which BUILD_SHARED_LIBS makes a shared one, and
# millrace::static, which tests and the program link, as they reach what a shared one hides.

# "millrace/core/tensor.h" is core/tensor.h: links in the build tree give the prefix.
set(MILLRACE_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${MILLRACE_INCLUDE_DIR}/millrace)
foreach(folder api cli core layers input trainer)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${MILLRACE_INCLUDE_DIR}/millrace/${folder} SYMBOLIC)
endforeach()
foreach(header c.h extend.h millrace.h plugin.h testing.h)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/api/${header} ${MILLRACE_INCLUDE_DIR}/millrace/${header} SYMBOLIC)
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/version.h.in ${MILLRACE_INCLUDE_DIR}/millrace/version.h @ONLY)

# What nobody calls is left out of what `target` links.
function(millrace_lean target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT MILLRACE_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,--gc-sections)
  endif()
endfunction()

# Warnings, sanitizers and floating-point rules of our own code. Nobody reads floating-point exception flags nor the errno
# of a square root, and without them loops with comparisons and roots are vectorised; results are the same.
function(millrace_options target)
  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(MILLRACE_WERROR)
    list(APPEND warnings -Werror)
  endif()
  # core/threads/mutex.h
  list(APPEND warnings $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
  # Without the folder of the build in it, code is what a compiler cache keeps for other clones, too.
  target_compile_options(${target} PRIVATE
                         $<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${warnings};-ffp-contract=off;-fno-trapping-math;-fno-math-errno;-ffunction-sections>)
  if(MILLRACE_WITH_CUDA AND NOT MILLRACE_CUDA_EMULATED)
    # Drivers older than CUDA 12.4's do not know the compression; the programs of CUDA 13 do not run on those.
    # nvcc's own host code is full of pedantic warnings; its device code is checked by nvcc itself.
    target_compile_options(${target} PRIVATE
      $<$<AND:$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>,$<VERSION_GREATER_EQUAL:${CMAKE_CUDA_COMPILER_VERSION},13>>:--compress-mode=size>
      "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler=-Wall,-Wextra,-Wshadow,-ffp-contract=off,-fno-trapping-math,-fno-math-errno,-ffunction-sections --expt-relaxed-constexpr -Wno-deprecated-gpu-targets>")
    if(MILLRACE_WERROR)
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror=all-warnings -Xcompiler=-Werror>")
    endif()
  endif()
  if(MILLRACE_SANITIZE STREQUAL "address")
    set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    # Variables stay in the stack, where the emulated GPU looks for what no kernel may be given.
    if(MILLRACE_CUDA_EMULATED)
      list(APPEND sanitize -fsanitize-address-use-after-return=never)
    endif()
  elseif(MILLRACE_SANITIZE STREQUAL "thread")
    set(sanitize -fsanitize=thread -fno-omit-frame-pointer)
  endif()
  if(sanitize)
    # As GCC names the sanitizer; Clang before 21 does not.
    string(TOUPPER ${MILLRACE_SANITIZE} name)
    target_compile_definitions(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:__SANITIZE_${name}__>)
  endif()
  if(MILLRACE_FUZZ)
    # What libFuzzer steers by; it itself is linked to the fuzz targets alone.
    list(APPEND sanitize -fsanitize=fuzzer-no-link)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${sanitize}>")
  target_link_options(${target} PRIVATE ${sanitize})
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                                             CUDA_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
endfunction()

# millrace_small(TARGET [FAST source...])
# A release has no unrolled loops where a program runs through once or waits for a reader: that halves the code. FAST:
# what is called for each row.
function(millrace_small target)
  cmake_parse_arguments(arg "" "" "FAST" ${ARGN})
  target_compile_options(${target} PRIVATE "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-Os>")
  set_source_files_properties(${arg_FAST} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
endfunction()

# millrace_as_cuda(SOURCE...)
# Compiles them as CUDA: by nvcc or, where the GPU is emulated, as C++ with what the language lacks.
function(millrace_as_cuda)
  if(NOT MILLRACE_CUDA_EMULATED)
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CUDA)
    return()
  endif()
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX
    COMPILE_OPTIONS "-include;${PROJECT_SOURCE_DIR}/tests/emulated_gpu/language.h"
    COMPILE_DEFINITIONS "__CUDACC_VER_MAJOR__=${CUDAToolkit_VERSION_MAJOR};__CUDACC_VER_MINOR__=${CUDAToolkit_VERSION_MINOR};__CUDA_ARCH_LIST__=900")
endfunction()

# millrace_has_kernels(OUT FILE)
# Whether a file, named from the root of the sources, includes core/parallel.h, itself or by a header of ours: its loops
# run on a GPU then.
function(millrace_has_kernels out file)
  get_property(known GLOBAL PROPERTY "MILLRACE_HAS_KERNELS_${file}")
  if("${known}" STREQUAL "")
    set(known OFF)
    file(STRINGS ${PROJECT_SOURCE_DIR}/${file} headers REGEX "^#include \"millrace/[a-z_]+/")
    list(TRANSFORM headers REPLACE "^.*\"millrace/([^\"]*)\".*$" "\\1")
    foreach(header ${headers})
      if(header STREQUAL "core/parallel.h")
        set(known ON)
      else()
        millrace_has_kernels(known ${header})
      endif()
      if(known)
        break()
      endif()
    endforeach()
    set_property(GLOBAL PROPERTY "MILLRACE_HAS_KERNELS_${file}" ${known})
  endif()
  set(${out} ${known} PARENT_SCOPE)
endfunction()

# millrace_cuda_units(OUT NAME SOURCE...)
# Files that include some of these sources each, compiled as CUDA. nvcc reads every header, and CUB's, once for the host
# and once for each architecture, which takes longer than the kernels of most kinds do.
function(millrace_cuda_units out name)
  set(size 10)
  set(units "")
  list(LENGTH ARGN left)
  while(left GREATER 0)
    list(SUBLIST ARGN 0 ${size} some)
    list(REMOVE_ITEM ARGN ${some})
    list(LENGTH ARGN left)
    list(LENGTH units number)
    # Relative names, so that clones share what a compiler cache keeps.
    set(content "")
    foreach(source ${some})
      file(RELATIVE_PATH source ${PROJECT_BINARY_DIR}/generated ${source})
      string(APPEND content "#include \"${source}\"\n")
    endforeach()
    set(unit ${PROJECT_BINARY_DIR}/generated/${name}_${number}.cu)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${content}" @ONLY)
    list(APPEND units ${unit})
  endwhile()
  millrace_as_cuda(${units})
  set(${out} ${units} PARENT_SCOPE)
endfunction()

# millrace_compile_together(TARGET SOURCE...)
# Compiles the sources eight at a time. Call it with all of them, whatever is left out: then a build without some has no
# others in one unit, whose names could clash.
function(millrace_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  set(number 0)
  foreach(source ${ARGN})
    math(EXPR group "${number} / 8")
    math(EXPR number "${number} + 1")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${target}_${group})
  endforeach()
endfunction()

# millrace_folder(NAME [PRIVATE_LIBRARIES lib...] [INCLUDES dir...])
# Sources are found by name. With CUDA, *.cu are compiled too, and so are, as CUDA, the files of layers/ that have kernels.
function(millrace_folder name)
  cmake_parse_arguments(arg "" "" "PRIVATE_LIBRARIES;INCLUDES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cpp)
  file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cu)
  millrace_require_tests(${sources})
  set(all_sources ${sources})
  millrace_leave_out(sources)
  millrace_leave_out(cuda_sources)

  # cuda/ is for builds with a toolkit; without one its stub.cpp alone stands in for it.
  set(stub ${PROJECT_SOURCE_DIR}/${name}/cuda/stub.cpp)
  set(device_sources "")
  if(NOT MILLRACE_WITH_CUDA)
    file(GLOB of_cuda ${PROJECT_SOURCE_DIR}/${name}/cuda/*.cpp)
    list(REMOVE_ITEM of_cuda ${stub})
    if(of_cuda)
      list(REMOVE_ITEM sources ${of_cuda})
    endif()
    set(cuda_sources "")
  else()
    list(REMOVE_ITEM sources ${stub})
    if(name STREQUAL "layers")
      foreach(source ${sources})
        file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${source})
        millrace_has_kernels(has_kernels ${relative})
        # The model's own loops prepare it on the host.
        if(has_kernels AND NOT source MATCHES "/layers/model/")
          list(APPEND device_sources ${source})
        else()
          set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
        endif()
      endforeach()
      list(REMOVE_ITEM sources ${device_sources})
    endif()
    millrace_cuda_units(cuda_sources ${name} ${cuda_sources} ${device_sources})
  endif()

  set(target millrace_${name})
  add_library(${target} OBJECT ${sources} ${cuda_sources} ${MILLRACE_TABLE_${name}})
  target_include_directories(${target} PUBLIC ${MILLRACE_INCLUDE_DIR} PRIVATE ${arg_INCLUDES})
  target_link_libraries(${target} PRIVATE ${arg_PRIVATE_LIBRARIES} Threads::Threads)
  # Nobody above layers sees CUDA's headers, so other folders' objects are those of a build without it.
  if(MILLRACE_WITH_CUDA AND name MATCHES "^(core|layers)$")
    target_link_libraries(${target} PRIVATE millrace_cudart)
  endif()
  # The archive holds each table by itself, so that a program may bring another one.
  millrace_compile_together(${target} ${all_sources})
  millrace_options(${target})
  set_property(GLOBAL APPEND PROPERTY MILLRACE_OBJECTS $<TARGET_OBJECTS:${target}>)
  set_property(GLOBAL APPEND PROPERTY MILLRACE_LINK_LIBRARIES ${arg_PRIVATE_LIBRARIES})
endfunction()

function(millrace_library)
  get_property(libraries GLOBAL PROPERTY MILLRACE_LINK_LIBRARIES)
  get_property(objects GLOBAL PROPERTY MILLRACE_OBJECTS)
  add_library(millrace_static STATIC ${objects})
  add_library(millrace::static ALIAS millrace_static)
  set_target_properties(millrace_static PROPERTIES OUTPUT_NAME millrace EXPORT_NAME static)
  set_target_properties(millrace_static PROPERTIES EXPORT_PROPERTIES MILLRACE_WITH_CUDA MILLRACE_WITH_CUDA OFF)
  if(MILLRACE_WITH_CUDA AND NOT MILLRACE_CUDA_EMULATED)
    set_target_properties(millrace_static PROPERTIES MILLRACE_WITH_CUDA ON)
  endif()
  set(both millrace_static)
  if(BUILD_SHARED_LIBS)
    add_library(millrace SHARED ${objects})
    add_library(millrace::millrace ALIAS millrace)
    # The C++ interface holds for a minor version.
    set_target_properties(millrace PROPERTIES VERSION ${PROJECT_VERSION} LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map
                                              SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    target_link_options(millrace PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map
                                         -Wl,-Bsymbolic-functions)
    if(NOT MILLRACE_SANITIZE)
      target_link_options(millrace PRIVATE -Wl,-z,defs)
    endif()
    millrace_lean(millrace)
    list(APPEND both millrace)
  else()
    add_library(millrace::millrace ALIAS millrace_static)
  endif()
  foreach(target ${both})
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${MILLRACE_INCLUDE_DIR}>)
    target_compile_features(${target} PUBLIC cxx_std_20)
    # What an installed static library links is found by name then: see MillraceConfig.cmake.in.
    target_link_libraries(${target} PRIVATE "$<BUILD_INTERFACE:${libraries};gomp;${CMAKE_DL_LIBS}>"
                          PUBLIC Threads::Threads)
    if(MILLRACE_WITH_CUDA)
      target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:millrace_cudart>)
    endif()
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    millrace_options(${target})
  endforeach()
  # The executor is invisible to ThreadSanitizer, which does not know oneTBB; it announces its joins itself.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/core/threads/executor.cpp TARGET_DIRECTORY millrace_core
    PROPERTIES COMPILE_OPTIONS $<$<STREQUAL:${MILLRACE_SANITIZE},thread>:-fno-sanitize=thread>)
endfunction()

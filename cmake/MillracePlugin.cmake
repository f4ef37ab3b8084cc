# millrace_add_plugin(NAME SOURCE...)
# A module that `trainer --plugin` and load_plugin() of <millrace/plugin.h> take. It links no library: whoever loads it
# has Millrace, and there must not be a second one.
function(millrace_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_include_directories(${name} PRIVATE $<TARGET_PROPERTY:millrace::static,INTERFACE_INCLUDE_DIRECTORIES>)
  # As the library is compiled: the same numbers, as fast.
  target_compile_options(${name} PRIVATE -ffp-contract=off -fno-trapping-math -fno-math-errno)
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

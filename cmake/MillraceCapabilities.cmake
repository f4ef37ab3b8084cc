# What a build may do without: -DMILLRACE_WITHOUT="images;compare". Kinds and commands that are left out are still known
# by name, so that an error can say so.

# millrace_capability(NAME FILES)
# FILES is a regular expression: how the paths of the files begin that only this capability needs, from the root of the
# sources. Their tests go with them; a test of other files that needs the capability is named here, too.
macro(millrace_capability name files)
  list(APPEND MILLRACE_CAPABILITIES ${name})
  set(MILLRACE_FILES_OF_${name} ${files})
endmacro()

# One line each.
set(MILLRACE_CAPABILITIES "")
millrace_capability(checkpoints "trainer/(checkpoint/|checkpoints[._]|(appended_files|cuda_checkpoints|resumed_training|written_checkpoints)_test)|cli/(verify/|commands/(checkpoints|verify_resume)_command|resume_test)|api/c_checkpoints_test|promises/(interrupted|restored)_training_test|extending/restored_kinds_test")
millrace_capability(compare "cli/(compare/(compare_(page|text)|comparison)|commands/compare_command|configs_test)")
millrace_capability(convert "cli/(convert/|commands/convert_command)")
millrace_capability(generate "cli/(generate/|commands/generate_command|(configs|readme)_test)")
millrace_capability(hdf5 "input/(hdf5/|ops/hdf5_reader)")
millrace_capability(images "core/(kernels/images/|cuda/(cudnn_)?(convolution|images))|layers/(conv|[a-z_]*pool)|input/ops/augment|trainer/image_training|cli/reference/reference_page_test")
millrace_capability(init "cli/(init/|commands/init_command)")
millrace_capability(lmdb "input/(lmdb/|ops/lmdb_reader)|fuzz/lmdb_fuzz")
millrace_capability(onnx "core/onnx/onnx_file|trainer/export/|cli/(export/|commands/export_command)")
millrace_capability(parquet "input/(parquet/|ops/parquet_reader)|fuzz/parquet_fuzz")
millrace_capability(pictures "input/(pictures/|ops/(image_folder|decode_image))|(trainer/predict|cli)/pictures_test|promises/pictures_allocation_test|fuzz/pictures_fuzz")
millrace_capability(serve "cli/(serve/|commands/serve_command)|trainer/predict/(given_texts|text_network)|input/csv/given_text|fuzz/request_rows_fuzz")
millrace_capability(speed "cli/(speed/speed([.]|_test)|commands/speed_command)")
millrace_capability(tfrecord "input/(tfrecord/|ops/(tfrecord_reader|decode_example))|fuzz/tfrecord_fuzz")
millrace_capability(workers "trainer/remote/|cli/(commands/(keys|worker)_command)|promises/workers_test")

# millrace_left_out(OUT FILE)
# The capability without which this build is made and that FILE belongs to; empty if the file is built.
function(millrace_left_out out file)
  set(${out} "" PARENT_SCOPE)
  foreach(capability ${MILLRACE_WITHOUT})
    if(file MATCHES "/(${MILLRACE_FILES_OF_${capability}})")
      set(${out} ${capability} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# millrace_leave_out(LIST)
# Takes the files that are not built from the list of that name.
function(millrace_leave_out list)
  foreach(capability ${MILLRACE_WITHOUT})
    list(FILTER ${list} EXCLUDE REGEX "/(${MILLRACE_FILES_OF_${capability}})")
  endforeach()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()

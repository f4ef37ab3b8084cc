# Copies the headers that are installed from `include_dir` to `destination`: what programs and plug-ins may include.
# They are chosen by hand, and there are few of them, as each is a promise. tests/install holds that they include no
# others.
cmake_policy(VERSION 3.22)
set(headers
  # A program that trains and predicts: docs/embedding.md.
  c.h                                 # the same in C
  millrace.h                          # all of this section and the next, but c.h
  version.h                           # of the headers, and of the library that runs
  trainer/trainer.h                   # trains, and tells how it goes
  trainer/predict/network.h           # predicts with a saved model
  trainer/config/catalog.h            # the kinds that a configuration may name, and plug-ins
  trainer/files/yaml.h                # a configuration as text
  core/spec.h                         # a configuration in code
  core/errors.h
  core/trace.h                        # what its threads do when

  # A program that reads or makes rows: docs/input_graph.md.
  input/graph/pipeline.h              # batches without a model
  input/rows/row_block.h              # rows in memory

  # Any kind of one's own, in a program or a plug-in: docs/extending.md.
  extend.h                            # all that kinds need, of this section and the next two
  plugin.h                            # the same, for a plug-in
  testing.h                           # checks for tests of kinds
  core/export.h                       # marks of declarations
  core/options.h                      # the options of a kind
  core/registry.h                     # kinds by their names
  core/text.h                         # messages
  core/context.h                      # devices, memory, threads
  core/tensor.h
  core/random.h
  core/math.h
  core/state.h                        # what a kind saves, to go on elsewhere

  # A layer, loss, metric or optimizer.
  layers/catalog.h
  layers/layer.h
  layers/simple_layer.h               # of each value by itself
  layers/loss.h                       # and a metric
  layers/losses/elementwise_loss.h    # of each value by itself
  layers/metrics/row_mean.h           # a metric that is a mean over rows
  layers/optimizer.h
  layers/head.h                       # a last layer that a loss computes on its way
  core/parallel.h                     # loops for CPU and GPU
  core/cuda/launch.cuh                # their launches, where nvcc compiles
  core/kernels/reduce.h               # sums

  # An input op, a source of files or rows.
  input/op.h
  input/source.h                      # with what sources are made of, and the rows of a program
  input/transform.h
  input/buffer.h
  input/rows/chunk.h                  # rows on their way through transforms
  input/files/file_system.h           # files, as sources open them
)
foreach(header ${headers})
  get_filename_component(folder millrace/${header} DIRECTORY)
  get_filename_component(file ${include_dir}/millrace/${header} REALPATH)
  file(INSTALL DESTINATION ${destination}/${folder} TYPE FILE FILES ${file})
endforeach()

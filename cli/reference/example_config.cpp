#include "millrace/cli/reference/example_config.h"

namespace millrace::cli {

std::string_view example_config() {
  return R"(# Learns from CSV files whether a row belongs to class 1. As mlp.yaml:
#   trainer generate sum --features 8 --out data/sum       data to try it with
#   trainer check mlp.yaml
#   trainer mlp.yaml --save model.safetensors
#   trainer predict --model model.safetensors --data "data/sum/*.csv"
seed: 1
input:
  - filename_queue: {files: data/sum/*.csv, epochs: 5}   # every file, in another order each time
  - csv_reader: {header: false}                          # true: the first line names the columns
  - decode_csv:
      fields:
        features: {columns: 0-7}                         # with a header also by name: [age, height]
        label: {columns: 8}                              # 0 or 1; several classes: 0, 1, 2, .. and type: int32
  - shuffle_batch: {batch_size: 32, capacity: 1000, min_after_dequeue: 500, allow_smaller_final_batch: true}
model:
  - dense: {units: 16, activation: relu}
  - dense: {units: 1}                                    # several classes: as many units; a number: 1
loss: sigmoid_cross_entropy                              # several classes: softmax_cross_entropy; a number: mse
metrics: [accuracy]                                      # a number: [mae, r2]
optimizer: {adam: {learning_rate: 0.01}}
train: {log_every: 50, report_over: window}
# validation: {files: data/held-out/*.csv, every: 100}   # rows that are not trained on
# save: model.safetensors
)";
}

}  // namespace millrace::cli

// ServedModel: what a server needs of a model file: the network, how requests are read for it, and how its answers are
// written. Constant; any thread may use it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "millrace/cli/rows/prediction_text.h"
#include "millrace/cli/serve/row_reader.h"
#include "millrace/trainer/predict/text_network.h"

namespace millrace::cli {

class ServedModel {
 public:
  // Throws as TextNetwork's constructor, and UsageError if the model has no threshold.
  ServedModel(ModelFile file, const NetworkOptions& options, const Catalog& catalog, std::optional<double> threshold)
      : network(std::move(file), options, catalog),
        reader(RowKeys(network.dialect(), network.keys(), network.unread())),
        text({.format = "jsonl", .answers = network.answers(threshold.value_or(0.5))}) {
    if (threshold) check_threshold(network.answers(*threshold));
  }

  const TextNetwork network;
  const RowReader reader;
  const PredictionText text;

  // How many rows are decoded, and go through the model, at once.
  size_t rows_at_once() const {
    const size_t row = network.row_bytes() + static_cast<size_t>(network.outputs()) * sizeof(float);
    return std::clamp<size_t>(kBytesAtOnce / row, 1, kRowsAtOnce);
  }

 private:
  static constexpr size_t kRowsAtOnce = 256, kBytesAtOnce = size_t{64} << 20;
};

}  // namespace millrace::cli

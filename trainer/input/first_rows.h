// check_first_rows: whether the first rows of a configuration's files can be trained on, found out without training.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/core/executor.h"
#include "millrace/input/op.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"

namespace millrace {

struct FirstRows {
  int64_t rows = 0;     // that were read: a batch at most; 0 where the data come from no files, or from several inputs
  std::string warning;  // what is wrong with them, where it does not end a training; else empty
};

// Reads a batch from the start of the files in their order, however the training mixes them, and looks at labels and
// weights. Writes nothing. Throws DataError at the row that is bad, and as the reading does.
FirstRows check_first_rows(const Config& config, const OpRegistry& ops, const Model& model, Executor& executor);

}  // namespace millrace

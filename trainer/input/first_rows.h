// check_first_rows: finds out, without training, whether the first rows of a configuration's files can be trained on.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/core/context.h"
#include "millrace/input/op.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"

namespace millrace {

struct FirstRows {
  int64_t rows = 0;     // how many were read: at most a batch; 0 if there are no files, or several inputs
  std::string warning;  // what is wrong with them, if it does not end a training; else empty
};

// Reads a batch from the start of the files, in their order even if the training mixes them, and checks what a step
// reads, label and weight included. Writes nothing. Throws DataError at the row that is bad, and what reading throws.
FirstRows check_first_rows(const Config& config, const OpRegistry& ops, const Model& model, Executor& executor);

}  // namespace millrace

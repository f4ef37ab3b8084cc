// What `trainer check` found out, as text and as JSON. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/spec.h"

namespace millrace::cli {

struct CheckReport {
  std::string rows;  // the fields of a row
  int64_t batch_size = 0;
  std::string model;  // Model::summary()
  int64_t parameters = 0;
  uint64_t memory_bound = 0;
  bool varies = false;    // there are strings or ragged fields, which the bound leaves out
  int64_t rows_read = 0;  // from the start of the files; 0: no row was read
  std::vector<std::string> warnings;
};

std::string check_text(const CheckReport& report);
// The "check" event, one line; `config`, if given, is its last key.
std::string check_event(const CheckReport& report, const Spec* config);

}  // namespace millrace::cli

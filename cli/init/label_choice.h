// What the label asks a model to predict: one of some classes, or an amount. Pure functions of the facts; any thread
// may call them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "millrace/cli/init/column_facts.h"
#include "millrace/core/options.h"

namespace millrace {

// What is to be predicted.
enum class InitTask : uint8_t { automatic, regression, classes };
template <>
struct EnumNames<InitTask> {
  static constexpr std::pair<std::string_view, InitTask> kNames[] = {
      {"auto", InitTask::automatic}, {"regression", InitTask::regression}, {"classes", InitTask::classes}};
};

struct LabelChoice {
  InitTask task = InitTask::automatic;  // never automatic
  std::string why;                      // why this task was chosen
  std::vector<std::string> marks;
  uint64_t missing = 0;  // rows without a label
  // For classes: their texts in the order of their numbers, and how many rows have each. `codes`: every text is the
  // number of its class.
  std::vector<std::string> texts;
  std::vector<uint64_t> counts;
  bool codes = false;
  std::string notice;  // says that some of the texts hardly differ; else empty
  NumberSums numbers;  // for regression
};

// Throws DataError if the label gives nothing to learn, or nothing that a model could learn.
LabelChoice choose_label(const ColumnFacts& facts, const std::string& name, InitTask wanted, bool commas_divide = true);

}  // namespace millrace

// What the label asks for: one of some classes, or an amount. Pure functions of the facts; any thread may call them.
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
  std::string why;                      // of what was found out
  std::vector<std::string> marks;
  uint64_t missing = 0;  // rows without a label
  // Classes: their texts in the order of their numbers, and how many rows have each. `codes`: the texts are the
  // numbers.
  std::vector<std::string> texts;
  std::vector<uint64_t> counts;
  bool codes = false;
  std::string notice;  // that some of the texts differ in little
  NumberSums numbers;  // regression
};

// Throws DataError where there is nothing to learn, or nothing that could be.
LabelChoice choose_label(const ColumnFacts& facts, const std::string& name, InitTask wanted, bool commas_divide = true);

}  // namespace millrace

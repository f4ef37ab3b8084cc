// What a column is to a model: numbers, a category, or nothing that it can read; and what the label asks for. Pure
// functions of the facts; any thread may call them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/options.h"
#include "millrace/trainer/init/column_facts.h"

namespace millrace {

enum class ColumnKind : uint8_t { number, category, left_out };

struct ColumnChoice {
  ColumnKind kind = ColumnKind::left_out;
  std::string reason;  // why it is left out
  std::string note;    // what was assumed besides; may be empty
  // Texts, besides the usual ones, that stand for a missing value here.
  std::vector<std::string> marks;
  NumberSums numbers;  // of a number, without what stands for a missing one
  std::vector<std::string>
      texts;  // of a category, sorted; the empty one stands for what is missing, where something is
};

struct KindArgs {
  const ColumnFacts& facts;
  std::string name;
  bool named = true;          // by a header; else `name` says nothing
  bool unnamed = false;       // by a header that names other columns
  bool keep = false;          // the user wants it, whatever it looks like
  bool commas_divide = true;  // a comma separates fields, so one in a number groups its digits
};

// Throws DataError for a column of numbers that no op reads (decimal commas), and, with `keep`, for one that no model
// could read.
ColumnChoice choose_kind(const KindArgs& args);

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

// Whether float32 is too short for numbers such as these, before they are normalised.
bool needs_float64(const NumberSums& numbers);

}  // namespace millrace

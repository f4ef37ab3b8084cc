// What a column is to a model: numbers, a category, or nothing that it can read. Pure functions of the facts; any
// thread may call them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/cli/init/column_facts.h"

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

}  // namespace millrace

// What a column is to a model: numbers, texts that come again, or nothing that it can read. Pure functions of the
// facts; any thread may call them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/cli/init/column_facts.h"

namespace millrace {

enum class ColumnKind : uint8_t { number, category, left_out };

struct ColumnChoice {
  ColumnKind kind = ColumnKind::left_out;
  std::string reason = {};  // why it is left out
  std::string note = {};    // what was assumed besides; may be empty
  // Texts, besides the usual ones, that stand for a missing value here.
  std::vector<std::string> marks = {};
  NumberSums numbers = {};  // of a number, without what stands for a missing one
  // Of a category, sorted; if something is missing, the empty one stands for that.
  std::vector<std::string> texts = {};
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

// What labels are looked at by, too.

struct ColumnNumbers {
  NumberSums numbers;              // without what stands for a missing one
  std::vector<std::string> marks;  // texts that do, besides the usual ones
  std::string note;                // what was assumed
};
// REQUIRES: all texts are numbers, or mostly_numbers().
ColumnNumbers numbers_of(const ColumnFacts& facts);
// Texts of the column, besides the usual ones, that stand for a missing value wherever they are found.
std::vector<std::string> own_marks(const ColumnFacts& facts);
// Whether few rows hold one of few texts among numbers; or not so few, if the numbers are far too many for classes, or
// the texts have neither letters nor digits.
bool mostly_numbers(const ColumnFacts& facts);
// Whether nearly all texts are dates.
bool are_dates(const ColumnFacts& facts);
// How numbers are written that no op reads; empty if the texts are none.
std::string odd_numbers(const ColumnFacts& facts);
// Throws DataError for numbers with decimal commas.
void check_decimal_commas(const ColumnFacts& facts, const std::string& name, bool commas_divide);

}  // namespace millrace

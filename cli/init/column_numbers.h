// What of a column's texts are numbers, and what the others stand for. Pure functions of the facts; any thread may call
// them.
#pragma once

#include <string>
#include <vector>

#include "millrace/cli/init/column_facts.h"

namespace millrace {

struct ColumnNumbers {
  NumberSums numbers;              // without what stands for a missing one
  std::vector<std::string> marks;  // texts that do, besides the usual ones
  std::string note;                // what was assumed
};

// Texts of the column, besides the usual ones, that stand for a missing value wherever they are found.
std::vector<std::string> own_marks(const ColumnFacts& facts);

// REQUIRES: all texts are numbers, or mostly_numbers().
ColumnNumbers numbers_of(const ColumnFacts& facts);

// Whether few rows hold one of few texts among numbers; not most of them, where the numbers are far too many for
// classes, or the texts have neither letters nor digits.
bool mostly_numbers(const ColumnFacts& facts);

// How numbers are written that no op reads; empty where the texts are none.
std::string odd_numbers(const ColumnFacts& facts);

// Throws DataError for numbers with decimal commas. `commas_divide`: a comma separates fields, so one in a number
// groups its digits.
void check_decimal_commas(const ColumnFacts& facts, const std::string& name, bool commas_divide);

// Whether float32 is too short for numbers such as these, before they are normalised.
bool needs_float64(const NumberSums& numbers);

}  // namespace millrace

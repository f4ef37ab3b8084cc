// What a column is to a model: numbers, dates or times, texts that occur again and again, or something that no model
// can read. And what the label asks a model to predict: one of some classes, or an amount. Pure functions of the facts;
// any thread may call them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/cli/init/data_look.h"

namespace millrace {

enum class ColumnKind : uint8_t { number, time, category, left_out };

struct ColumnChoice {
  ColumnKind kind = ColumnKind::left_out;
  std::string reason = {};  // why it is left out
  std::string note = {};    // what else was assumed; may be empty
  // Texts, besides the usual ones, that stand for a missing value here.
  std::vector<std::string> marks = {};
  NumberSums numbers = {};  // for a number: without those that stand for a missing value
  // For a time: what its texts say, and the text for their mean.
  FoundField::Times times = {};
  std::string mean = {};
  // For a category: its texts, sorted. The empty text stands for missing values, if there are any.
  std::vector<std::string> texts = {};
};

// `keep`: the user wants the column, whatever it looks like. Throws DataError for a column of numbers that no op reads
// (decimal commas), and, with `keep`, for a column that no model could read.
ColumnChoice choose_kind(const DataLook& look, size_t column, bool keep = false);

// The functions below serve labels, too.

// The choice for a column of numbers. REQUIRES: all texts are numbers, or mostly_numbers().
ColumnChoice numbers_of(const ColumnFacts& facts);
// Texts of the column, besides the usual ones, that mean a missing value (or an infinity) in any column.
std::vector<std::string> own_marks(const ColumnFacts& facts);
// Whether the column holds numbers, and a few different texts among them in few rows. The texts may be in up to half of
// the rows if the numbers are far too many for classes, or the texts have neither letters nor digits.
bool mostly_numbers(const ColumnFacts& facts);
// Whether nearly all texts are dates.
bool are_dates(const ColumnFacts& facts);
// How the texts write numbers that no op reads; empty if the texts are not such numbers.
std::string odd_numbers(const ColumnFacts& facts);
// Throws DataError for numbers with decimal commas.
void check_decimal_commas(const DataLook& look, size_t column);

struct LabelChoice {
  bool classes = false;  // one of some classes is to be predicted, not an amount
  std::string why;       // why this was chosen
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

// `task` is "regression", "classes" or "auto". Throws DataError if the label gives nothing to learn, or nothing that a
// model could learn.
LabelChoice choose_label(const DataLook& look, const std::string& task = "auto");

}  // namespace millrace

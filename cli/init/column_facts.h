// ColumnFacts: facts about the texts of one column, counted in one pass and in bounded memory.
//
// A text is a missing value (blank, NA, ?, null and the like), a number, or another text. Numbers that people write for
// missing values, such as -999, are counted separately until it is clear what they are. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/cli/init/time_facts.h"

namespace millrace {

// Memory for the texts of all columns together.
struct TextBudget {
  size_t bytes = size_t{64} << 20;
};

// Mean and spread of numbers, by Welford's sums.
struct NumberSums {
  uint64_t count = 0;
  double mean = 0, squares = 0;  // `squares`: the sum of the squared differences from the mean
  double min = 0, max = 0;

  void add(double value);
  void add(const NumberSums& other);
  // The standard deviation of the whole population; 0 for fewer than two numbers.
  double deviation() const;
};

// The values of a column are listed up to these limits: so many different values if all are numbers, so many if texts
// are among them, and so many bytes of one value.
struct ColumnLimits {
  size_t numbers = 128, texts = 1024;
  size_t bytes = 256;
};

class ColumnFacts {
 public:
  explicit ColumnFacts(const ColumnLimits& limits = {}) : limits_(limits) {}

  void add(std::string_view text, TextBudget& budget);

  uint64_t rows = 0;
  uint64_t missing = 0;
  NumberSums numbers;          // without `sentinels`
  uint64_t fractions = 0;      // numbers that are not written as whole numbers
  uint64_t leading_zeros = 0;  // whole numbers like 00501
  uint64_t nonfinite = 0;      // infinities; they are neither numbers nor missing
  bool counts = true;          // every row has a number, one more than the row before
  // The other texts, and how many of them look like a date, and so on.
  uint64_t texts = 0, dates = 0, decimal_commas = 0, grouped = 0, units = 0, not_utf8 = 0;
  size_t longest = 0;  // bytes of the longest text that is not missing
  TimeFacts times;     // of the other texts, and of whole numbers of eight digits

  struct Sentinel {
    std::string text;
    double value = 0;
    uint64_t count = 0;
    NumberSums sums() const { return {.count = count, .mean = value, .min = value, .max = value}; }
  };
  std::vector<Sentinel> sentinels;  // one for each text; few

  // Every text that is not missing, numbers too, with its count; empty if there are `many`, more than the limits allow.
  std::map<std::string, uint64_t, std::less<>> values;
  bool many = false;
  // Texts that stood for a missing value or an infinity, as they were written, blanks included; few.
  std::vector<std::string> marks;

  // The first kMostExamples different texts of `texts`, as they were written, each cut at kLongestExample bytes.
  std::vector<std::string> examples;
  static constexpr size_t kMostExamples = 4, kLongestExample = 1024;

  // All numbers, sentinels included.
  NumberSums all_numbers() const;
  bool only_whole() const { return fractions == 0; }

 private:
  void add_number(std::string_view text, double value);
  void add_text(std::string_view text, std::string_view written);
  // Whether the mark is kept in `marks`.
  bool add_mark(std::string_view text);
  void count_value(std::string_view text, TextBudget& budget);

  ColumnLimits limits_;
  double last_ = 0;
};

// Whether a text, already without the blanks around it, means a missing value in any column: empty, NA, N/A, nan,
// null, ? and the like.
bool is_missing_mark(std::string_view text);
// Their spellings that are usual in data; the empty text is not among them.
const std::vector<std::string>& usual_missing_marks();
}  // namespace millrace

// ColumnFacts: what the texts of one column are, counted in one pass and in bounded memory.
//
// A text is a missing value (blank, NA, ?, null and the like), a number, or another text. Numbers that people write for
// missing values, such as -999, are counted apart until it is clear what they are. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// Memory for the texts of all columns together.
struct TextBudget {
  size_t bytes = size_t{64} << 20;
};

// Mean and spread of numbers, by Welford's sums.
struct NumberSums {
  uint64_t count = 0;
  double mean = 0, squares = 0;  // of the differences to the mean
  double min = 0, max = 0;

  void add(double value);
  void add(const NumberSums& other);
  // Of the whole population; 0 of fewer than two.
  double deviation() const;
};

// What of a column is listed, at most: different values where all are numbers, and where texts are among them, and
// bytes of one.
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
  uint64_t fractions = 0;      // of the numbers, those that are not written as whole ones
  uint64_t leading_zeros = 0;  // whole ones like 00501
  uint64_t nonfinite = 0;      // infinities; they are neither numbers nor missing
  bool counts = true;          // every row has a number, one more than the row before
  // Other texts, and those of them that look like something.
  uint64_t texts = 0, dates = 0, decimal_commas = 0, grouped = 0, units = 0, not_utf8 = 0;
  size_t longest = 0;  // bytes of one

  struct Sentinel {
    std::string text;
    double value = 0;
    uint64_t count = 0;
    NumberSums sums() const { return {.count = count, .mean = value, .min = value, .max = value}; }
  };
  std::vector<Sentinel> sentinels;  // by text, few

  // Every text with its count that is not missing, numbers too; empty where they are `many`, beyond the limits.
  std::map<std::string, uint64_t, std::less<>> values;
  bool many = false;
  // Texts that stood for a missing value or an infinity, as they were written, blanks included; few.
  std::vector<std::string> marks;

  // Different texts among `texts`, as they were written, the first few, each cut at so many bytes.
  std::vector<std::string> examples;
  static constexpr size_t kMostExamples = 4, kLongestExample = 1024;

  // All numbers, sentinels included.
  NumberSums all_numbers() const;
  bool only_whole() const { return fractions == 0; }

 private:
  void add_number(std::string_view text, double value);
  void add_text(std::string_view text, std::string_view written);
  // Whether it is kept.
  bool add_mark(std::string_view text);
  void count_value(std::string_view text, TextBudget& budget);

  ColumnLimits limits_;
  double last_ = 0;
};

// Whether a text, without the blanks around it, stands for no value wherever it is found: empty, NA, N/A, nan, null, ?.
bool is_missing_mark(std::string_view text);
// The spellings of these that data may have; the empty text is not among them.
const std::vector<std::string>& usual_missing_marks();
}  // namespace millrace

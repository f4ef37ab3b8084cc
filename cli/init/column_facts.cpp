#include "millrace/cli/init/column_facts.h"

#include <algorithm>
#include <cmath>

#include "millrace/cli/init/value_text.h"
#include "millrace/core/utf8.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

namespace {

constexpr size_t kMostMarks = 24;
constexpr size_t kMostSentinels = 8;

bool has_leading_zero(std::string_view text) { return text.size() > 1 && text[0] == '0' && all_digits(text); }

// Whether people write this number where a measurement is missing. -9 and -99 are not among them: they are too common
// as values.
bool is_sentinel(double value) {
  return value == -999 || value == -9999 || value == -99999 || value == -999999 || value == -999.9;
}

}  // namespace

const std::vector<std::string>& usual_missing_marks() {
  static const std::vector<std::string> kMarks = {"NA",   "N/A",  "n/a",  "#N/A", "<NA>", "NaN", "nan",
                                                  "NULL", "null", "Null", "?",    ".",    "\\N"};
  return kMarks;
}

bool is_missing_mark(std::string_view text) {
  static const std::vector<std::string> kLower = {"",  "na", "n/a", "#n/a",    "<na>",    "nan",   "null",
                                                  "?", ".",  "\\n", "#div/0!", "#value!", "#ref!", "#num!"};
  return text.size() < 8 && contains(kLower, lower_case(text));
}

void NumberSums::add(double value) {
  min = count == 0 ? value : std::min(min, value);
  max = count == 0 ? value : std::max(max, value);
  ++count;
  const double difference = value - mean;
  mean += difference / static_cast<double>(count);
  squares += difference * (value - mean);
}

void NumberSums::add(const NumberSums& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  const double mine = static_cast<double>(count), its = static_cast<double>(other.count), all = mine + its;
  const double difference = other.mean - mean;
  mean += difference * its / all;
  squares += other.squares + difference * difference * mine * its / all;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  count += other.count;
}

double NumberSums::deviation() const {
  return count < 2 || squares <= 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
}

NumberSums ColumnFacts::all_numbers() const {
  NumberSums out = numbers;
  for (const Sentinel& one : sentinels) out.add(one.sums());
  return out;
}

void ColumnFacts::add(std::string_view text, TextBudget& budget) {
  ++rows;
  const std::string_view bare = trimmed(text);
  // A mark that cannot be kept is not in the configuration, so the training would not take it for a missing value.
  if (is_missing_mark(bare) && add_mark(text)) {
    ++missing;
    counts = false;
    return;
  }
  double value = 0;
  if (parse_number(text, value) == NumberStatus::ok) {
    if (bare.size() == 8 && all_digits(bare)) times.add(text);
    if (std::isfinite(value)) {
      add_number(bare, value);
    } else {
      ++nonfinite;
      counts = false;
      add_mark(text);
    }
  } else {
    add_text(bare, text);
  }
  longest = std::max(longest, text.size());
  count_value(text, budget);
}

void ColumnFacts::add_number(std::string_view text, double value) {
  counts = counts && (rows == 1 || value == last_ + 1);
  last_ = value;
  if (has_leading_zero(text)) ++leading_zeros;
  if (text.find_first_of(".eEpPxX") != text.npos) {
    ++fractions;
    counts = false;
  }
  if (is_sentinel(value)) {
    const auto found = std::ranges::find(sentinels, text, &Sentinel::text);
    if (found != sentinels.end()) {
      ++found->count;
      return;
    }
    if (sentinels.size() < kMostSentinels) {
      sentinels.push_back({std::string(text), value, 1});
      return;
    }
  }
  numbers.add(value);
}

void ColumnFacts::add_text(std::string_view text, std::string_view written) {
  ++texts;
  if (examples.size() < kMostExamples && !contains(examples, written))
    examples.emplace_back(written.substr(0, kLongestExample));
  counts = false;
  if (times.add(written) || looks_like_date(text)) ++dates;
  if (has_decimal_comma(text)) ++decimal_commas;
  if (has_grouped_digits(text)) ++grouped;
  if (has_unit(text)) ++units;
  if (find_invalid_utf8(text) != std::string_view::npos || text.find('\0') != text.npos) ++not_utf8;
}

bool ColumnFacts::add_mark(std::string_view text) {
  if (text.empty() || contains(marks, text)) return true;
  if (text.size() > kLongestExample || marks.size() >= kMostMarks) return false;
  marks.emplace_back(text);
  return true;
}

void ColumnFacts::count_value(std::string_view text, TextBudget& budget) {
  if (many) return;
  if (const auto found = values.find(text); found != values.end()) {
    ++found->second;
    return;
  }
  // Bytes that a node of the map takes in addition to its text.
  constexpr size_t kNode = 96;
  const size_t most = texts > 0 ? limits_.texts : limits_.numbers;
  if (values.size() >= most || text.size() > limits_.bytes || budget.bytes < text.size() + kNode) {
    many = true;
    for (const auto& [value, count] : values) budget.bytes += value.size() + kNode;
    values.clear();
    return;
  }
  budget.bytes -= text.size() + kNode;
  values.emplace(text, 1);
}

}  // namespace millrace

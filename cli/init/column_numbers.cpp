#include "millrace/cli/init/column_numbers.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

// Whether a sentinel lies so far from all other numbers that it is none of them.
bool is_clear(const ColumnFacts::Sentinel& one, const ColumnFacts& facts) {
  const NumberSums& others = facts.numbers;
  return one.count >= 2 && others.count > 0 && others.count * 9 >= one.count && others.min > one.value / 10;
}

}  // namespace

std::vector<std::string> own_marks(const ColumnFacts& facts) {
  const std::vector<std::string>& usual = usual_missing_marks();
  std::vector<std::string> out = facts.marks;
  std::erase_if(out,
                [&](const std::string& text) { return std::find(usual.begin(), usual.end(), text) != usual.end(); });
  return out;
}

ColumnNumbers numbers_of(const ColumnFacts& facts) {
  ColumnNumbers out = {.numbers = facts.numbers, .marks = own_marks(facts), .note = {}};
  const auto count_as_missing = [&out](const std::string& text, const std::string& shown) {
    out.marks.push_back(text);
    out.note += cat(out.note.empty() ? "" : "; ", shown, " counts as missing");
  };
  for (const ColumnFacts::Sentinel& one : facts.sentinels) {
    if (is_clear(one, facts)) {
      count_as_missing(one.text, cat(one.text, " (", count_of(static_cast<int64_t>(one.count), "row"), ')'));
    } else {
      out.numbers.add(NumberSums{.count = one.count, .mean = one.value, .min = one.value, .max = one.value});
    }
  }
  for (const std::string& text : facts.examples) count_as_missing(text, quote(text));
  return out;
}

bool mostly_numbers(const ColumnFacts& facts) {
  const uint64_t numbers = facts.all_numbers().count;
  const auto has_letters = [](const std::string& text) {
    return std::any_of(text.begin(), text.end(),
                       [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
  };
  const bool strokes = std::none_of(facts.examples.begin(), facts.examples.end(), has_letters);
  const bool rich = facts.many || facts.values.size() > 30 || strokes;
  // A configuration has to hold the texts, as marks.
  if (facts.not_utf8 > 0 || facts.longest > ColumnFacts::kLongestExample) return false;
  return facts.texts > 0 && facts.examples.size() < ColumnFacts::kMostExamples &&
         (facts.texts * 20 <= numbers || (rich && facts.texts <= numbers));
}

std::string odd_numbers(const ColumnFacts& facts) {
  if (facts.texts == 0 || (facts.grouped + facts.units) * 10 < facts.texts * 9) return {};
  return cat(facts.grouped > 0 ? "numbers with groups of digits, such as " : "numbers with units or dashes, such as ",
             quote(facts.examples.front()));
}

void check_decimal_commas(const ColumnFacts& facts, const std::string& name, bool commas_divide) {
  // "1,234" may be either; one of them that has other than three digits behind the comma tells.
  const bool certain = !commas_divide || facts.decimal_commas > facts.grouped;
  if (facts.decimal_commas == 0 || !certain || facts.decimal_commas * 10 < facts.texts * 9) return;
  throw DataError(
      cat("the column ", quote(name), " holds numbers with decimal commas, such as ", quote(facts.examples.front()),
          ", which no op reads"),
      {},
      "write them with dots (in a file whose delimiter is ; or a tab: sed 's/,/./g'), or leave the column out with "
      "--ignore");
}

bool needs_float64(const NumberSums& numbers) {
  const double most = std::max(std::abs(numbers.min), std::abs(numbers.max));
  return most > 1e30 || most < 1e-30 || most > 1e5 * numbers.deviation();
}

}  // namespace millrace

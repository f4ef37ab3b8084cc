#include "millrace/cli/init/column_kind.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "millrace/cli/init/value_text.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr size_t kMostCategoryTexts = 128;
constexpr uint64_t kRowsOfAnIdentifier = 10;  // a column that counts fewer rows may hold anything

ColumnChoice left_out(std::string reason) { return {.reason = std::move(reason)}; }

void count_as_missing(const std::string& text, const std::string& shown, ColumnChoice& in) {
  in.marks.push_back(text);
  in.note += cat(in.note.empty() ? "" : "; ", shown, " counts as missing");
}

bool all_numbers(const ColumnFacts& facts) { return facts.texts == 0 && facts.all_numbers().count > 0; }

// Whether a sentinel lies so far from all other numbers that it stands for a missing value.
bool is_clear(const ColumnFacts::Sentinel& one, const ColumnFacts& facts) {
  const NumberSums& others = facts.numbers;
  return one.count >= 2 && others.count > 0 && others.count * 9 >= one.count && others.min > one.value / 10;
}

ColumnChoice number(const ColumnFacts& facts) {
  ColumnChoice out = numbers_of(facts);
  const NumberSums& numbers = out.numbers;
  const double deviation = numbers.deviation();
  if (numbers.min == numbers.max) return left_out(cat("every number in it is ", numbers.min));
  if (!std::isfinite(deviation) || !std::isfinite(numbers.mean)) return left_out("its numbers are too large");
  if (deviation == 0) return left_out("its numbers differ by too little");
  return out;
}

// Whether the values are dates or times of one form, but for a few. Numbers such as 20240131 are if there are many, all
// of our days.
bool are_times(const ColumnFacts& facts) {
  const TimeFacts::Form* form = facts.times.form();
  if (form == nullptr || facts.times.count() + facts.missing != facts.rows || facts.times.ambiguous()) return false;
  if (facts.not_utf8 > 0) return false;
  if (facts.dates > 0) return true;
  return form->count >= kRowsOfAnIdentifier && form->times.first_year >= 1900 && form->times.last_year < 2100;
}

ColumnChoice time(const ColumnFacts& facts) {
  const TimeFacts::Form& form = *facts.times.form();
  const FoundField::Times& times = form.times;
  const bool differs = times.first_year != times.last_year || times.yeardays || times.weekdays || times.clock;
  if (!differs) return left_out("all its dates are the same");
  ColumnChoice out = {.kind = ColumnKind::time,
                      .note = facts.dates == 0 ? "its numbers are dates" : "",
                      .marks = own_marks(facts),
                      .times = times,
                      .mean = facts.times.mean_text()};
  if (times.letters.find("%y") != std::string::npos) {
    out.note = cat("its years of two digits are taken for ", times.first_year, " to ", times.last_year);
  }
  for (const std::string& text : form.odd) count_as_missing(text, quote(text), out);
  return out;
}

// Why dates or times cannot be read.
std::string odd_times(const ColumnFacts& facts) {
  const std::string example = quote(facts.examples.front());
  const bool read = facts.times.form() != nullptr;
  if (read && facts.times.ambiguous()) {
    return cat("dates such as ", example, ", none of which tells whether the day or the month comes first");
  }
  if (read || facts.dates < facts.texts) return "dates, and other values among them";
  return cat("dates or times of no usual form, or of several, such as ", example);
}

ColumnChoice category(const ColumnFacts& facts, const std::string& note) {
  ColumnChoice out = {.kind = ColumnKind::category, .marks = own_marks(facts)};
  if (facts.missing + facts.nonfinite > 0) out.texts.emplace_back();
  for (const auto& [text, count] : facts.values) {
    if (!contains(facts.marks, text)) out.texts.push_back(text);
  }
  out.note = note.empty() ? alike_texts(out.texts) : note;
  return out;
}

// Why a column that is not all numbers cannot be a category; empty if it can.
std::string no_category(const ColumnFacts& facts) {
  if (facts.not_utf8 > 0) return "its texts are not UTF-8 (iconv -f latin1 -t utf8 might help)";
  if (are_dates(facts)) return odd_times(facts);
  if (std::string odd = odd_numbers(facts); !odd.empty()) return odd;
  const uint64_t present = facts.rows - facts.missing;
  const size_t texts = facts.values.size();
  const bool differs = texts > 3 && texts * 2 > present;
  if (!differs && !facts.many && texts <= kMostCategoryTexts) return {};
  if (facts.dates * 2 > facts.texts) return odd_times(facts);
  if (differs) return "nearly every row has a text of its own";
  if (facts.longest > 64) return "free text";
  return cat(facts.many ? "too many" : cat(texts), " different texts, a category has ", kMostCategoryTexts, " at most");
}

bool is_identifier(const DataLook& look, size_t column) {
  return look.is_named(column) && sounds_like_identifier(look.name_of(column));
}

// Why the column seems to tell rows apart, so that nothing can be learned from it; empty if it does not. `distinct`: it
// has many different values.
std::string identifies(const DataLook& look, size_t column, bool distinct) {
  const ColumnFacts& facts = look.columns[column];
  const double first = facts.numbers.min;
  const bool identifier = is_identifier(look, column);
  if (identifier && distinct && facts.only_whole()) return "an identifier, by its name";
  const bool counts_rows = facts.counts && (first == 0 || first == 1 || identifier);
  if (counts_rows && facts.rows >= kRowsOfAnIdentifier) return "it counts the rows";
  const bool differs = distinct || facts.values.size() == facts.rows - facts.missing;
  // There is a header, but it has no name for this column.
  const bool unnamed = !look.is_named(column) && !look.form.names.empty();
  if (unnamed && facts.only_whole() && differs) return "it has no name, and nearly every row has a value of its own";
  return {};
}

}  // namespace

std::vector<std::string> own_marks(const ColumnFacts& facts) {
  std::vector<std::string> out = facts.marks;
  std::erase_if(out, [](const std::string& text) { return contains(usual_missing_marks(), text); });
  return out;
}

ColumnChoice numbers_of(const ColumnFacts& facts) {
  ColumnChoice out = {.kind = ColumnKind::number, .marks = own_marks(facts), .numbers = facts.numbers};
  for (const ColumnFacts::Sentinel& one : facts.sentinels) {
    if (is_clear(one, facts)) {
      count_as_missing(one.text, cat(one.text, " (", count_of(static_cast<int64_t>(one.count), "row"), ')'), out);
    } else {
      out.numbers.add(one.sums());
    }
  }
  for (const std::string& text : facts.examples) count_as_missing(text, quote(text), out);
  return out;
}

bool mostly_numbers(const ColumnFacts& facts) {
  const uint64_t numbers = facts.all_numbers().count;
  const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0; };
  const auto has_letters = [&](const std::string& text) { return std::ranges::any_of(text, is_letter); };
  const bool strokes = std::ranges::none_of(facts.examples, has_letters);
  const bool rich = facts.many || facts.values.size() > 30 || strokes;
  // The texts become marks, which the configuration must be able to hold.
  if (facts.not_utf8 > 0 || facts.longest > ColumnFacts::kLongestExample) return false;
  return facts.texts > 0 && facts.examples.size() < ColumnFacts::kMostExamples &&
         (facts.texts * 20 <= numbers || (rich && facts.texts <= numbers));
}

bool are_dates(const ColumnFacts& facts) { return facts.dates > 0 && facts.dates * 10 >= facts.texts * 9; }

std::string odd_numbers(const ColumnFacts& facts) {
  if (facts.texts == 0 || (facts.grouped + facts.units) * 10 < facts.texts * 9) return {};
  return cat(facts.grouped > 0 ? "numbers with groups of digits, such as " : "numbers with units or dashes, such as ",
             quote(facts.examples.front()));
}

void check_decimal_commas(const DataLook& look, size_t column) {
  const ColumnFacts& facts = look.columns[column];
  // "1,234" may have a decimal comma or a group of digits. A text like "1,23" decides: it is no group.
  const bool certain = look.form.delimiter != ',' || facts.decimal_commas > facts.grouped;
  if (facts.decimal_commas == 0 || !certain || facts.decimal_commas * 10 < facts.texts * 9) return;
  throw DataError(
      cat("the column ", quote(look.name_of(column)), " holds numbers with decimal commas, such as ",
          quote(facts.examples.front()), ", which no op reads"),
      {},
      "write them with dots (in a file whose delimiter is ; or a tab: sed 's/,/./g'), or leave the column out with "
      "--ignore");
}

ColumnChoice choose_kind(const DataLook& look, size_t column, bool keep) {
  const ColumnFacts& facts = look.columns[column];
  const uint64_t present = facts.rows - facts.missing;
  check_decimal_commas(look, column);
  if (present == 0) return left_out("empty");
  const bool one_value = !facts.many && facts.values.size() == 1;
  if (one_value && (facts.missing == 0 || all_numbers(facts))) {
    return left_out(cat("every row has ", quote(facts.values.begin()->first), facts.missing > 0 ? ", or nothing" : ""));
  }
  if (are_times(facts)) return time(facts);
  const bool distinct = facts.many || facts.values.size() > kMostCategoryTexts ||
                        (facts.values.size() > 20 && facts.values.size() * 2 > present);
  if (std::string reason = identifies(look, column, distinct); !reason.empty() && !keep) {
    return left_out(std::move(reason));
  }
  const bool codes = facts.leading_zeros > 0 && facts.only_whole();
  const bool few_ids = is_identifier(look, column) && !distinct && facts.only_whole();
  if ((all_numbers(facts) || mostly_numbers(facts)) && !codes && !few_ids) return number(facts);
  if (facts.texts == 0 && facts.all_numbers().count == 0) return left_out("no number in it is finite");
  const std::string reason = no_category(facts);
  if (reason.empty()) {
    return category(facts, few_ids ? "an identifier of few things is a category"
                           : codes ? "codes with leading zeros are categories"
                                   : "");
  }
  if (keep) {
    throw DataError(cat("--keep ", quote(look.name_of(column)), ": no model can read this column: ", reason), {},
                    "leave it out, or make numbers or fewer texts of it in the data first");
  }
  return left_out(codes && facts.texts == 0 ? "codes with leading zeros, too many to be categories" : reason);
}

}  // namespace millrace

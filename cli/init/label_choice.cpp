#include "millrace/cli/init/column_kind.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "millrace/cli/init/value_text.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

namespace {

constexpr size_t kMostClassNumbers = 20;   // a label with more different whole numbers holds amounts
constexpr size_t kMostSureClasses = 6;     // more numbers in a row (0, 1, 2, ..) may be amounts
constexpr size_t kMostAskedClasses = 100;  // with at most so many, amounts may be classes, and the text says so
constexpr uint64_t kRowsBesideALoneText = 20;

// Lists the classes with their counts. If all are numbers, they are sorted as numbers.
void list_classes(const ColumnFacts& facts, LabelChoice& out) {
  std::vector<std::pair<std::string, uint64_t>> classes(facts.values.begin(), facts.values.end());
  std::erase_if(classes, [&](const auto& one) { return contains(out.marks, one.first); });
  const auto value = [](const auto& one) {
    double number = 0;
    return parse_number(one.first, number) == NumberStatus::ok ? number : std::nan("");
  };
  const auto is_text = [&](const auto& one) { return std::isnan(value(one)); };
  if (std::ranges::none_of(classes, is_text)) std::ranges::stable_sort(classes, {}, value);
  out.codes = true;
  for (const auto& [text, count] : classes) {
    out.codes = out.codes && text == cat(out.texts.size());
    out.texts.push_back(text);
    out.counts.push_back(count);
  }
  out.notice = alike_texts(out.texts);
}

size_t count_integral(const ColumnFacts& facts) {
  const auto is_integral = [](const auto& one) {
    double value = 0;
    return parse_number(one.first, value) == NumberStatus::ok && (!std::isfinite(value) || value == std::floor(value));
  };
  return static_cast<size_t>(std::ranges::count_if(facts.values, is_integral));
}

// Whether one row has a text and all others have whole numbers. Some programs begin with such a line about the data, so
// the text is not a class.
bool has_lone_text(const ColumnFacts& facts) {
  return !facts.many && facts.texts == 1 && facts.not_utf8 == 0 && facts.all_numbers().count >= kRowsBesideALoneText &&
         count_integral(facts) + 1 == facts.values.size();
}

// Whether the label seems to hold classes; out.why says why.
bool seems_classes(const ColumnFacts& facts, LabelChoice& out) {
  const uint64_t present = facts.rows - facts.missing;
  const bool lone_text = has_lone_text(facts);
  const size_t distinct = facts.values.size() - (lone_text ? 1 : 0);
  const bool amounts = mostly_numbers(facts) && (facts.many || distinct > kMostClassNumbers + facts.examples.size());
  if (facts.texts > 0 && !amounts && !lone_text) {
    out.why = facts.all_numbers().count > 0 ? "not all of its values are numbers" : "its values are texts";
    return true;
  }
  if (facts.leading_zeros > 0 && facts.only_whole() && !facts.many) {
    out.why = "its numbers have leading zeros, as codes do";
    return true;
  }
  if (!facts.many && count_integral(facts) == distinct && distinct <= kMostClassNumbers &&
      (distinct <= 2 || distinct * 5 <= present)) {
    const NumberSums numbers = facts.all_numbers();
    const bool in_a_row = numbers.max - numbers.min + 1 == static_cast<double>(distinct);
    const bool doubtful = in_a_row && distinct > kMostSureClasses;
    out.why = doubtful ? cat("its values are the whole numbers ", numbers.min, " to ", numbers.max,
                             "; if they count or grade something, --task regression learns them as amounts")
                       : cat("its values are ", distinct, " whole numbers (--task regression takes them for amounts)");
    return true;
  }
  out.why = facts.texts > 0 ? "nearly all of its values are numbers" : "its values are numbers";
  if (!facts.many && facts.texts == 0 && count_integral(facts) == distinct && distinct <= kMostAskedClasses &&
      distinct * 2 <= present) {
    out.why = cat("its values are ", distinct, " whole numbers (--task classes takes them for classes)");
  }
  return false;
}

// The next two throw for texts that are neither amounts nor classes.
void check_dates(const ColumnFacts& facts, const std::string& column) {
  if (!are_dates(facts)) return;
  throw DataError(cat(column, " holds dates or times, such as ", quote(facts.examples.front()),
                      ", which are neither amounts nor classes"),
                  {}, "write the label as a number, such as the days since the first date");
}
void check_odd_numbers(const ColumnFacts& facts, const std::string& column) {
  const std::string odd = odd_numbers(facts);
  if (odd.empty()) return;
  throw DataError(cat(column, " holds ", odd, ", which no op reads"), {},
                  "write them as plain numbers, without units and marks between groups of digits");
}

void check_classes(const ColumnFacts& facts, const LabelChoice& label, const std::string& column) {
  const uint64_t present = facts.rows - facts.missing;
  const bool too_many = facts.many || (label.texts.size() > 3 && label.texts.size() * 2 > present);
  if (too_many || label.texts.size() > kMostClassNumbers) check_dates(facts, column);
  if (too_many) {
    check_odd_numbers(facts, column);
    throw DataError(cat(column, " has ", facts.many ? "too many" : cat(label.texts.size()), " different ",
                        facts.texts > 0 ? "texts" : "values", " to be classes",
                        facts.examples.empty() ? "" : cat(", such as ", quote(facts.examples.front()))),
                    {},
                    facts.texts > 0 ? "is it an identifier or free text? name another column with --label"
                                    : "--task regression takes them for amounts");
  }
  if (label.texts.size() == 1) {
    throw DataError(cat(column, " is ", quote(label.texts.front()), " in every row",
                        facts.missing > 0 ? " that has one" : "", ": there is nothing to learn"),
                    {}, "name another column with --label, or data with other classes");
  }
}

void check_numbers(const ColumnFacts& facts, const LabelChoice& label, const std::string& column) {
  if (facts.texts > 0 && !mostly_numbers(facts)) {
    check_dates(facts, column);
    check_odd_numbers(facts, column);
    throw DataError(cat(column, " holds texts, such as ", quote(facts.examples.front()), ", and no amounts"), {},
                    "leave out --task regression");
  }
  if (label.numbers.count == 0) throw DataError(cat(column, " holds no finite number"));
  if (label.numbers.min == label.numbers.max) {
    throw DataError(cat(column, " is ", label.numbers.min, " in every row", label.missing > 0 ? " that has one" : "",
                        ": there is nothing to learn"),
                    {}, "name another column with --label");
  }
  const double deviation = label.numbers.deviation();
  if (!std::isfinite(deviation)) throw DataError(cat(column, " holds numbers that are too large to compute with"));
  if (deviation == 0) throw DataError(cat(column, " holds numbers that differ by too little to compute with"));
}

}  // namespace

LabelChoice choose_label(const DataLook& look, const std::string& task) {
  const ColumnFacts& facts = look.columns[look.label];
  const std::string name = look.name_of(look.label);
  LabelChoice out;
  out.missing = facts.missing + facts.nonfinite;
  if (out.missing == facts.rows) {
    throw DataError(cat("no row has a label: the column ", quote(name), " is empty"), {},
                    "name another column with --label");
  }
  check_decimal_commas(look, look.label);
  out.marks = own_marks(facts);
  out.classes = seems_classes(facts, out);
  if (task != "auto") {
    out.classes = task == "classes";
    out.why = "as --task says";
  }
  const std::string column = cat("the label ", quote(name));
  if (facts.not_utf8 > 0) {
    throw DataError(cat(column, " holds texts that are not UTF-8"), {},
                    "convert the files first: iconv -f latin1 -t utf8");
  }
  if (out.classes) {
    if (has_lone_text(facts)) {
      out.marks.push_back(facts.examples.front());
      ++out.missing;
      out.why += cat("; ", quote(facts.examples.front()), ", which only one row has, counts as missing");
    }
    if (!facts.many) list_classes(facts, out);
    check_classes(facts, out, column);
    return out;
  }
  ColumnChoice read = numbers_of(facts);
  out.numbers = read.numbers;
  out.marks = std::move(read.marks);
  if (!read.note.empty()) out.why += cat("; ", read.note);
  check_numbers(facts, out, column);
  out.missing = facts.rows - out.numbers.count;
  return out;
}

}  // namespace millrace

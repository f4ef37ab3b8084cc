#include "millrace/trainer/init/column_kind.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/number_parser.h"
#include "millrace/trainer/init/value_text.h"

namespace millrace {

namespace {

constexpr size_t kMostCategoryTexts = 128;
constexpr size_t kMostClassNumbers = 20;      // different whole numbers of a label that are classes
constexpr size_t kMostSureClasses = 6;        // numbers in a row: more of them may be amounts
constexpr size_t kMostAskedClasses = 100;     // different whole numbers that are amounts, and may be classes
constexpr uint64_t kRowsOfAnIdentifier = 10;  // that count from row to row, at least
constexpr uint64_t kRowsBesideALoneText = 20;

bool is_usual(const std::string& text) {
  const std::vector<std::string>& usual = usual_missing_marks();
  return std::find(usual.begin(), usual.end(), text) != usual.end();
}

void add_mark(std::vector<std::string>& marks, const std::string& text) {
  if (text.empty() || is_usual(text) || std::find(marks.begin(), marks.end(), text) != marks.end()) return;
  marks.push_back(text);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

bool sounds_like_identifier(std::string_view name) {
  const std::string low = lower(name);
  for (const std::string_view word : {"id", "index", "uuid", "guid", "key", "rownames", "row", "rowid", "unnamed: 0"}) {
    if (low == word) return true;
  }
  return low.ends_with("_id") || low.ends_with(" id") || low.ends_with("-id") || name.ends_with("Id") ||
         (name.size() > 2 && name.ends_with("ID"));
}

// Texts that differ in letter case or blanks around them alone, the first few; empty where there are none.
std::string alike_texts(const std::vector<std::string>& texts) {
  constexpr size_t kMostShown = 3;
  std::map<std::string, std::vector<std::string>> groups;
  for (const std::string& text : texts) {
    if (!text.empty()) groups[lower(trimmed(text))].push_back(quote(text));
  }
  std::string out;
  size_t shown = 0;
  for (const auto& [form, group] : groups) {
    if (group.size() < 2 || ++shown > kMostShown) continue;
    out += cat(out.empty() ? "" : ", ", join(group));
  }
  if (out.empty()) return out;
  return cat(out, shown > kMostShown ? " and others" : "", " differ in letter case or blanks alone, and stay apart");
}

std::string rows_of(uint64_t count) { return count_of(static_cast<int64_t>(count), "row"); }

// Whether a sentinel lies so far from all other numbers that it is none of them.
bool is_clear(const ColumnFacts::Sentinel& one, const ColumnFacts& facts) {
  const NumberSums& others = facts.numbers;
  return one.count >= 2 && others.count > 0 && others.count * 9 >= one.count && others.min > one.value / 10;
}

// The numbers of a column without the sentinels that are clear, which become marks.
NumberSums numbers_of(const ColumnFacts& facts, std::vector<std::string>& marks, std::string& note) {
  NumberSums out = facts.numbers;
  for (const ColumnFacts::Sentinel& one : facts.sentinels) {
    if (is_clear(one, facts)) {
      add_mark(marks, one.text);
      note += cat(note.empty() ? "" : "; ", one.text, " (", rows_of(one.count), ") counts as missing");
    } else {
      out.add(NumberSums{.count = one.count, .mean = one.value, .min = one.value, .max = one.value});
    }
  }
  return out;
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

ColumnChoice left_out(std::string reason) {
  ColumnChoice out;
  out.reason = std::move(reason);
  return out;
}

bool all_numbers(const ColumnFacts& facts) { return facts.texts == 0 && facts.all_numbers().count > 0; }

// A column of numbers in which few rows hold one of few other texts; not most of them, where the numbers are far too
// many for classes, or the texts have neither letters nor digits.
bool mostly_numbers(const ColumnFacts& facts) {
  const uint64_t numbers = facts.all_numbers().count;
  const auto has_letters = [](const std::string& text) {
    return std::any_of(text.begin(), text.end(),
                       [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
  };
  const bool strokes = std::none_of(facts.examples.begin(), facts.examples.end(), has_letters);
  const bool rich = facts.many || facts.values.size() > 30 || strokes;
  // A configuration has to hold the texts.
  return facts.texts > 0 && facts.not_utf8 == 0 && facts.examples.size() < ColumnFacts::kMostExamples &&
         (facts.texts * 20 <= numbers || (rich && facts.texts <= numbers));
}

ColumnChoice number(const ColumnFacts& facts) {
  ColumnChoice out;
  out.kind = ColumnKind::number;
  out.marks = facts.marks;
  std::erase_if(out.marks, is_usual);
  out.numbers = numbers_of(facts, out.marks, out.note);
  for (const std::string& text : facts.examples) {
    add_mark(out.marks, text);
    out.note += cat(out.note.empty() ? "" : "; ", quote(text), " counts as missing");
  }
  if (out.numbers.min == out.numbers.max) return left_out(cat("every number in it is ", out.numbers.min));
  const double deviation = out.numbers.deviation();
  if (!std::isfinite(deviation) || !std::isfinite(out.numbers.mean)) return left_out("its numbers are too large");
  if (deviation == 0) return left_out("its numbers differ by too little");
  return out;
}

ColumnChoice category(const ColumnFacts& facts) {
  ColumnChoice out;
  out.kind = ColumnKind::category;
  out.marks = facts.marks;
  std::erase_if(out.marks, is_usual);
  if (facts.missing + facts.nonfinite > 0) out.texts.emplace_back();
  for (const auto& [text, count] : facts.values) {
    const bool is_mark = std::find(facts.marks.begin(), facts.marks.end(), text) != facts.marks.end();
    if (!is_mark) out.texts.push_back(text);
  }
  out.note = alike_texts(out.texts);
  return out;
}

// How numbers are written that no op reads; empty where the texts are none.
std::string odd_numbers(const ColumnFacts& facts) {
  if (facts.texts == 0 || (facts.grouped + facts.units) * 10 < facts.texts * 9) return {};
  return cat(facts.grouped > 0 ? "numbers with groups of digits, such as " : "numbers with units or dashes, such as ",
             quote(facts.examples.front()));
}

// Why a column that is not all numbers cannot be a category; empty where it can.
std::string no_category(const ColumnFacts& facts) {
  if (facts.not_utf8 > 0) return "its texts are not UTF-8 (iconv -f latin1 -t utf8 might help)";
  if (facts.dates * 10 >= facts.texts * 9 && facts.dates > 0) return "dates and times";
  if (std::string odd = odd_numbers(facts); !odd.empty()) return odd;
  const uint64_t present = facts.rows - facts.missing;
  const size_t texts = facts.values.size();
  if (texts > 3 && texts * 2 > present) return "nearly every row has another text";
  if (!facts.many && texts <= kMostCategoryTexts) return {};
  if (facts.longest > 64) return "free text";
  return cat(facts.many ? "too many" : cat(texts), " different texts, a category has ", kMostCategoryTexts, " at most");
  return {};
}

}  // namespace

bool needs_float64(const NumberSums& numbers) {
  const double most = std::max(std::abs(numbers.min), std::abs(numbers.max));
  return most > 1e30 || most < 1e-30 || most > 1e5 * numbers.deviation();
}

ColumnChoice choose_kind(const KindArgs& args) {
  const ColumnFacts& facts = args.facts;
  const uint64_t present = facts.rows - facts.missing;
  check_decimal_commas(facts, args.name, args.commas_divide);
  if (present == 0) return left_out("empty");
  const bool one_value = !facts.many && facts.values.size() == 1;
  if (one_value && (facts.missing == 0 || all_numbers(facts))) {
    return left_out(cat("every row has ", quote(facts.values.begin()->first), facts.missing > 0 ? ", or nothing" : ""));
  }
  const bool identifier = args.named && sounds_like_identifier(args.name);
  const bool distinct = facts.many || facts.values.size() > kMostCategoryTexts ||
                        (facts.values.size() > 20 && facts.values.size() * 2 > present);
  if (!args.keep && identifier && distinct && facts.only_whole()) return left_out("an identifier, by its name");
  const double first = facts.numbers.min;
  const bool counts_rows = facts.counts && (first == 0 || first == 1 || identifier);
  if (!args.keep && counts_rows && facts.rows >= kRowsOfAnIdentifier) return left_out("it counts the rows");
  const bool row_names = args.unnamed && facts.only_whole() && (distinct || facts.values.size() == present);
  if (!args.keep && row_names) return left_out("it has no name, and nearly every row has another value");
  const bool codes = facts.leading_zeros > 0 && facts.only_whole();
  const bool few_ids = identifier && !distinct && facts.only_whole();
  const bool is_number = (all_numbers(facts) || mostly_numbers(facts)) && !codes && !few_ids;
  if (is_number) return number(facts);
  if (facts.texts == 0 && facts.all_numbers().count == 0) return left_out("no number in it is finite");
  const std::string reason = no_category(facts);
  if (reason.empty()) {
    ColumnChoice out = category(facts);
    if (codes) out.note = "codes with leading zeros are categories";
    if (few_ids) out.note = "an identifier of few things is a category";
    return out;
  }
  if (args.keep) {
    throw DataError(cat("--keep ", quote(args.name), ": no model can read this column: ", reason));
  }
  return left_out(codes && facts.texts == 0 ? "codes with leading zeros, too many to be categories" : reason);
}

namespace {

// The texts of the classes with their counts, ordered as numbers where they all are.
void list_classes(const ColumnFacts& facts, LabelChoice& out) {
  std::vector<std::pair<std::string, uint64_t>> classes(facts.values.begin(), facts.values.end());
  std::erase_if(classes, [&](const auto& one) {
    return std::find(out.marks.begin(), out.marks.end(), one.first) != out.marks.end();
  });
  const auto value = [](const std::string& text) {
    double number = 0;
    return parse_number(text, number) == NumberStatus::ok ? number : std::nan("");
  };
  if (std::none_of(classes.begin(), classes.end(), [&](const auto& one) { return std::isnan(value(one.first)); })) {
    std::stable_sort(classes.begin(), classes.end(),
                     [&](const auto& a, const auto& b) { return value(a.first) < value(b.first); });
  }
  out.codes = true;
  for (const auto& [text, count] : classes) {
    out.codes = out.codes && text == cat(out.texts.size());
    out.texts.push_back(text);
    out.counts.push_back(count);
  }
  out.notice = alike_texts(out.texts);
}

bool is_integral(const std::string& text) {
  double value = 0;
  return parse_number(text, value) == NumberStatus::ok && (!std::isfinite(value) || value == std::floor(value));
}

size_t count_integral(const ColumnFacts& facts) {
  return static_cast<size_t>(
      std::count_if(facts.values.begin(), facts.values.end(), [](const auto& one) { return is_integral(one.first); }));
}

// One text in one row, where all others have whole numbers: a line that says something of the data, as some programs
// write first, is no class.
bool has_lone_text(const ColumnFacts& facts) {
  return !facts.many && facts.texts == 1 && facts.not_utf8 == 0 && facts.all_numbers().count >= kRowsBesideALoneText &&
         count_integral(facts) + 1 == facts.values.size();
}

InitTask find_task(const ColumnFacts& facts, LabelChoice& out) {
  const uint64_t present = facts.rows - facts.missing;
  const bool lone_text = has_lone_text(facts);
  const size_t distinct = facts.values.size() - (lone_text ? 1 : 0);
  const bool amounts = mostly_numbers(facts) && (facts.many || distinct > kMostClassNumbers + facts.examples.size());
  if (facts.texts > 0 && !amounts && !lone_text) {
    out.why = facts.all_numbers().count > 0 ? "not all of its values are numbers" : "its values are texts";
    return InitTask::classes;
  }
  if (facts.leading_zeros > 0 && facts.only_whole() && !facts.many) {
    out.why = "its numbers have leading zeros, as codes do";
    return InitTask::classes;
  }
  if (!facts.many && count_integral(facts) == distinct && distinct <= kMostClassNumbers &&
      (distinct <= 2 || distinct * 5 <= present)) {
    const NumberSums numbers = facts.all_numbers();
    const bool in_a_row = numbers.max - numbers.min + 1 == static_cast<double>(distinct);
    const bool doubtful = in_a_row && distinct > kMostSureClasses;
    out.why = doubtful ? cat("its values are the whole numbers ", numbers.min, " to ", numbers.max,
                             "; if they count or grade something, --task regression learns them as amounts")
                       : cat("its values are ", distinct, " whole numbers (--task regression takes them for amounts)");
    return InitTask::classes;
  }
  out.why = facts.texts > 0 ? "nearly all of its values are numbers" : "its values are numbers";
  if (!facts.many && facts.texts == 0 && count_integral(facts) == distinct && distinct <= kMostAskedClasses &&
      distinct * 2 <= present) {
    out.why = cat("its values are ", distinct, " whole numbers (--task classes takes them for classes)");
  }
  return InitTask::regression;
}

void check_odd_numbers(const ColumnFacts& facts, const std::string& column) {
  const std::string odd = odd_numbers(facts);
  if (odd.empty()) return;
  throw DataError(cat(column, " holds ", odd, ", which no op reads"), {},
                  "write them as plain numbers, without units and marks between groups of digits");
}

void check_utf8(const ColumnFacts& facts, const std::string& column) {
  if (facts.not_utf8 == 0) return;
  throw DataError(cat(column, " holds texts that are not UTF-8"), {},
                  "convert the files first: iconv -f latin1 -t utf8");
}

void check_dates(const ColumnFacts& facts, const std::string& column) {
  if (facts.dates == 0 || facts.dates * 10 < facts.texts * 9) return;
  throw DataError(cat(column, " holds dates or times, such as ", quote(facts.examples.front()),
                      ", which are neither amounts nor classes"),
                  {}, "write what is to be predicted as a number, such as the days since the first of them");
}

void check_classes(const ColumnFacts& facts, const LabelChoice& label, const std::string& name) {
  const std::string column = cat("the label ", quote(name));
  check_utf8(facts, column);
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

void check_numbers(const ColumnFacts& facts, const LabelChoice& label, const std::string& name) {
  const std::string column = cat("the label ", quote(name));
  if (facts.texts > 0 && !mostly_numbers(facts)) {
    check_utf8(facts, column);
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

LabelChoice choose_label(const ColumnFacts& facts, const std::string& name, InitTask wanted, bool commas_divide) {
  LabelChoice out;
  out.missing = facts.missing + facts.nonfinite;
  if (out.missing == facts.rows) {
    throw DataError(cat("no row has a label: the column ", quote(name), " is empty"), {},
                    "name another column with --label");
  }
  check_decimal_commas(facts, name, commas_divide);
  out.marks = facts.marks;
  std::erase_if(out.marks, is_usual);
  out.task = find_task(facts, out);
  if (wanted != InitTask::automatic) out.why = "as --task says";
  if (wanted != InitTask::automatic) out.task = wanted;
  if (out.task == InitTask::classes) {
    if (has_lone_text(facts)) {
      add_mark(out.marks, facts.examples.front());
      ++out.missing;
      out.why += cat("; ", quote(facts.examples.front()), ", which one row has, counts as missing");
    }
    if (!facts.many) list_classes(facts, out);
    check_classes(facts, out, name);
    return out;
  }
  std::string note;
  out.numbers = numbers_of(facts, out.marks, note);
  for (const std::string& text : facts.examples) {
    add_mark(out.marks, text);
    note += cat(note.empty() ? "" : "; ", quote(text), " counts as missing");
  }
  if (!note.empty()) out.why += cat("; ", note);
  check_numbers(facts, out, name);
  out.missing = facts.rows - out.numbers.count;
  return out;
}

}  // namespace millrace

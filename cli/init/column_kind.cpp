#include "millrace/cli/init/column_kind.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "millrace/cli/init/column_numbers.h"
#include "millrace/cli/init/value_text.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr size_t kMostCategoryTexts = 128;
constexpr uint64_t kRowsOfAnIdentifier = 10;  // that count from row to row, at least

ColumnChoice left_out(std::string reason) {
  ColumnChoice out;
  out.reason = std::move(reason);
  return out;
}

bool all_numbers(const ColumnFacts& facts) { return facts.texts == 0 && facts.all_numbers().count > 0; }

ColumnChoice number(const ColumnFacts& facts) {
  ColumnChoice out;
  out.kind = ColumnKind::number;
  ColumnNumbers read = numbers_of(facts);
  out.numbers = read.numbers;
  out.marks = std::move(read.marks);
  out.note = std::move(read.note);
  if (out.numbers.min == out.numbers.max) return left_out(cat("every number in it is ", out.numbers.min));
  const double deviation = out.numbers.deviation();
  if (!std::isfinite(deviation) || !std::isfinite(out.numbers.mean)) return left_out("its numbers are too large");
  if (deviation == 0) return left_out("its numbers differ by too little");
  return out;
}

ColumnChoice category(const ColumnFacts& facts) {
  ColumnChoice out;
  out.kind = ColumnKind::category;
  out.marks = own_marks(facts);
  if (facts.missing + facts.nonfinite > 0) out.texts.emplace_back();
  for (const auto& [text, count] : facts.values) {
    const bool is_mark = std::find(facts.marks.begin(), facts.marks.end(), text) != facts.marks.end();
    if (!is_mark) out.texts.push_back(text);
  }
  out.note = alike_texts(out.texts);
  return out;
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
}

}  // namespace

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

}  // namespace millrace

#include "millrace/cli/init/data_look.h"

#include <algorithm>
#include <map>

#include "millrace/cli/init/value_text.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/csv/number_parser.h"
#include "millrace/input/csv/record_scanner.h"
#include "millrace/input/files/foreign_file.h"

namespace millrace {

namespace {

constexpr size_t kMostRecords = 300, kLeastRecords = 8;
constexpr size_t kMostFields = 100000;  // after so many fields, kLeastRecords are enough
constexpr size_t kMostPreamble = 20;    // records before the table
constexpr std::string_view kDelimiters = ",;\t|";

using Fields = std::vector<std::string>;

// The first records of a text, as one delimiter cuts them.
struct Cut : CsvForm {
  std::vector<Fields> records;
  std::vector<int64_t> lines;  // the line where each record starts, from 0
  size_t faults = 0;
  size_t regular = 0;   // how many records have `columns` fields, as most do
  size_t preamble = 0;  // records before the first regular one

  size_t behind_preamble() const { return records.size() - preamble; }
  // How much of the table, faulty records included, is regular.
  double order() const {
    const size_t all = behind_preamble() + faults;
    return all == 0 ? 0 : static_cast<double>(regular) / static_cast<double>(all);
  }
};

void count_columns(Cut& cut) {
  std::map<size_t, size_t> counts;
  for (const Fields& record : cut.records) ++counts[record.size()];
  for (const auto& [columns, count] : counts) {
    if (count < cut.regular || (count == cut.regular && columns < cut.columns)) continue;
    cut.columns = columns;
    cut.regular = count;
  }
  while (cut.preamble < cut.records.size() && cut.records[cut.preamble].size() != cut.columns) ++cut.preamble;
}

Cut cut_records(std::string_view text, bool whole, char delimiter, bool quotes) {
  Cut out;
  out.delimiter = delimiter;
  out.quotes = quotes;
  CsvDialect dialect;
  dialect.delimiter = delimiter;
  if (!quotes) dialect.quote.reset();
  const RecordScanner scanner(dialect, true);
  ScannedRecord record;
  int64_t line = 0;
  size_t fields_seen = 0;
  while (!text.empty() && out.records.size() < (fields_seen < kMostFields ? kMostRecords : kLeastRecords)) {
    const LineKind kind = line_kind(text, true, dialect);
    if (kind == LineKind::blank) {
      text.remove_prefix(text[0] == '\n' ? 1 : 2);
      ++line;
      continue;
    }
    if (!scanner.scan(text, whole, record)) break;  // the record is cut off
    if (record.fault != SyntaxFault::none) {
      ++out.faults;
      if (!record.certain_end) break;
    } else {
      // A record that reaches the end of `text` may go on in the file.
      if (!whole && record.length == text.size()) break;
      Fields& fields = out.records.emplace_back();
      for (size_t i = 0; i < record.size(); ++i) fields.emplace_back(record.field(i));
      fields_seen += fields.size();
      out.lines.push_back(line);
    }
    line += static_cast<int64_t>(record.lines);
    text.remove_prefix(record.length);
  }
  count_columns(out);
  return out;
}

bool has_decimal_commas(const Cut& cut) {
  const auto is_one = [](const std::string& field) { return has_decimal_comma(trimmed(field)); };
  return std::ranges::any_of(cut.records, [&](const Fields& record) { return std::ranges::any_of(record, is_one); });
}

bool is_better(const Cut& a, const Cut& b) {
  if ((a.columns > 1) != (b.columns > 1)) return a.columns > 1;
  if (a.columns <= 1) return false;
  // If another delimiter cuts as regularly, a comma between digits is a decimal comma.
  const bool b_splits_numbers = b.delimiter == ',' && a.order() >= 0.9 && has_decimal_commas(a);
  const bool a_splits_numbers = a.delimiter == ',' && b.order() >= 0.9 && has_decimal_commas(b);
  if (b_splits_numbers != a_splits_numbers) return b_splits_numbers;
  if (a.preamble != b.preamble && std::min(a.order(), b.order()) > 0.9) return a.preamble < b.preamble;
  if (a.order() > b.order() + 0.05 || b.order() > a.order() + 0.05) return a.order() > b.order();
  return a.columns > b.columns;
}

Cut best_cut(const SniffArgs& args, std::string_view text) {
  const std::string delimiters = args.delimiter ? std::string(1, *args.delimiter) : std::string(kDelimiters);
  std::optional<Cut> best;
  for (const char delimiter : delimiters) {
    Cut cut = cut_records(text, args.whole, delimiter, true);
    if (cut.faults > 0) {
      Cut bare = cut_records(text, args.whole, delimiter, false);
      if (bare.columns > 1 && bare.order() > std::max(cut.order(), 0.95)) cut = std::move(bare);
    }
    if (!best || is_better(cut, *best)) best = std::move(cut);
  }
  return std::move(*best);
}

// Whether the fields are "0", "1", "2", .., as programs write for columns without names. The first one is `first`.
bool counts_columns(const Fields& fields, size_t first) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] != cat(i + first)) return false;
  }
  return fields.size() > 2;
}

bool has_name(const Fields& record, std::string_view name) {
  const auto is_it = [&](const std::string& field) { return trimmed(field) == trimmed(name); };
  return !name.empty() && std::ranges::any_of(record, is_it);
}

bool is_header(const Cut& cut, const SniffArgs& args) {
  const Fields& first = cut.records[cut.preamble];
  if (args.header) return *args.header;
  const bool names_label = has_name(first, args.label);
  // The user may mean a column's number, not a name.
  const bool is_number_of_column =
      all_digits(args.label) && (args.label.size() < 6 && static_cast<size_t>(std::stoi(args.label)) < cut.columns);
  if (names_label && !is_number_of_column) return true;
  if (counts_columns(first, 0) || counts_columns(first, 1)) return true;
  if (std::ranges::any_of(first, is_number)) return false;
  if (std::set<std::string>(first.begin(), first.end()).size() < first.size()) return false;
  // These are texts, all different. They are names if the columns below hold numbers, or other texts again and again.
  bool names = cut.behind_preamble() == 1;
  for (size_t column = 0; column < first.size(); ++column) {
    std::map<std::string_view, size_t> below;
    for (size_t row = cut.preamble + 1; row < cut.records.size(); ++row) {
      if (cut.records[row].size() == cut.columns) ++below[cut.records[row][column]];
    }
    if (below.contains(first[column])) return false;
    for (const auto& [text, count] : below) names = names || count > 1 || is_number(text);
  }
  return names;
}

// Spreadsheets put titles above the table: records with as many fields, most of them empty. The record below them that
// names the label is the header.
void pass_titles(Cut& cut, const SniffArgs& args) {
  if (all_digits(args.label) || !args.header.value_or(true)) return;
  const size_t end = std::min(cut.records.size(), cut.preamble + kMostPreamble);
  std::optional<size_t> header;
  for (size_t i = cut.preamble; i < end; ++i) {
    const Fields& record = cut.records[i];
    const auto empty = static_cast<size_t>(std::ranges::count(record, ""));
    if (record.size() == cut.columns && has_name(record, args.label)) {
      if (!header || empty == 0) header = i;
      // If most of its fields are empty, it may be a title that happens to have the label's name.
      if (cut.columns < 3 || 2 * empty <= cut.columns) break;
    }
    if (empty == 0) break;
  }
  if (header) cut.preamble = *header;
}

// Refuses a file whose quotes do not quote, because blanks stand before them, or backslashes before the quotes inside a
// field. They would be a part of the values, and a quoted number would not be a number.
void check_quotes(const Cut& cut, const SniffArgs& args) {
  if (cut.quotes) return;
  bool escaped = false;
  size_t late = 0, fields = 0;
  for (const Fields& record : cut.records) {
    for (const std::string& field : record) {
      const std::string_view bare = trimmed(field);
      const bool quoted = bare.size() > 1 && bare.front() == '"' && bare.back() == '"';
      escaped = escaped || (quoted && bare.substr(0, bare.size() - 1).find("\\\"") != bare.npos);
      late += quoted && field.starts_with(' ') ? 1 : 0;
      ++fields;
    }
  }
  if (!escaped && (late * 4 < fields || late == 0)) return;
  const std::string delimiter = cut.delimiter == '\t' ? "\\t" : std::string(1, cut.delimiter);
  throw DataError("blanks stand before quotes, or backslashes before quotes inside a field, so they do not quote",
                  {args.path, 1, 1},
                  cat("mend them: sed 's/\\\\\"/\"\"/g; s/", delimiter, "  *\"/", delimiter, "\"/g' FILE > NEW"));
}

DataError no_rows(const SniffArgs& args, std::string_view message) {
  return DataError(message, {args.path, 1, 1}, "init learns from rows: give it a file that has some");
}

// Whether this seems to be a part of a field that a delimiter inside it cut in two.
bool seems_cut(const std::string& field) {
  return field.starts_with(' ') || (!field.empty() && (field.front() == '\'') != (field.back() == '\''));
}

// Whether the record above the table names all columns except the first one, which holds the names of rows: texts that
// all differ, numbers that count the rows, or numbers in quotes.
// A record may have one field less for another reason, or be no header at all. Signs of that: it lacks the label, its
// first name sounds like an identifier, or fields seem to be cut in two.
bool names_all_but_rows(const Cut& cut, const SniffArgs& args) {
  if (cut.preamble == 0) return false;
  const Fields& names = cut.records[cut.preamble - 1];
  if (names.size() < 2 || names.size() + 1 != cut.columns || !has_name(names, args.label)) return false;
  if (has_name(cut.records[cut.preamble], args.label) || sounds_like_identifier(trimmed(names.front()))) return false;
  if (std::ranges::any_of(names, is_number) || contains(names, "")) return false;
  const std::string_view below = args.head.substr(std::min(args.head.find('\n'), args.head.size()));
  const bool quoted = cut.preamble == 1 && args.head.starts_with('"') && below.starts_with("\n\"");
  std::set<std::string_view> rows;
  size_t empty_ends = 0, texts = 0, counted = 0;
  for (size_t i = cut.preamble; i < cut.records.size(); ++i) {
    const Fields& record = cut.records[i];
    if (record.size() != cut.columns || !rows.insert(record.front()).second) return false;
    if (std::ranges::any_of(record, seems_cut)) return false;
    empty_ends += record.back().empty() ? 1 : 0;
    texts += is_number(record.front()) ? 0 : 1;
    counted += record.front() == cat(rows.size()) ? 1 : 0;
  }
  return empty_ends < rows.size() && (quoted || texts == rows.size() || counted == rows.size());
}

// A header with too few or too many names looks like a line above the table, which would be skipped. Throws if the last
// line above the table may be a header, or if too many lines stand above it.
void check_preamble(const Cut& cut, const SniffArgs& args) {
  if (cut.preamble == 0) return;
  const size_t names = cut.records[cut.preamble - 1].size();
  const bool close = names > 1 && names + 1 >= cut.columns;
  const auto line = static_cast<int64_t>(cut.lines[cut.preamble - 1]) + 1;
  if (!close && cut.preamble <= kMostPreamble) return;
  throw DataError(cat("this record has ", names, " fields, most records below it have ", cut.columns),
                  {args.path, line, 1},
                  names + 1 == cut.columns ? "give every column a name, also a column of row names; a delimiter at the "
                                             "end of a record begins another column"
                                           : "give all records as many fields, or name the delimiter with --delimiter");
}

// A hint for a file whose fields are separated by blanks; empty for other files.
std::string blanks_hint(const SniffArgs& args, std::string_view text) {
  constexpr size_t kMost = size_t{256} << 10;
  std::string squeezed;
  for (const char c : text.substr(0, kMost)) {
    const bool at_start = squeezed.empty() || squeezed.back() == '\n';
    if (c == ' ' && (at_start || squeezed.back() == ' ')) continue;
    if (c == '\n' && squeezed.ends_with(' ')) squeezed.pop_back();
    squeezed += c;
  }
  const Cut cut = cut_records(squeezed, args.whole && text.size() <= kMost, ' ', true);
  if (cut.columns < 2 || cut.order() < 1) return {};
  if (squeezed.size() == std::min(text.size(), kMost)) return "fields seem to end at blanks: --delimiter ' '";
  return "fields seem to end at runs of blanks, make each run one blank: sed 's/^ *//; s/ *$//; s/  */ /g' FILE > NEW; "
         "then --delimiter ' '";
}

}  // namespace

CsvForm sniff_csv(const SniffArgs& args) {
  std::string_view text = args.head;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::string first_line(text.substr(0, std::min(text.find('\n'), text.size())));
  const std::optional<ForeignFile> foreign = foreign_file(text.substr(0, 512), false);
  const std::string what = foreign ? foreign->hint() : encoding_hint(first_line, false);
  if (!what.empty()) throw DataError("this is not CSV text", {args.path, 1, 1}, what);
  if (text.substr(0, 4096).find('\0') != text.npos) {
    throw DataError("this is not CSV text: there are NUL bytes in it", {args.path, 1, 1});
  }
  // Excel may write the delimiter into a first line: "sep=;".
  SniffArgs known = args;
  int64_t passed = 0;
  if (first_line.starts_with("sep=") && first_line.size() >= 5 &&
      first_line.find_first_not_of('\r', 5) == std::string::npos) {
    if (!known.delimiter) known.delimiter = first_line[4];
    text.remove_prefix(std::min(first_line.size() + 1, text.size()));
    passed = 1;
  }
  Cut cut = best_cut(known, text);
  for (int64_t& line : cut.lines) line += passed;
  if (cut.records.empty()) {
    if (cut.faults == 0) throw no_rows(args, "the file has no rows");
    const std::string hint = args.delimiter ? std::string() : blanks_hint(known, text);
    throw DataError("the first record cannot be cut into fields", {args.path, 1, 1},
                    hint.empty() ? "look at its quotes; --delimiter names the delimiter" : hint);
  }
  cut.row_names = args.header.value_or(true) && names_all_but_rows(cut, args);
  if (!cut.row_names) check_preamble(cut, args);
  if (!cut.row_names) pass_titles(cut, args);
  check_quotes(cut, args);
  if (cut.preamble > 0 || passed > 0) cut.skip_lines = cut.lines[cut.preamble];
  cut.header = !cut.row_names && is_header(cut, args);
  if (cut.header) cut.names = cut.records[cut.preamble];
  if (cut.row_names) {
    cut.names = cut.records[cut.preamble - 1];
    cut.names.insert(cut.names.begin(), std::string());
  }
  if (cut.header && cut.behind_preamble() == 1 && cut.faults == 0) {
    throw no_rows(args, "the file has a header but no rows");
  }
  if (cut.columns == 1) cut.blanks_hint = blanks_hint(known, text);
  return cut;
}

Spec reader_options(const CsvForm& form) {
  Spec out = Spec::map().set("header", form.header);
  if (form.delimiter != ',') out.set("delimiter", form.delimiter);
  if (!form.quotes) out.set("quote", "none");
  if (form.skip_lines > 0) out.set("skip_lines", form.skip_lines);
  return out;
}

}  // namespace millrace

// Any bytes as the text of one file, cut and converted without a graph around it: the rows and faults are those of
// reference_csv.h. Less is tried than in csv_fuzz.cpp, many times faster.
//
// An input is kOptions bytes that choose the options, then the text.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/csv/kernels/kernels.h"
#include "millrace/input/csv/record_cutter.h"
#include "millrace/input/csv/record_error.h"
#include "millrace/input/csv/row_converter.h"
#include "tests/input/reference_csv.h"

namespace millrace {
namespace {

using testing_support::ReferenceCsv;
using testing_support::ReferenceField;

using Lines = std::vector<std::string>;

constexpr size_t kOptions = 4;

// Shows a text a piece at a time.
class PieceText final : public ChunkText {
 public:
  PieceText(std::string_view text, size_t piece) : whole_(text.size()), piece_(piece) {
    data_ = text.data();
    limit_ = whole_;
    extend();
  }
  void extend() override {
    size_ = std::min(whole_, size_ + piece_);
    at_end_ = size_ == whole_;
  }

 private:
  const size_t whole_, piece_;
};

struct Options {
  char delimiter, quote, comment;
  bool skip_blank, skip_bad, allow_nonfinite;
  Lines missing;
  size_t piece;
  ProcessorLevel level;
  std::string type;  // of the second field
};

Options make_options(const uint8_t* bytes) {
  static constexpr char kDelimiters[] = {',', ';', '\t', ' ', '1', '.', '-', ','};
  static constexpr char kQuotes[] = {'"', '\'', '\0', '1'};
  static constexpr char kComments[] = {'\0', '#', '2', '\0'};
  static const Lines kMissing[] = {{}, {"NA"}, {"0"}, {}};
  static const std::string kTypes[] = {"float64", "int32", "int64", "string"};
  return {.delimiter = kDelimiters[bytes[0] % 8],
          .quote = kQuotes[bytes[0] / 8 % 4],
          .comment = kComments[bytes[0] / 32 % 4],
          .skip_blank = bytes[1] % 2 == 0,
          .skip_bad = bytes[1] / 2 % 2 == 0,
          .allow_nonfinite = bytes[1] / 4 % 2 == 0,
          .missing = kMissing[bytes[1] / 8 % 4],
          .piece = bytes[2] == 0 ? SIZE_MAX : bytes[2],
          .level = static_cast<ProcessorLevel>(bytes[3] % 3),
          .type = kTypes[bytes[3] / 4 % 4]};
}

bool makes_sense(const Options& options) {
  return options.quote != options.delimiter && options.comment != options.delimiter &&
         (options.comment != options.quote || options.comment == 0);
}

DType dtype_of(const std::string& type) {
  return type == "int32" ? DType::i32 : type == "int64" ? DType::i64 : type == "float64" ? DType::f64 : DType::f32;
}

// All columns but the last as float32, the last as the type of the options.
std::vector<SelectedField> select(const Options& options, size_t columns) {
  std::vector<SelectedField> out;
  if (columns > 1) {
    SelectedField field;
    field.spec = {.name = "x", .shape = {static_cast<int64_t>(columns) - 1}};
    for (uint32_t column = 0; column + 1 < columns; ++column) field.columns.push_back(column);
    out.push_back(field);
  }
  SelectedField last;
  last.spec = {.name = "y", .dtype = dtype_of(options.type), .shape = {1}, .text = options.type == "string"};
  last.columns.push_back(static_cast<uint32_t>(columns) - 1);
  out.push_back(last);
  return out;
}

CsvDialect dialect_of(const Options& options) {
  CsvDialect out;
  out.delimiter = options.delimiter;
  out.quote = options.quote == 0 ? std::nullopt : std::optional(options.quote);
  if (options.comment != 0) out.comment = options.comment;
  out.skip_blank_lines = options.skip_blank;
  return out;
}

// Of the first record without a fault; 0 when there is none.
size_t count_columns(const Options& options, std::string_view text) {
  const CsvDialect dialect = dialect_of(options);
  static CutterScratch scratch;  // large, and used again by the next file as in a run of many
  PieceText pieces(text, options.piece);
  RecordCutter cutter(dialect, pieces, 0, scratch);
  while (cutter.next()) {
    const Record& record = cutter.record();
    if (record.kind == Record::Kind::blank) continue;
    if (record.fault() == SyntaxFault::none) return record.size();
    if (!record.scanned->certain_end) return 0;
  }
  return 0;
}

template <class T>
std::string shown(const RowBlock& rows, size_t field) {
  std::string out;
  for (const T& number : rows.numbers<T>(field, 0)) out += cat(out.empty() ? "" : ",", number);
  return out;
}

std::string shown(const RowBlock& rows, size_t field, const FieldSpec& spec) {
  if (spec.text) return quote(rows.varying(field, 0).text(0), SIZE_MAX);
  switch (spec.dtype) {
    case DType::f64: return shown<double>(rows, field);
    case DType::i32: return shown<int32_t>(rows, field);
    case DType::i64: return shown<int64_t>(rows, field);
    default: return shown<float>(rows, field);
  }
}

RecordError find_error(const Record& record, const RowConverter& converter, const CsvDialect& dialect) {
  if (record.kind == Record::Kind::blank) return blank_line_error(record);
  if (record.fault() != SyntaxFault::none) return syntax_error(record, dialect);
  if (record.size() != static_cast<size_t>(dialect.columns)) return field_count_error(record, dialect);
  return value_error(record, converter.find_fault(record), converter, dialect);
}

// As ReferenceCsv::run() gives them.
Lines run(const Options& options, std::string_view text, size_t columns) {
  CsvDialect dialect = dialect_of(options);
  dialect.columns = static_cast<int64_t>(columns);
  const RowConverter converter(select(options, columns), {options.missing, options.allow_nonfinite});
  RowBlock rows;
  rows.configure(converter.spec(), 1);
  static CutterScratch scratch;
  PieceText pieces(text, options.piece);
  RecordCutter cutter(dialect, pieces, 0, scratch);
  Lines lines;
  while (cutter.next()) {
    const Record& record = cutter.record();
    const bool whole = record.kind != Record::Kind::blank && record.fault() == SyntaxFault::none;
    if (whole && record.size() == columns && converter.convert(record, rows, 0)) {
      rows.resize(1);
      std::string& line = lines.emplace_back(cat("a:", record.line + 1));
      for (size_t field = 0; field < rows.spec().fields.size(); ++field) {
        const FieldSpec& spec = rows.spec().fields[field];
        line += cat(' ', spec.name, '=', shown(rows, field, spec));
      }
      continue;
    }
    const RecordError error = find_error(record, converter, dialect);
    const bool goes_on = options.skip_bad && error.certain_end;
    lines.push_back(
        cat(goes_on ? "bad a:" : "error a:", error.line + 1, ':', error.column, goes_on ? " " : ": ", error.message));
    if (!goes_on) break;
  }
  return lines;
}

Lines expected(const Options& options, std::string_view text, size_t columns) {
  ReferenceCsv csv;
  csv.files = {{"a", std::string(text)}};
  csv.delimiter = options.delimiter;
  csv.quote_byte = options.quote;
  csv.comment = options.comment;
  csv.skip_blank = options.skip_blank;
  csv.skip_bad = options.skip_bad;
  csv.missing = options.missing;
  csv.allow_nonfinite = options.allow_nonfinite;
  if (columns > 1) csv.fields.push_back({.name = "x", .items = {{0, columns - 2}}});
  csv.fields.push_back({.name = "y", .items = {{columns - 1, columns - 1}}, .type = options.type});
  return csv.run();
}

void fail(const Lines& wanted, const Lines& got) {
  for (const std::string& line : wanted) std::fprintf(stderr, "expected: %s\n", line.c_str());
  for (const std::string& line : got) std::fprintf(stderr, "got:      %s\n", line.c_str());
  std::abort();
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace;
  if (size < kOptions) return -1;
  const Options options = make_options(data);
  if (!makes_sense(options)) return -1;
  // In memory of its own, so that reading beyond it is noticed.
  const std::vector<char> text(data + kOptions, data + size);
  const std::string_view view(text.data(), text.size());
  if (view.starts_with("\xef\xbb\xbf")) return -1;  // a mark is the reader's business
  if (const CsvKernels* kernels = csv_kernels(options.level)) use_csv_kernels(*kernels);
  const size_t columns = count_columns(options, view);
  if (columns == 0) return -1;
  const Lines wanted = expected(options, view, columns), got = run(options, view, columns);
  if (wanted != got) fail(wanted, got);
  return 0;
}

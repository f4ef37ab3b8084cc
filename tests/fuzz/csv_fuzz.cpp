// Any bytes as CSV files, read as any options say: the graph gives what the plain rules of reference_csv.h give.
//
// An input is kOptions bytes that choose the options, then the files' text.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/csv/kernels/kernels.h"
#include "millrace/input/files/foreign_file.h"
#include "millrace/input/graph/pipeline.h"
#include "tests/input/op_testing.h"
#include "tests/input/reference_csv.h"

namespace millrace {
namespace {

using testing_support::list_of;
using testing_support::MemoryFiles;
using testing_support::ReferenceCsv;
using testing_support::ReferenceField;

using Lines = std::vector<std::string>;

constexpr size_t kFields = 3;
constexpr size_t kOptions = 13 + 3 * kFields;
// Beyond what the cutter indexes at a time.
constexpr size_t kLongText = 20000;

// One choice a byte.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}
  size_t below(size_t n) { return static_cast<unsigned char>(bytes_[at_++]) % n; }
  template <class T, size_t n>
  T of(const T (&values)[n]) {
    return values[below(n)];
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

struct Case {
  ReferenceCsv reference;
  size_t chunk_bytes = 0;
  size_t piece_bytes = 0;  // of a stream; 0: files
  bool threads = false;    // tries two of them, too
  ProcessorLevel level = ProcessorLevel::scalar;
};

ReferenceField make_field(Choices& choices, size_t index) {
  static const std::vector<std::string> kNames = {"x", "y", "z"};
  ReferenceField field;
  field.name = kNames[index];
  const size_t first = choices.below(8);
  static const char* const kTypes[] = {"float32", "float64", "int32", "int64", "string"};
  static const char* const kSplits[] = {"", "", "", " ", "|", "\t", ","};
  const size_t kind = choices.below(5 * 7);
  field.type = kTypes[kind % 5];
  field.split = kSplits[kind / 5];
  switch (field.split.empty() ? first : 0) {
    case 4: field.items = {{0, 1}}; break;
    case 5: field.items = {{2, 2}, {0, 0}}; break;
    case 6: field.items = {{.name = "a"}}; break;
    case 7: field.items = {{.name = "b"}, {1, 2}}; break;
    default: field.items = {{first % 4, first % 4}};
  }
  if (!field.split.empty() && first >= 4) field.items = {{.name = "b"}};
  switch (choices.below(4)) {
    case 1: field.default_values = {"7"}; break;
    case 2:
      if (field.split.empty() && first == 4) field.default_values = {"1", "-2"};
      if (!field.split.empty()) field.default_values = {"1", "-2", "3"};
      break;
    case 3:
      if (!field.split.empty()) field.default_values.emplace();
      break;
    default: break;
  }
  return field;
}

Case make_case(std::string_view input) {
  Choices choices(input);
  Case out;
  ReferenceCsv& csv = out.reference;
  csv.delimiter = choices.of({',', ',', ';', '\t', ' ', '|', '1'});
  csv.quote_byte = choices.of({'"', '"', '\'', '\0', '1'});
  csv.comment = choices.of({'\0', '#', ';', '2'});
  csv.header = choices.below(2) != 0;
  csv.skip_blank = choices.below(2) == 0;
  csv.skip_lines = choices.of({0, 0, 1, 2});
  const size_t bad = choices.below(8);
  csv.skip_bad = bad >= 4;
  if (bad >= 6) csv.max_bad_rows = bad - 5;
  csv.missing = choices.of<Lines>({{}, {"NA"}, {"-1", " "}, {"0"}});
  csv.allow_nonfinite = choices.below(2) == 0;
  const size_t way = choices.below(16);
  out.threads = way == 15;
  out.chunk_bytes = choices.below(256);
  if (out.chunk_bytes == 0) out.chunk_bytes = 262144;
  const size_t cut = choices.below(256);
  out.level = static_cast<ProcessorLevel>(cut % 3);
  for (size_t i = 0; i < kFields; ++i) {
    ReferenceField field = make_field(choices, i);
    if (i <= way % kFields) csv.fields.push_back(std::move(field));
  }
  const bool is_long = choices.below(32) == 31;
  std::string text(input.substr(kOptions));
  if (is_long && !text.empty()) {
    out.chunk_bytes *= 64;
    const std::string once = text;
    while (text.size() < kLongText) text += once;
  }
  const size_t middle = text.size() * cut / 256;
  switch (way % 4) {
    case 0: csv.files = {{"a.csv", text}}; break;
    case 1:
      out.piece_bytes = 1 + cut;
      csv.files = {{"-", text}};
      break;
    default:
      csv.files = {{"a.csv", text.substr(0, middle)}, {"b.csv", text.substr(middle)}};
      csv.readers = way % 4 == 2 ? 1 : 2;
      csv.epochs = way >= 8 ? 2 : 1;
  }
  return out;
}

Spec field_spec(const ReferenceField& field) {
  Spec columns = Spec::list();
  for (const ReferenceField::Item& item : field.items) {
    const bool named = !item.name.empty();
    columns.append(Spec::scalar(named ? item.name : cat(item.first, '-', item.last), named, {}));
  }
  Spec out = Spec::map().set("columns", std::move(columns)).set("type", field.type);
  if (!field.split.empty()) out.set("split", field.split);
  if (field.default_values) {
    const Lines& values = *field.default_values;
    out.set("default", values.size() == 1 ? Spec::of(values.front()) : list_of(values));
  }
  return out;
}

Spec ops(const Case& one) {
  const ReferenceCsv& csv = one.reference;
  const auto byte_or_none = [](char c) { return c == 0 ? std::string("none") : std::string(1, c); };
  Lines paths;
  for (const auto& file : csv.files) paths.push_back(file.path);
  Spec reader = Spec::map()
                    .set("header", csv.header)
                    .set("skip_lines", csv.skip_lines)
                    .set("delimiter", csv.delimiter)
                    .set("quote", byte_or_none(csv.quote_byte))
                    .set("comment", byte_or_none(csv.comment))
                    .set("blank_lines", csv.skip_blank ? "skip" : "error")
                    .set("readers", csv.readers)
                    .set("chunk_bytes", one.chunk_bytes);
  Spec fields = Spec::map();
  for (const ReferenceField& field : csv.fields) fields.set(field.name, field_spec(field));
  Spec decode = Spec::map()
                    .set("fields", std::move(fields))
                    .set("missing", list_of(csv.missing))
                    .set("allow_nonfinite", csv.allow_nonfinite)
                    .set("on_bad_row", csv.skip_bad ? "skip" : "fail");
  if (csv.max_bad_rows) decode.set("max_bad_rows", *csv.max_bad_rows);
  Spec queue = Spec::map().set("files", list_of(paths)).set("shuffle", false).set("epochs", csv.epochs);
  return Spec::list()
      .append(Spec::map().set("filename_queue", std::move(queue)))
      .append(Spec::map().set("csv_reader", std::move(reader)))
      .append(Spec::map().set("decode_csv", std::move(decode)))
      .append(Spec::map().set("batch", Spec::map().set("batch_size", 1)));
}

MemoryFiles& add_files(const Case& one, MemoryFiles& out) {
  for (const auto& [path, bytes] : one.reference.files) {
    if (one.piece_bytes == 0) {
      out.files[path] = bytes;
      continue;
    }
    std::vector<std::string>& pieces = out.streams[path];
    for (size_t at = 0; at < bytes.size(); at += one.piece_bytes) pieces.push_back(bytes.substr(at, one.piece_bytes));
  }
  return out;
}

template <class T>
std::string numbers_text(std::span<const T> numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size(); ++i) out += cat(i == 0 ? "" : ",", numbers[i]);
  return out;
}

std::string field_text(const RowBlock& rows, size_t field) {
  const FieldSpec& spec = rows.spec().fields[field];
  if (!spec.text) {
    switch (spec.dtype) {
      case DType::f64: return numbers_text(rows.numbers<double>(field, 0));
      case DType::i32: return numbers_text(rows.numbers<int32_t>(field, 0));
      case DType::i64: return numbers_text(rows.numbers<int64_t>(field, 0));
      default: return numbers_text(rows.numbers<float>(field, 0));
    }
  }
  const Varying& texts = rows.varying(field, 0);
  std::string out;
  for (size_t i = 0; i < texts.texts(); ++i) out += cat(i == 0 ? "" : ",", quote(texts.text(i), SIZE_MAX));
  return out;
}

// Of the only row of a batch.
std::string row_line(const Pipeline& pipeline, const RowBlock& row) {
  std::string out = pipeline.place(row.id(0)).text();
  for (size_t field = 0; field < row.spec().fields.size(); ++field) {
    out += cat(' ', row.spec().fields[field].name, '=', field_text(row, field));
  }
  return out;
}

std::string error_line(const Error& error) {
  return cat(error.kind() == ErrorKind::data ? "" : cat(to_string(error.kind()), ' '), error.place().text(), ": ",
             error.message());
}

// What the graph gives, as ReferenceCsv::run() says it, and its bad rows.
Lines run(const Case& one, Executor* executor, std::vector<BadRow>& bad_rows) {
  MemoryFiles files;
  const Spec list = ops(one);
  Lines lines;
  std::optional<InputGraph> graph;
  try {
    graph = InputGraph::build(list, builtin_ops(), {.files = &add_files(one, files)});
  } catch (const ConfigError&) {
    return {"build config"};
  } catch (const Error& error) {
    return {cat("build data ", error_line(error))};
  }
  const auto on_bad_row = [&](const BadRow& bad) {
    lines.push_back(cat("bad ", bad.place.text(), ' ', bad.reason));
    bad_rows.push_back(bad);
  };
  Pipeline pipeline(std::move(*graph), {.executor = executor, .on_bad_row = on_bad_row});
  RowBlock row = pipeline.make_slot();
  try {
    while (pipeline.next(row) > 0) lines.push_back(row_line(pipeline, row));
  } catch (const Error& error) {
    lines.push_back(cat("error ", error_line(error)));
  }
  return lines;
}

// The lines with what else is told of bad rows.
std::string report(const Lines& lines, const std::vector<BadRow>& bad_rows) {
  std::string out;
  for (const std::string& line : lines) out += line + '\n';
  for (const BadRow& bad : bad_rows) out += cat("field \"", bad.field, "\": ", quote(bad.text, SIZE_MAX), '\n');
  return out;
}

bool is_foreign(const std::string& text) {
  const auto found = foreign_file(text);
  return found && found->certain;
}

// The plain rules do not know other formats.
bool makes_sense(const ReferenceCsv& csv) {
  return std::ranges::none_of(csv.files, [](const auto& file) { return is_foreign(file.bytes); }) &&
         csv.quote_byte != csv.delimiter && csv.comment != csv.delimiter &&
         (csv.comment != csv.quote_byte || csv.comment == 0);
}

void check(Case one) {
  const Lines expected_lines = one.reference.run();
  const std::string expected = report(expected_lines, one.reference.bad_rows);
  if (const CsvKernels* kernels = csv_kernels(one.level)) use_csv_kernels(*kernels);
  static Executor executor(2);
  for (Executor* with : {static_cast<Executor*>(nullptr), &executor}) {
    if (with != nullptr && !one.threads) continue;
    std::vector<BadRow> bad_rows;
    const Lines lines = run(one, with, bad_rows);
    const std::string got = report(lines, bad_rows);
    if (got == expected) continue;
    std::fprintf(stderr, "expected:\n%sgot%s:\n%s", expected.c_str(), with == nullptr ? "" : " with 2 threads",
                 got.c_str());
    std::abort();
  }
}

}  // namespace
}  // namespace millrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace;
  if (size < kOptions) return -1;
  Case one = make_case({reinterpret_cast<const char*>(data), size});
  if (!makes_sense(one.reference)) return -1;
  check(std::move(one));
  return 0;
}

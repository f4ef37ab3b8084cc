// decode_csv: text -> rows. Cuts records, converts the selected columns, and says exactly what is wrong, and where.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/input/catalog.h"
#include "millrace/input/csv/given_values.h"
#include "millrace/input/csv/record_error.h"
#include "millrace/input/csv/row_converter.h"
#include "millrace/input/files/append_file.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {

enum class OnBadRow { fail, skip };
template <>
struct EnumNames<OnBadRow> {
  static constexpr std::pair<std::string_view, OnBadRow> kNames[] = {{"fail", OnBadRow::fail},
                                                                     {"skip", OnBadRow::skip}};
};

namespace {

struct DecodeCsvOptions {
  Spec fields;
  Spec names;
  std::vector<std::string> missing = {""};
  bool allow_nonfinite = true;
  OnBadRow on_bad_row = OnBadRow::fail;
  std::optional<int64_t> max_bad_rows;
  std::optional<std::string> bad_rows_file;

  void declare(OptionReader& o) {
    o.required("fields", fields, "name: {columns, type: float32, default} of each field");
    o.may_be("fields", field_forms());
    o.used_as("fields", OptionUse::fields);
    o.optional(
        "names", names,
        "index: name, for columns that are selected by index; if the header has another name there, that is an error");
    o.may_be("names", {{.is = OptionForm::Is::map, .items = {{.is = OptionForm::Is::text}}}});
    o.optional("missing", missing, "texts, besides the empty one, that mean a missing value");
    o.optional("allow_nonfinite", allow_nonfinite, "whether nan and infinities are values");
    o.optional("on_bad_row", on_bad_row, "fail, or leave out the rows that are wrong");
    o.used_as("on_bad_row", OptionUse::bad_rows);
    o.in_pass("on_bad_row", OnBadRow::fail);
    o.optional("max_bad_rows", max_bad_rows, {.min = 0},
               "with on_bad_row: skip, how many bad rows the whole run may have");
    o.used_as("max_bad_rows", OptionUse::bad_rows);
    o.not_in_pass("max_bad_rows");
    o.optional("bad_rows_file", bad_rows_file, "with on_bad_row: skip, a file that gets a JSON line for each bad row");
    o.only_speed("bad_rows_file");
    o.used_as("bad_rows_file", OptionUse::written_file);
    o.not_in_pass("bad_rows_file");
    if (!o.reading() || on_bad_row == OnBadRow::skip) return;
    if (max_bad_rows) throw o.node("max_bad_rows").error("max_bad_rows needs on_bad_row: skip");
    if (bad_rows_file) throw o.node("bad_rows_file").error("bad_rows_file needs on_bad_row: skip");
  }
};

// A JSON line for every row that was left out because of its faults:
//
//   {"v":1,"file":"d/a.csv","line":4,"column":3,"field":"features","text":"abc","reason":"column 2 (features): .."}
//
// `field` and `text` are null if no single value is at fault. The file is replaced when the first row is written,
// unless it is resumed.
class BadRowsFile {
 public:
  explicit BadRowsFile(std::string path) : path_(std::move(path)) {}

  // Throws IoError if a row could not be written now.
  void check() const {
    explained([this] { AppendFile::check(path_); });
  }

  void add(const BadRow& row) {
    const bool has_value = !row.field.empty();
    const std::string line =
        cat("{\"v\":1,\"file\":", json_string(row.place.file), ",\"line\":", row.place.line,
            ",\"column\":", row.place.column, ",\"field\":", has_value ? json_string(row.field) : "null",
            ",\"text\":", has_value ? json_string(row.text) : "null", ",\"reason\":", json_string(row.reason), "}\n");
    if (!out_) open(false);
    explained([&] { out_->append(line); });
  }

  // Keeps the first `rows` lines of the file that an earlier run left, and goes on after them; if the file is gone, it
  // begins anew.
  void resume(uint64_t rows) {
    std::ifstream in(path_, std::ios::binary);
    if (rows == 0 || !in) return;
    uint64_t lines = 0, bytes = 0;
    for (std::string line; lines < rows && std::getline(in, line) && !in.eof(); ++lines) bytes += line.size() + 1;
    if (lines < rows) {
      throw DataError(cat("the file of bad rows has ", count_of(static_cast<int64_t>(lines), "line"), ", but ", rows,
                          " were written before the state was saved"),
                      {path_}, "give bad_rows_file another path, or move the file away");
    }
    std::error_code failure;
    std::filesystem::resize_file(path_, bytes, failure);
    if (failure) throw IoError(cat("cannot shorten the file of bad rows: ", errno_text(failure.value())), {path_});
    open(true);
  }

 private:
  void open(bool goes_on) {
    explained([&] { out_.emplace(path_, goes_on); });
  }

  // Adds the option's name to errors.
  template <class Body>
  static void explained(const Body& body) {
    try {
      body();
    } catch (IoError& error) {
      error.add_context("bad_rows_file");
      throw;
    }
  }

  const std::string path_;
  std::optional<AppendFile> out_;
};

class DecodeCsv final : public Transform {
 public:
  using Options = DecodeCsvOptions;
  static constexpr std::string_view kLeads = "text to rows";
  static constexpr std::string_view kDoc = "turns CSV text into rows of numbers";
  static constexpr std::string_view kExample = "fields: {features: {columns: 0-9}, label: {columns: 10, type: int32}}";

  // The type of the field, and its default: the mean, or for a label a value that no row has.
  static std::optional<Spec> suit(FoundField& field) {
    if (field.decoded) return {};
    field.decoded = true;
    switch (field.holds) {
      case FoundField::Holds::texts: return Spec::map({{"type", "string"}, {"default", ""}});
      case FoundField::Holds::codes: return Spec::map({{"type", "int32"}, {"default", -1}});
      case FoundField::Holds::amounts: break;
    }
    Spec missing = field.label ? Spec::scalar("nan", false, {}) : field.mean;
    return Spec::map({{"type", field.wide ? "float64" : "float32"}, {"default", std::move(missing)}});
  }

  explicit DecodeCsv(const Options& options)
      : requests_(read_fields(options.fields, options.allow_nonfinite)),
        names_(options.names),
        rules_{options.missing, options.allow_nonfinite},
        skip_bad_rows_(options.on_bad_row == OnBadRow::skip),
        max_bad_rows_(options.max_bad_rows ? static_cast<uint64_t>(*options.max_bad_rows) : UINT64_MAX) {
    if (options.bad_rows_file) bad_rows_file_.emplace(*options.bad_rows_file);
  }

  std::vector<PortType> inputs() const override { return {PortType::text}; }

  Port bind(const BindArgs& args) override {
    if (bad_rows_file_) bad_rows_file_->check();
    const TextFormat* format = args.inputs.front().format.get();
    const auto* dialect = dynamic_cast<const CsvDialect*>(format);
    if (dialect == nullptr) {
      throw ConfigError(
          cat(args.name, " expects CSV text, got ", format == nullptr ? "other" : format->name(), " text"));
    }
    dialect_ = *dialect;
    converter_ = std::make_shared<RowConverter>(select_fields(requests_, dialect_), rules_);
    RowSpec rows = converter_->spec();
    if (args.bad_rows_stay) error_field_ = add_field(rows, text_field(std::string(kRowError)));
    spec_ = std::make_shared<const RowSpec>(rows);
    TextColumns text = {args.inputs.front().format, *spec_, {}, converter_};
    for (const SelectedField& field : converter_->fields()) {
      names_.check(field.columns, dialect_);
      text.columns.push_back(field.columns);
    }
    text.columns.resize(rows.fields.size());
    return {.type = PortType::rows, .rows = *spec_, .text = std::make_shared<const TextColumns>(std::move(text))};
  }

  void apply(Chunk& chunk) const override {
    auto& scratch = chunk.work().get<CutterScratch>(this);
    RecordCutter cutter(dialect_, *chunk.text, chunk.lines, scratch);
    RowBlock& rows = chunk.rows;
    rows.configure(spec_, 1);
    bool more = true;
    while (more && cutter.next()) {
      const Record& record = cutter.record();
      if (rows.size() == rows.capacity()) rows.grow(2 * rows.capacity());
      const bool good = record.kind != Record::Kind::blank && record.fault() == SyntaxFault::none &&
                        record.size() == columns() && converter_->convert(record, rows, rows.size());
      if (good) {
        if (error_field_) set_text(rows, *error_field_, rows.size(), {});
        add_row(chunk, record);
      } else {
        more = refuse(chunk, record);
      }
    }
    chunk.end_record = cutter.end_offset();
    chunk.lines = cutter.lines();
  }

  std::unique_ptr<Transform> for_given_rows() const override {
    const bool needed = std::ranges::any_of(requests_, [](const FieldRequest& request) {
      return request.field.spec.text || !request.default_value.is_null();
    });
    return needed ? std::make_unique<GivenValues>(requests_, rules_) : nullptr;
  }

  std::optional<Spec> texts_of(Spec columns) const override {
    Spec missing = Spec::list({""});
    return Spec::map({{"columns", std::move(columns)}, {"type", "string"}, {"default", ""}, {"missing", missing}});
  }

  void report(const BadRow& row) override {
    if (bad_rows_file_) bad_rows_file_->add(row);
  }
  void resume_reports(uint64_t reports) override {
    if (bad_rows_file_) bad_rows_file_->resume(reports);
  }

  uint64_t note_bytes() const override { return skip_bad_rows_ ? sizeof(Note) + kNoteText : 0; }

  uint64_t work_bound() const override { return RecordCutter::work_bound(dialect_); }

 private:
  // The bytes of a reason with its quotes, and of a path. The text of a bad value is not counted here, because it is a
  // part of the chunk's text.
  static constexpr uint64_t kNoteText = 1024;

  size_t columns() const { return static_cast<size_t>(dialect_.columns); }

  static void add_row(Chunk& chunk, const Record& record) {
    const int64_t row = chunk.rows.size();
    chunk.rows.resize(row + 1);
    chunk.rows.id(row) = {.source = chunk.unit.source,
                          .pass = chunk.unit.pass,
                          .file = chunk.unit.file->index,
                          .length = static_cast<uint32_t>(record.bytes.size()),
                          .offset = record.offset,
                          .line = record.line,
                          .next_line = record.line + record.lines};
  }

  // Notes what is wrong with the record. True if decoding can go on: the record is left out, or became a bad row.
  bool refuse(Chunk& chunk, const Record& record) const {
    RecordError error = find_error(record);
    if (error_field_ && error.certain_end) {
      const int64_t row = chunk.rows.size();
      converter_->convert_bad(!error.field.empty() ? &record : nullptr, chunk.rows, row);
      set_text(chunk.rows, *error_field_, row, error.message);
      add_row(chunk, record);
      return true;
    }
    Place place = {chunk.unit.file->path, static_cast<int64_t>(error.line), error.column};
    if (!skip_bad_rows_ || !error.certain_end) {
      const DataError data_error(error.message, {}, error.hint);
      chunk.fail(std::make_exception_ptr(data_error), std::move(place));
      return false;
    }
    chunk.add({.kind = Note::Kind::bad_row,
               .row = chunk.rows.size(),
               .place = std::move(place),
               .text = std::move(error.message),
               .limit = max_bad_rows_,
               .field = std::move(error.field),
               .value = std::move(error.value)});
    return true;
  }

  RecordError find_error(const Record& record) const {
    if (record.kind == Record::Kind::blank) return blank_line_error(record);
    if (record.fault() != SyntaxFault::none) return syntax_error(record, dialect_);
    if (record.size() != columns()) return field_count_error(record, dialect_);
    return value_error(record, converter_->find_fault(record), *converter_, dialect_);
  }

  const std::vector<FieldRequest> requests_;
  const HeaderNames names_;
  const ValueRules rules_;
  const bool skip_bad_rows_;
  const uint64_t max_bad_rows_;
  std::optional<BadRowsFile> bad_rows_file_;
  CsvDialect dialect_;
  std::shared_ptr<const RowConverter> converter_;
  SharedRowSpec spec_;
  std::optional<size_t> error_field_;  // kRowError, if bad rows stay
};

}  // namespace

}  // namespace millrace

MILLRACE_REGISTER_OP(decode_csv, DecodeCsv);

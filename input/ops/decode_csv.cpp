// decode_csv: text -> rows. Cuts records, converts the selected columns, and says exactly what is wrong, and where.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/csv/given_values.h"
#include "millrace/input/csv/onnx_columns.h"
#include "millrace/input/csv/record_error.h"
#include "millrace/input/csv/row_converter.h"
#include "millrace/input/ops/shared/bad_rows.h"
#include "millrace/input/ops/shared/fields.h"

namespace millrace {

namespace {

struct DecodeCsvOptions : BadRowOptions {
  Spec fields;
  Spec names;
  std::vector<std::string> missing = {""};
  bool allow_nonfinite = true;

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
    BadRowOptions::declare(o);
  }
};

class DecodeCsv final : public DecodingTransform {
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
      case FoundField::Holds::times: {
        Spec out = Spec::map({{"type", field.times.dates ? "date" : "timestamp"}});
        if (!field.times.letters.empty()) out.set("format", field.times.letters);
        return out.set("default", field.mean);
      }
      case FoundField::Holds::amounts: break;
    }
    Spec missing = field.label ? Spec::scalar("nan", false, {}) : field.mean;
    return Spec::map({{"type", field.wide ? "float64" : "float32"}, {"default", std::move(missing)}});
  }

  explicit DecodeCsv(const Options& options)
      : DecodingTransform(options),
        requests_(read_fields(options.fields, options.allow_nonfinite)),
        names_(options.names),
        rules_{options.missing, options.allow_nonfinite} {}

  std::vector<PortType> inputs() const override { return {PortType::text}; }

  Port bind(const BindArgs& args) override {
    check_report();
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

  void to_onnx(OnnxRows& rows) const override { add_csv_columns(requests_, rules_, rows); }

  std::unique_ptr<Transform> for_named_columns(std::vector<std::string>& names) const override {
    return std::unique_ptr<Transform>(new DecodeCsv(millrace::for_named_columns(requests_, names_, names), rules_));
  }

  std::vector<std::string> column_names(std::string_view field) const override {
    return millrace::column_names(requests_, names_, field);
  }

  std::optional<Spec> texts_of(Spec columns) const override {
    Spec missing = Spec::list({""});
    return Spec::map({{"columns", std::move(columns)}, {"type", "string"}, {"default", ""}, {"missing", missing}});
  }

  uint64_t work_bound() const override { return RecordCutter::work_bound(dialect_); }

 private:
  DecodeCsv(std::vector<FieldRequest> requests, ValueRules rules)
      : DecodingTransform(BadRowOptions()), requests_(std::move(requests)), names_(Spec()), rules_(std::move(rules)) {}

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
    if (!skips_bad_rows() || !error.certain_end) {
      const DataError data_error(error.message, {}, error.hint);
      chunk.fail(std::make_exception_ptr(data_error), std::move(place));
      return false;
    }
    Note note = bad_row(chunk.rows.size(), std::move(error.message));
    note.place = std::move(place);
    note.field = std::move(error.field);
    note.value = std::move(error.value);
    chunk.add(std::move(note));
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
  CsvDialect dialect_;
  std::shared_ptr<const RowConverter> converter_;
  SharedRowSpec spec_;
  std::optional<size_t> error_field_;  // kRowError, if bad rows stay
};

}  // namespace

}  // namespace millrace

MILLRACE_REGISTER_OP(decode_csv, DecodeCsv);

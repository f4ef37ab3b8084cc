// decode_example: records of TFRecord files -> rows. Features of a tf.Example become fields.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/arrays/array_source.h"
#include "millrace/input/catalog.h"
#include "millrace/input/ops/shared/bad_rows.h"
#include "millrace/input/ops/shared/fields.h"
#include "millrace/input/tfrecord/example_decoder.h"
#include "millrace/input/tfrecord/record_frames.h"

namespace millrace {

enum class FeatureType { float32, float64, int32, int64, uint8, string };
template <>
struct EnumNames<FeatureType> {
  static constexpr std::pair<std::string_view, FeatureType> kNames[] = {
      {"float32", FeatureType::float32}, {"float64", FeatureType::float64}, {"int32", FeatureType::int32},
      {"int64", FeatureType::int64},     {"uint8", FeatureType::uint8},     {"string", FeatureType::string}};
};

namespace {

struct FeatureOptions {
  FeatureType type = FeatureType::float32;
  std::vector<int64_t> size = {1};
  std::optional<std::string> key;
  Spec default_value;
  std::optional<std::string> split;

  void declare(OptionReader& o) {
    o.optional("type", type, "of the values");
    o.optional("size", size, {.min = 1, .max = static_cast<double>(TfRecordFormat::kMost)},
               "how many values, or the shape of an image: [3, 32, 32]");
    o.optional("key", key, "the name of the feature; absent: the name of the field");
    o.optional("default", default_value, "what a missing feature becomes: one value, or one for each");
    const std::vector<OptionForm> value = {{.is = OptionForm::Is::number}, {.is = OptionForm::Is::text}};
    o.may_be("default", {value[0], value[1], {.is = OptionForm::Is::list, .items = value}});
    o.optional("split", split,
               "if rows differ in how many values they have: the byte that stands between the values in text");
    if (!o.reading()) return;
    check_size(o.node("size"));
    if (split && (split->size() != 1 || *split == "\n" || *split == "\r")) {
      throw o.node("split").error(cat("expected one byte other than a line end, got ", quote(*split)));
    }
  }

  ExampleField field(const std::string& name) const {
    // By FeatureType.
    constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8, DType::u8};
    ExampleField out = {.spec = {name, kDTypes[static_cast<size_t>(type)], Shape(std::span(size))},
                        .key = key.value_or(name)};
    out.spec.text = type == FeatureType::string;
    if (split) out.spec.split = split->front();
    out.defaults = read_default_values(
        {.spec = default_value, .field = out.spec, .columns = static_cast<size_t>(out.spec.shape.elements())});
    return out;
  }

 private:
  void check_size(const Spec& node) const {
    const size_t most = type == FeatureType::string ? 1 : Shape::kMaxRank - 1;
    if (size.empty() || size.size() > most) {
      throw node.error(
          cat("expected 1 ", most > 1 ? cat("to ", most, " numbers") : "number for texts", ", got ", size.size()));
    }
    if (split && size != std::vector<int64_t>{1}) {
      throw node.error("with split, each row has as many values as its feature", "leave split or size out");
    }
    double values = 1;
    for (const int64_t one : size) values *= static_cast<double>(one);
    if (values <= static_cast<double>(TfRecordFormat::kMost)) return;
    throw node.error(cat("a field may have ", TfRecordFormat::kMost, " values at most"));
  }
};

struct DecodeExampleOptions : BadRowOptions {
  Spec fields;

  void declare(OptionReader& o) {
    o.required("fields", fields, "name: {type, size, key, default} of each field");
    o.may_be("fields", {{.is = OptionForm::Is::map, .items = option_forms<FeatureOptions>()}});
    o.used_as("fields", OptionUse::fields);
    BadRowOptions::declare(o);
    if (o.reading()) {
      names_of_fields(fields, "for example fields: {features: {size: 4, key: x}, label: {type: int64, key: y}}");
    }
  }

  std::vector<ExampleField> read() const {
    std::vector<ExampleField> out;
    for (const auto& [name, options] : fields.entries()) {
      out.push_back(read_options<FeatureOptions>(options).field(name));
    }
    return out;
  }
};

class DecodeExample final : public DecodingTransform {
 public:
  using Options = DecodeExampleOptions;
  static constexpr std::string_view kLeads = "text to rows";
  static constexpr std::string_view kDoc = "turns the features of a tf.Example, in TFRecord files, into fields";
  static constexpr std::string_view kExample = "fields: {features: {size: 4, key: x}, label: {type: int64, key: y}}";

  explicit DecodeExample(const Options& options) : DecodingTransform(options), decoder_(options.read()) {}

  std::vector<PortType> inputs() const override { return {PortType::text}; }

  Port bind(const BindArgs& args) override {
    check_report();
    const std::shared_ptr<const TextFormat>& format = args.inputs.front().format;
    format_ = std::dynamic_pointer_cast<const TfRecordFormat>(format);
    if (!format_) {
      throw ConfigError(
          cat(args.name, " expects TFRecord text, got ", format == nullptr ? "other" : format->name(), " text"), {},
          "put tfrecord_reader before it");
    }
    RowSpec rows = decoder_.rows();
    if (args.bad_rows_stay) error_field_ = add_field(rows, text_field(std::string(kRowError)));
    spec_ = std::make_shared<const RowSpec>(rows);
    return {.type = PortType::rows, .rows = std::move(rows)};
  }

  void apply(Chunk& chunk) const override {
    auto& features = chunk.work().get<ExampleDecoder::Features>(this);
    RecordFrames records(*chunk.text, *format_);
    RowBlock& rows = chunk.rows;
    rows.configure(spec_, 1);
    try {
      for (bool more = true; more && records.next();) {
        if (rows.size() == rows.capacity()) rows.grow(2 * rows.capacity());
        const ExampleFault fault = records.is_intact()
                                       ? decoder_.decode(records.record(), features, rows, rows.size())
                                       : ExampleFault{"the checksum of the record is wrong", "is the file damaged?"};
        more = fault.text.empty() || refuse(chunk, fault);
        if (fault.text.empty() || (more && error_field_)) add_row(chunk, records, fault.text);
        ++chunk.lines;
      }
    } catch (const DataError&) {
      chunk.fail(std::current_exception(), place(chunk));
    }
    chunk.end_record = records.end_offset();
  }

  uint64_t least_record_bytes() const override {
    return error_field_ ? 0 : decoder_.least_bytes() + kFrameHead + kFrameTail;
  }

 private:
  static Place place(const Chunk& chunk) { return {chunk.unit.file->path, static_cast<int64_t>(chunk.lines)}; }

  void add_row(Chunk& chunk, const RecordFrames& records, std::string_view wrong) const {
    const int64_t row = chunk.rows.size();
    if (error_field_) set_text(chunk.rows, *error_field_, row, wrong);
    chunk.rows.resize(row + 1);
    chunk.rows.id(row) = {.source = chunk.unit.source,
                          .pass = chunk.unit.pass,
                          .file = chunk.unit.file->index,
                          .length = static_cast<uint32_t>(records.size()),
                          .offset = records.offset(),
                          .line = chunk.lines,
                          .next_line = chunk.lines + 1};
  }

  // Notes what is wrong with a record. True if decoding can go on: the record is left out, or becomes a bad row.
  bool refuse(Chunk& chunk, const ExampleFault& fault) const {
    if (error_field_) {
      clear(chunk.rows, chunk.rows.size());
      return true;
    }
    if (!skips_bad_rows()) {
      chunk.fail(std::make_exception_ptr(DataError(fault.text, {}, fault.hint)), place(chunk));
      return false;
    }
    Note note = bad_row(chunk.rows.size(), fault.text);
    note.place = place(chunk);
    chunk.add(std::move(note));
    return true;
  }

  static void clear(RowBlock& rows, int64_t row) {
    for (size_t field = 0; field < rows.spec().fields.size(); ++field) {
      const FieldSpec& spec = rows.spec().fields[field];
      if (spec.varies()) {
        rows.varying(field, row).clear();
      } else {
        std::memset(rows.at(field, row), 0, spec.row_bytes());
      }
    }
  }

  const ExampleDecoder decoder_;
  std::shared_ptr<const TfRecordFormat> format_;
  SharedRowSpec spec_;
  std::optional<size_t> error_field_;  // kRowError, if bad rows stay
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(decode_example, DecodeExample);

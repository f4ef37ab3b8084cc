// measurement_reader: rows from files of records that all have the same length, one behind the other.
//
//   - filename_queue: {files: "data/*.bin", epochs: 5}
//   - measurement_reader: {fields: {label: {type: uint8}, features: {values: 12}}}
//   - shuffle_batch: {batch_size: 64, capacity: 10000, min_after_dequeue: 5000}
//
// Numbers lie as this machine has them in memory; fields of uint8 become float32. Files are read in ranges of whole
// records by as many threads as there are, and saving, restoring and places work as with text. Predictions read whole
// records, with the field of the label.
#pragma once

#include <millrace/extend.h>

#include <cstring>
#include <string_view>
#include <vector>

enum class MeasurementType { uint8, float32 };
template <>
struct millrace::EnumNames<MeasurementType> {
  static constexpr std::pair<std::string_view, MeasurementType> kNames[] = {{"uint8", MeasurementType::uint8},
                                                                            {"float32", MeasurementType::float32}};
};

// A field of a record.
struct Measurement {
  MeasurementType type = MeasurementType::float32;
  int64_t values = 1;
  void declare(millrace::OptionReader& o) {
    o.optional("type", type, "of the numbers in the file");
    o.optional("values", values, {.min = 1, .max = 1 << 24}, "numbers of the field");
  }
  uint64_t bytes() const { return static_cast<uint64_t>(values) * (type == MeasurementType::uint8 ? 1 : 4); }
};

struct MeasurementOptions {
  millrace::Spec fields;
  int64_t header_bytes = 0;
  int64_t chunk_bytes = 262144;
  void declare(millrace::OptionReader& o) {
    using Is = millrace::OptionForm::Is;
    o.required("fields", fields, "name: {type, values} of each field, in the order of the record");
    o.may_be("fields", {{.is = Is::map, .items = millrace::option_forms<Measurement>()}});
    o.optional("header_bytes", header_bytes, {.min = 0}, "bytes to skip at the start of every file");
    o.optional("chunk_bytes", chunk_bytes, {.min = 1, .max = 1 << 30}, "bytes that one task reads");
    // This decides only how fast rows come, so `trainer speed` tries other values.
    o.only_speed("chunk_bytes");
    o.used_as("chunk_bytes", millrace::OptionUse::chunk_bytes);
  }
};

// The records of files: what lies in them, and how it becomes a row.
class MeasurementReader final : public millrace::RecordSource {
 public:
  using Options = MeasurementOptions;
  static constexpr std::string_view kDoc = "reads files of records of one length";
  static constexpr std::string_view kExample = "fields: {label: {type: uint8}, features: {values: 12}}";

  explicit MeasurementReader(const Options& options) : RecordSource(format_of(options)), fields_(fields_of(options)) {}

  void decode(const std::byte* record, millrace::RowBlock& rows, int64_t row) const override {
    for (size_t f = 0; f < fields_.size(); ++f) {
      const Measurement& field = fields_[f];
      float* values = rows.row<float>(f, row);
      if (field.type == MeasurementType::float32) {
        std::memcpy(values, record, field.bytes());
      } else {
        for (int64_t i = 0; i < field.values; ++i) values[i] = static_cast<float>(record[i]);
      }
      record += field.bytes();
    }
  }

 private:
  static std::vector<Measurement> fields_of(const Options& options) {
    std::vector<Measurement> out;
    for (const auto& [name, field] : options.fields.entries())
      out.push_back(millrace::read_options<Measurement>(field));
    return out;
  }

  static millrace::RecordFormat format_of(const Options& options) {
    millrace::RecordFormat format{.record_bytes = 0,
                                  .header_bytes = static_cast<uint64_t>(options.header_bytes),
                                  .chunk_bytes = static_cast<uint64_t>(options.chunk_bytes)};
    const std::vector<Measurement> fields = fields_of(options);
    for (size_t f = 0; f < fields.size(); ++f) {
      format.rows.fields.push_back(
          {options.fields.entries()[f].first, millrace::DType::f32, millrace::Shape{fields[f].values}});
      format.record_bytes += fields[f].bytes();
    }
    if (fields.empty()) throw options.fields.error("expected at least one field");
    return format;
  }

  const std::vector<Measurement> fields_;
};

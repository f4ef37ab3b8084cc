// record_reader: rows from files of records that all have the same length, one behind the other.
//
//   - filename_queue: {files: "data/*.bin", epochs: 5}
//   - record_reader: {fields: {label: {type: uint8, values: 1}, features: {type: uint8, values: 3072}}}   # CIFAR-10
//   - shuffle_batch: {batch_size: 64, capacity: 10000, min_after_dequeue: 5000}
//
// Numbers lie as this machine has them in memory; fields of uint8 become float32. Files are read in ranges of whole
// records by as many threads as there are, and saving, restoring, places and `trainer predict` work as with text.
#pragma once

#include <millrace/extend.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

enum class RecordType { uint8, float32 };
template <>
struct millrace::EnumNames<RecordType> {
  static constexpr std::pair<std::string_view, RecordType> kNames[] = {{"uint8", RecordType::uint8},
                                                                       {"float32", RecordType::float32}};
};

// A field of a record.
struct RecordField {
  RecordType type = RecordType::float32;
  int64_t values = 1;
  void declare(millrace::OptionReader& o) {
    o.optional("type", type, "of the numbers in the file");
    o.optional("values", values, {.min = 1, .max = 1 << 24}, "numbers of the field");
  }
  uint64_t bytes() const { return static_cast<uint64_t>(values) * (type == RecordType::uint8 ? 1 : 4); }
};

struct RecordOptions {
  millrace::Spec fields;
  int64_t header_bytes = 0;
  int64_t chunk_bytes = 262144;
  void declare(millrace::OptionReader& o) {
    using Is = millrace::OptionForm::Is;
    o.required("fields", fields, "name: {type, values} of each field, in the order of the record");
    o.may_be("fields", {{.is = Is::map, .items = millrace::option_forms<RecordField>()}});
    o.optional("header_bytes", header_bytes, {.min = 0}, "bytes to pass at the start of every file");
    o.optional("chunk_bytes", chunk_bytes, {.min = 1, .max = 1 << 30}, "bytes that one task reads");
    o.only_speed("chunk_bytes");  // how fast rows come, and nothing about what they are
  }
};

// How a record is laid out.
struct RecordLayout {
  std::vector<RecordField> fields;
  millrace::SharedRowSpec rows;
  uint64_t header = 0, bytes = 0;  // of a file, of a record

  explicit RecordLayout(const RecordOptions& options) : header(static_cast<uint64_t>(options.header_bytes)) {
    millrace::RowSpec spec;
    for (const auto& [name, field] : options.fields.entries()) {
      fields.push_back(millrace::read_options<RecordField>(field));
      bytes += fields.back().bytes();
      spec.fields.push_back({name, millrace::DType::f32, millrace::Shape{fields.back().values}});
    }
    if (bytes == 0) throw options.fields.error("expected at least one field");
    rows = std::make_shared<const millrace::RowSpec>(std::move(spec));
  }
};

// A range of a file -> rows. Runs on any thread, for several ranges at once: it is constant, and what a task keeps lies
// in chunk.work().
class DecodeRecords final : public millrace::Transform {
 public:
  explicit DecodeRecords(const RecordLayout& layout) : layout_(layout) {}

  std::vector<millrace::PortType> inputs() const override { return {millrace::PortType::names}; }
  millrace::Port bind(const millrace::BindArgs& args) override {
    files_ = args.files;
    return {.type = millrace::PortType::rows, .format = nullptr, .rows = *layout_.rows};
  }

  void apply(millrace::Chunk& chunk) const override {
    const millrace::Unit& unit = chunk.unit;
    const auto count = static_cast<int64_t>((unit.end - unit.begin) / layout_.bytes);
    chunk.rows.configure(layout_.rows, std::max<int64_t>(count, 1));
    if (count == 0) return;
    auto& text = chunk.work().get<std::vector<std::byte>>(this);
    text.resize(unit.end - unit.begin);
    if (files_->open(unit.file->path)->read(unit.begin, text.data(), text.size()) < text.size()) {
      throw millrace::DataError("the file has become shorter since it was opened", {unit.file->path});
    }
    chunk.rows.resize(count);
    for (int64_t row = 0; row < count; ++row) {
      const uint64_t at = static_cast<uint64_t>(row) * layout_.bytes;
      decode(text.data() + at, chunk.rows, row);
      chunk.rows.id(row) = id_of(unit, unit.begin + at);
    }
  }

 private:
  void decode(const std::byte* record, millrace::RowBlock& rows, int64_t row) const {
    for (size_t f = 0; f < layout_.fields.size(); ++f) {
      const RecordField& field = layout_.fields[f];
      float* values = rows.row<float>(f, row);
      if (field.type == RecordType::float32) {
        std::memcpy(values, record, field.bytes());
      } else {
        for (int64_t i = 0; i < field.values; ++i) values[i] = static_cast<float>(record[i]);
      }
      record += field.bytes();
    }
  }

  // Where the record lies, by which it is found again; its line is its number, counted from 1.
  millrace::RowId id_of(const millrace::Unit& unit, uint64_t offset) const {
    const uint64_t number = (offset - layout_.header) / layout_.bytes;
    return {.source = unit.source,
            .pass = unit.pass,
            .file = unit.file->index,
            .length = static_cast<uint32_t>(layout_.bytes),
            .offset = offset,
            .line = number + 1,
            .next_line = number + 2};
  }

  const RecordLayout& layout_;
  millrace::FileSystem* files_ = nullptr;
};

// Names of files -> ranges of whole records. Called by one thread at a time.
class RecordReader final : public millrace::RowSource {
 public:
  using Options = RecordOptions;
  static constexpr std::string_view kDoc = "reads files of records of one length";
  static constexpr std::string_view kExample = "fields: {label: {type: uint8}, features: {type: uint8, values: 784}}";

  explicit RecordReader(const Options& options)
      : layout_(options),
        unit_bytes_(std::max<uint64_t>(static_cast<uint64_t>(options.chunk_bytes) / layout_.bytes, 1) * layout_.bytes),
        decode_(layout_) {}

  std::vector<millrace::PortType> inputs() const override { return {millrace::PortType::names}; }
  millrace::Port bind(const millrace::BindArgs& args) override {
    source_ = args.source_index;
    for (const auto& file : names_->files()) check(*file);
    return decode_.bind(args);
  }
  const millrace::Transform& producer() const override { return decode_; }

  // A file without records has a unit, too: so every pass has one.
  bool next(millrace::Unit& unit) override {
    if (!inside_ && !start_file({})) return false;
    unit = file_;
    unit.begin = at_;
    unit.end = at_ = std::min(file_.end, at_ + unit_bytes_);
    inside_ = at_ < file_.end;
    return true;
  }
  void rewind(uint32_t run) override {
    names_->rewind(run);
    inside_ = false;
  }
  void seek(const millrace::Position& position) override {
    names_->seek(position);
    inside_ = start_file(position);
  }

  millrace::ChunkBound chunk_bound() const override {
    return {.text_bytes = unit_bytes_, .rows = unit_bytes_ / layout_.bytes, .records = unit_bytes_ / layout_.bytes};
  }
  millrace::Unit unit_of(const millrace::RowId& id) const override {
    millrace::Unit unit = names_->unit_of(id);
    unit.source = source_;
    unit.begin = id.offset;
    unit.end = id.offset + id.length;
    return unit;
  }
  // The rest is as the names are.
  void save(millrace::State& state) const override { names_->save(state); }
  void check(const millrace::State& state) const override { names_->check(state); }
  millrace::Place place(const millrace::RowId& id) const override { return names_->place(id); }
  bool endless() const override { return names_->endless(); }
  uint32_t passes() const override { return names_->passes(); }

 private:
  void check(const millrace::FileEntry& file) const {
    if (file.stream) throw millrace::ConfigError(millrace::cat("record_reader cannot read ", file.path, ", a pipe"));
    if (file.size >= layout_.header && (file.size - layout_.header) % layout_.bytes == 0) return;
    throw millrace::DataError(millrace::cat("expected ", layout_.header, " bytes and records of ", layout_.bytes,
                                            ", got a file of ", file.size, " bytes"),
                              {file.path});
  }

  // Goes on with the next of the names, from `position` on; false behind the last.
  bool start_file(const millrace::Position& position) {
    if (!names_->next(file_)) return false;
    file_.source = source_;
    at_ = std::max(position.offset, layout_.header);
    return true;
  }

  const RecordLayout layout_;
  const uint64_t unit_bytes_;
  DecodeRecords decode_;
  uint32_t source_ = 0;
  millrace::Unit file_;  // the whole of the file that is read now
  uint64_t at_ = 0;      // where its next range begins
  bool inside_ = false;  // whether there is one
};

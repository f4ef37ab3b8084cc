// record_reader: rows from binary files whose records all have the same length, such as CIFAR-10's.
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/arrays/array_source.h"
#include "millrace/input/arrays/number_format.h"
#include "millrace/input/catalog.h"
#include "millrace/input/source.h"

namespace millrace {

namespace {

struct RecordFieldOptions {
  NumberType type = NumberType::float32;
  std::optional<int64_t> offset;
  std::vector<int64_t> size = {1};

  void declare(OptionReader& o) {
    o.required("type", type, "of the numbers in the file; the field has the next larger type that is made");
    o.optional("offset", offset, {.min = 0}, "its first byte in the record; absent: where the field before ends");
    o.optional("size", size, {.min = 1}, "how many numbers, or the shape of an image: [3, 32, 32]");
    if (!o.reading() || (!size.empty() && size.size() < Shape::kMaxRank)) return;
    throw o.node("size").error(cat("expected 1 to ", Shape::kMaxRank - 1, " numbers, got ", size.size()));
  }
};

// Where the numbers of a field lie in a record.
struct RecordPart {
  NumberFormat numbers;
  uint64_t offset = 0;
  Shape shape;

  uint64_t end() const { return offset + static_cast<uint64_t>(shape.elements()) * numbers.bytes(); }
};

struct RecordReaderOptions {
  int64_t bytes = 0;
  int64_t header = 0;
  ByteOrder endian = ByteOrder::little;
  Spec fields;
  int64_t chunk_bytes = 262144;
  std::vector<RecordPart> parts;  // of the fields

  void declare(OptionReader& o) {
    o.required("bytes", bytes, {.min = 1, .max = UINT32_MAX}, "of a record");
    o.optional("header", header, {.min = 0}, "bytes to skip at the start of every file");
    o.optional("endian", endian, "which byte of a number comes first: little, the last one, or big");
    o.required("fields", fields, "name: {type, offset, size} of each field");
    o.may_be("fields", {{.is = OptionForm::Is::map, .items = option_forms<RecordFieldOptions>()}});
    declare_chunk_bytes(o, chunk_bytes);
    if (!o.reading()) return;
    names_of_fields(fields, "for example fields: {label: {type: uint8}, image: {type: uint8, size: [3, 32, 32]}}");
    for (const auto& [name, field] : fields.entries()) add(field);
  }

  RecordFormat format() const {
    RecordFormat out{.record_bytes = static_cast<uint64_t>(bytes),
                     .header_bytes = static_cast<uint64_t>(header),
                     .chunk_bytes = static_cast<uint64_t>(chunk_bytes)};
    for (size_t i = 0; i < parts.size(); ++i) {
      out.rows.fields.push_back(
          {.name = fields.entries()[i].first, .dtype = parts[i].numbers.dtype(), .shape = parts[i].shape});
    }
    return out;
  }

 private:
  void add(const Spec& field) {
    const auto read = read_options<RecordFieldOptions>(field);
    const uint64_t before = parts.empty() ? 0 : parts.back().end();
    const RecordPart part = {.numbers = {.type = read.type, .big_endian = endian == ByteOrder::big},
                             .offset = read.offset ? static_cast<uint64_t>(*read.offset) : before,
                             .shape = Shape(std::span(read.size))};
    if (const auto most = static_cast<uint64_t>(bytes); part.offset > most || part.end() > most) {
      throw field.error(cat("the field ends at byte ", part.end(), ", but a record has ", most));
    }
    parts.push_back(part);
  }
};

class RecordReader final : public RecordSource {
 public:
  using Options = RecordReaderOptions;
  static constexpr std::string_view kDoc = "reads binary files of records that all have the same length";
  static constexpr std::string_view kExample =
      "bytes: 785, fields: {label: {type: uint8}, image: {type: uint8, size: 784}}";

  explicit RecordReader(const Options& options) : RecordSource(options.format()), parts_(options.parts) {}

  void decode(const std::byte* record, RowBlock& rows, int64_t row) const override {
    for (size_t field = 0; field < parts_.size(); ++field) {
      const RecordPart& part = parts_[field];
      part.numbers.read(record + part.offset, static_cast<size_t>(part.shape.elements()), rows.at(field, row));
    }
  }

 private:
  const std::vector<RecordPart> parts_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_OP(record_reader, RecordReader);

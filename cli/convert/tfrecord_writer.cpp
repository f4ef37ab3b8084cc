// tfrecord: a tf.Example for each row, with a feature for each field, as TensorFlow and decode_example read it.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/cli/convert/row_writer.h"
#include "millrace/cli/process/output.h"
#include "millrace/core/crc32.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::cli {

namespace {

// What tfrecord_reader reads, by default and at most.
constexpr uint64_t kUsualRecord = uint64_t{16} << 20, kLargestRecord = uint64_t{1} << 30;

// The lists of a feature, by the numbers of their fields.
enum class ListKind : uint8_t { bytes = 1, floats = 2, integers = 3 };

// Doubles have no list, so they are bytes; and so are pixels, which take two bytes each as integers.
bool is_raw(const FieldSpec& field) {
  return !field.text &&
         (field.dtype == DType::f64 || (field.dtype == DType::u8 && !field.ragged() && field.shape.elements() > 1));
}

ListKind list_kind(const FieldSpec& field) {
  if (field.text || is_raw(field)) return ListKind::bytes;
  return field.dtype == DType::f32 ? ListKind::floats : ListKind::integers;
}

// The most bytes that the fields take which have a fixed number of values, with their names.
uint64_t most_bytes(const RowSpec& rows) {
  constexpr uint64_t kLongestInteger = 10, kAround = 64;
  uint64_t bytes = 0;
  for (const FieldSpec& field : rows.fields) {
    const uint64_t of_value = list_kind(field) == ListKind::integers ? kLongestInteger : size_of(field.dtype);
    bytes += field.name.size() + kAround;
    if (!field.varies()) bytes += static_cast<uint64_t>(field.shape.elements()) * of_value;
  }
  return bytes;
}

void append_varint(std::string& to, uint64_t number) {
  for (; number > 127; number >>= 7) to += static_cast<char>(number | 128);
  to += static_cast<char>(number);
}

void append_field(std::string& to, uint8_t number, std::string_view bytes) {
  constexpr uint8_t kBytes = 2;
  to += static_cast<char>(number << 3 | kBytes);
  append_varint(to, bytes.size());
  to += bytes;
}

template <class T>
std::string_view bytes_of(const T& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

Spec feature_options(const FieldSpec& field) {
  Spec out = Spec::map();
  if (field.text || field.dtype != DType::f32) out.set("type", field.type_name());
  if (field.ragged()) {
    out.set("split", *field.split);
  } else if (field.shape.rank() != 1) {
    Spec sizes = Spec::list();
    for (int axis = 0; axis < field.shape.rank(); ++axis) sizes.append(Spec::of(field.shape[axis]));
    out.set("size", std::move(sizes));
  } else if (field.shape != Shape{1}) {
    out.set("size", field.shape[0]);
  }
  return out;
}

class TfRecordWriter final : public RowWriter {
 public:
  explicit TfRecordWriter(const RowWriterArgs& args)
      : rows_(args.rows), most_(std::max(kUsualRecord, most_bytes(args.rows))) {
    for (const FieldSpec& field : rows_.fields) {
      if (field.shape.elements() == 0) {
        throw ConfigError(cat(field.name, " has no values, as a feature that is missing"));
      }
      if (find_invalid_utf8(field.name) != std::string::npos) {
        throw ConfigError(cat("the name ", quote(field.name), " is not UTF-8, which TensorFlow needs"));
      }
    }
    if (most_ <= kLargestRecord) return;
    throw ConfigError(cat("a row takes ", most_, " bytes, more than tfrecord_reader reads"));
  }

  Spec readers() const override {
    Spec fields = Spec::map();
    for (const FieldSpec& field : rows_.fields) fields.set(field.name, feature_options(field));
    Spec reader = Spec::scalar("tfrecord_reader", false, {});
    if (most_ > kUsualRecord) reader = Spec::map({{"tfrecord_reader", {{"max_record_bytes", most_}}}});
    return Spec::list({std::move(reader), Spec::map({{"decode_example", {{"fields", std::move(fields)}}}})});
  }

  void begin(const std::string& path) override { file_.emplace(Output::whole_file(path)); }

  void write(const RowSpan& rows, FunctionRef<Place(int64_t)> place) override {
    for (int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
      const std::string& example = example_of(*rows.block, row);
      if (example.size() > most_) {
        throw DataError(cat("the row takes ", example.size(), " bytes, at most ", most_, " are allowed"), place(row),
                        "leave out such rows, or the field");
      }
      const uint64_t length = example.size();
      write_number(length);
      write_number(masked_crc32c(bytes_of(length)));
      file_->write(example);
      write_number(masked_crc32c(example));
    }
  }

  void finish() override {
    file_->close();
    file_.reset();
  }

 private:
  template <class T>
  void write_number(T number) {
    file_->write(bytes_of(number));
  }
  const std::string& example_of(const RowBlock& rows, int64_t row) {
    features_.clear();
    for (size_t i = 0; i < rows_.fields.size(); ++i) {
      const FieldSpec& field = rows_.fields[i];
      list_.clear();
      append_list(rows, i, row);
      feature_.clear();
      append_field(feature_, static_cast<uint8_t>(list_kind(field)), list_);
      entry_.clear();
      append_field(entry_, 1, field.name);
      append_field(entry_, 2, feature_);
      append_field(features_, 1, entry_);
    }
    example_.clear();
    append_field(example_, 1, features_);
    return example_;
  }

  // Appends the values of a field to list_.
  void append_list(const RowBlock& rows, size_t index, int64_t row) {
    const FieldSpec& field = rows_.fields[index];
    if (field.text) {
      const Varying& texts = rows.varying(index, row);
      for (size_t i = 0; i < texts.texts(); ++i) append_field(list_, 1, texts.text(i));
      return;
    }
    switch (field.dtype) {
      case DType::f32: return append_stored(rows.numbers<float>(index, row));
      case DType::f64: return append_stored(rows.numbers<double>(index, row));
      case DType::i32: return append_integers(rows.numbers<int32_t>(index, row));
      case DType::i64: return append_integers(rows.numbers<int64_t>(index, row));
      case DType::u8:
        if (is_raw(field)) return append_stored(rows.numbers<uint8_t>(index, row));
        return append_integers(rows.numbers<uint8_t>(index, row));
    }
  }
  template <class T>
  void append_stored(std::span<const T> numbers) {
    append_field(list_, 1, {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
  }
  template <class T>
  void append_integers(std::span<const T> numbers) {
    integers_.clear();
    for (const T number : numbers) append_varint(integers_, static_cast<uint64_t>(static_cast<int64_t>(number)));
    append_field(list_, 1, integers_);
  }

  const RowSpec rows_;
  const uint64_t most_;  // bytes of a record
  std::optional<Output> file_;
  // Memory that each row uses again.
  std::string integers_, list_, feature_, entry_, features_, example_;
};

}  // namespace

std::unique_ptr<RowWriter> make_tfrecord_writer(const RowWriterArgs& args) {
  return std::make_unique<TfRecordWriter>(args);
}

}  // namespace millrace::cli

// npz: a zip archive with an array of NumPy for each field, as np.load and npz_reader read it.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/cli/convert/row_writer.h"
#include "millrace/cli/convert/zip_file.h"
#include "millrace/core/crc32.h"
#include "millrace/core/text.h"
#include "millrace/input/files/atomic_file.h"

namespace millrace::cli {

namespace {

constexpr std::string_view kNpyEnding = ".npy";

std::string_view npy_type(DType type) {
  switch (type) {
    case DType::f32: return "<f4";
    case DType::f64: return "<f8";
    case DType::i32: return "<i4";
    case DType::i64: return "<i8";
    case DType::u8: return "|u1";
  }
  return {};
}

// The header of an array in version 1.0 of the format. Fields of one value are an array of one dimension.
std::string npy_header(const FieldSpec& field, uint64_t rows) {
  const int axes = field.shape == Shape{1} ? 0 : field.shape.rank();
  std::string sizes = cat(rows, ',');
  for (int axis = 0; axis < axes; ++axis) sizes += cat(axis > 0 ? ", " : " ", field.shape[axis]);
  std::string facts = cat("{'descr': '", npy_type(field.dtype), "', 'fortran_order': False, 'shape': (", sizes, "), }");
  std::string out("\x93NUMPY\x01\x00", 8);
  constexpr size_t kLengthBytes = 2, kAlignment = 64;
  while ((out.size() + kLengthBytes + facts.size() + 1) % kAlignment != 0) facts += ' ';
  facts += '\n';
  out += static_cast<char>(facts.size() & 0xff);
  out += static_cast<char>(facts.size() >> 8);
  return out + facts;
}

// Takes rows, and gives back one field at a time: its values of all rows, one after another. They wait in a file
// without a name, so that memory does not grow with them. There they lie in groups of rows, in each group field after
// field.
class FieldRows {
 public:
  // The file lies in the folder of `path`, which its errors name.
  FieldRows(const RowSpec& spec, std::string path) : path_(std::move(path)) {
    constexpr size_t kGroupBytes = size_t{4} << 20;
    size_t row_bytes = 0;
    for (const FieldSpec& field : spec.fields) {
      fields_.push_back({.bytes = field.tensor().bytes()});
      row_bytes += fields_.back().bytes;
    }
    group_rows_ = std::max<size_t>(kGroupBytes / std::max<size_t>(row_bytes, 1), 1);
    size_t begin = 0;
    for (Field& field : fields_) field.begin = std::exchange(begin, begin + group_rows_ * field.bytes);
    group_.resize(begin);
  }

  void add(const RowSpan& span) {
    for (int64_t row = span.begin; row < span.begin + span.count; ++row) {
      for (size_t i = 0; i < fields_.size(); ++i) {
        const Field& field = fields_[i];
        std::memcpy(group_.data() + field.begin + held_ * field.bytes, span.block->at(i, row), field.bytes);
      }
      if (++held_ == group_rows_) write_group();
    }
  }

  uint64_t rows() const { return groups_ * group_rows_ + held_; }
  uint64_t bytes(size_t field) const { return rows() * fields_[field].bytes; }
  uint32_t crc(size_t field) const { return crc32_of(held(fields_[field]), fields_[field].crc); }

  void copy(size_t index, ZipFile& to) const {
    const Field& field = fields_[index];
    std::vector<char> piece(groups_ > 0 ? group_rows_ * field.bytes : 0);
    for (uint64_t group = 0; group < groups_; ++group) {
      file_->read(group * group_.size() + field.begin, piece);
      to.write({piece.data(), piece.size()});
    }
    to.write(held(field));
  }

 private:
  struct Field {
    size_t bytes = 0;  // of a row
    size_t begin = 0;  // in a group
    uint32_t crc = 0;  // of the whole groups
  };

  // The values in the group that is being filled.
  std::string_view held(const Field& field) const { return {group_.data() + field.begin, held_ * field.bytes}; }
  void write_group() {
    for (Field& field : fields_) field.crc = crc32_of(held(field), field.crc);
    if (!file_) file_.emplace(path_);  // is never committed
    file_->write({group_.data(), group_.size()});
    ++groups_;
    held_ = 0;
  }

  const std::string path_;
  std::vector<Field> fields_;
  size_t group_rows_ = 0, held_ = 0;
  uint64_t groups_ = 0;      // whole ones, which are in the file
  std::vector<char> group_;  // the one that is being filled
  std::optional<AtomicFile> file_;
};

class NpzWriter final : public RowWriter {
 public:
  explicit NpzWriter(const RowWriterArgs& args) : rows_(args.rows) {
    for (const FieldSpec& field : rows_.fields) {
      if (field.varies()) {
        throw ConfigError(
            cat("an array cannot hold ", field.name, ", which is ", field.type_text()), {},
            field.ragged()
                ? "give all rows the same length with pad, or write csv"
                : "make numbers of the texts with vocabulary, or of pictures with decode_image, or write csv");
      }
      if (field.name.size() + kNpyEnding.size() > ZipFile::kLongestName) {
        throw ConfigError(cat("an archive cannot hold the name ", quote(field.name)));
      }
    }
  }

  Spec readers() const override {
    Spec fields = Spec::map();
    for (const FieldSpec& field : rows_.fields) fields.set(field.name, field.name);
    return Spec::list().append(Spec::map().set("npz_reader", Spec::map().set("fields", fields)));
  }

  void begin(const std::string& path) override {
    file_.emplace(path);
    values_.emplace(rows_, path);
  }

  void write(const RowSpan& rows, FunctionRef<Place(int64_t)>) override { values_->add(rows); }

  void finish() override {
    for (size_t i = 0; i < rows_.fields.size(); ++i) {
      const std::string header = npy_header(rows_.fields[i], values_->rows());
      const uint64_t bytes = values_->bytes(i);
      file_->begin({.name = cat(rows_.fields[i].name, kNpyEnding),
                    .size = header.size() + bytes,
                    .crc = crc32_joined(crc32_of(header), values_->crc(i), bytes)});
      file_->write(header);
      values_->copy(i, *file_);
    }
    file_->commit();
    values_.reset();
    file_.reset();
  }

 private:
  const RowSpec rows_;
  std::optional<ZipFile> file_;
  std::optional<FieldRows> values_;
};

}  // namespace

std::unique_ptr<RowWriter> make_npz_writer(const RowWriterArgs& args) { return std::make_unique<NpzWriter>(args); }

}  // namespace millrace::cli

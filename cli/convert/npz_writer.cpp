// npz: a zip archive with an array of NumPy for each field, as np.load and npz_reader read it.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/cli/convert/field_rows.h"
#include "millrace/cli/convert/row_writer.h"
#include "millrace/cli/convert/zip_file.h"
#include "millrace/core/crc32.h"
#include "millrace/core/text.h"

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

class NpzWriter final : public RowWriter {
 public:
  explicit NpzWriter(const RowWriterArgs& args) : rows_(args.rows) {
    for (const FieldSpec& field : rows_.fields) {
      if (field.varies()) {
        throw ConfigError(cat("an array cannot hold ", field.name, ", which is ", field.type_text()), {},
                          field.ragged() ? "give all rows the same length with pad, or write csv"
                                         : "make numbers of the texts with vocabulary, or write csv");
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

  bool finish(const std::stop_token& stop) override {
    const bool whole = write_arrays(stop);
    if (whole) file_->commit();
    values_.reset();
    file_.reset();
    return whole;
  }

 private:
  // False if it was stopped.
  bool write_arrays(const std::stop_token& stop) {
    const auto write_piece = [&](std::string_view bytes) {
      file_->write(bytes);
      return !stop.stop_requested();
    };
    for (size_t i = 0; i < rows_.fields.size(); ++i) {
      const std::string header = npy_header(rows_.fields[i], values_->rows());
      const uint64_t bytes = values_->bytes(i);
      file_->begin({.name = cat(rows_.fields[i].name, kNpyEnding),
                    .size = header.size() + bytes,
                    .crc = crc32_joined(crc32_of(header), values_->crc(i), bytes)});
      file_->write(header);
      if (!values_->read(i, write_piece)) return false;
    }
    return true;
  }

  const RowSpec rows_;
  std::optional<ZipFile> file_;
  std::optional<FieldRows> values_;
};

}  // namespace

std::unique_ptr<RowWriter> make_npz_writer(const RowWriterArgs& args) { return std::make_unique<NpzWriter>(args); }

}  // namespace millrace::cli

#include "millrace/input/lmdb/lmdb_value.h"

#include <algorithm>
#include <span>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/arrays/array_layout.h"

namespace millrace {

namespace {

class ValueFile final : public File {
 public:
  explicit ValueFile(std::string_view bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  size_t read(uint64_t offset, void* to, size_t bytes) const override {
    return bytes_.copy(static_cast<char*>(to), bytes, static_cast<size_t>(std::min<uint64_t>(offset, bytes_.size())));
  }

 private:
  std::string_view bytes_;
};

ArrayLayout layout_of_value(std::string_view bytes) {
  if (!bytes.starts_with("\x93NUMPY")) {
    throw DataError("the value is no array of NumPy", {},
                    "a picture or a text has type: string; numbers have their own");
  }
  const ValueFile file(bytes);
  return read_npy_row({file, 0, bytes.size()});
}

}  // namespace

LmdbValue::LmdbValue(const Settings& settings)
    : type_(settings.type),
      whole_(!settings.offset),
      offset_(static_cast<uint64_t>(settings.offset.value_or(0))),
      field_{.name = settings.field, .shape = Shape{1}} {
  if (type_ == LmdbType::string) {
    field_.text = true;
    field_.dtype = DType::u8;
  } else if (type_ != LmdbType::npy) {
    numbers_ = {.type = static_cast<NumberType>(type_), .big_endian = settings.big_endian};
    field_.dtype = numbers_.dtype();
    field_.shape = Shape(settings.size);
  }
}

void LmdbValue::look_at(std::string_view value) {
  if (type_ != LmdbType::npy) return;
  const std::string_view array = value.substr(std::min<uint64_t>(offset_, value.size()));
  const ArrayLayout layout = layout_of_value(array);
  numbers_ = layout.numbers;
  field_.dtype = numbers_.dtype();
  field_.shape = layout.row;
  header_ = array.substr(0, layout.begin);
  array_bytes_ = array.size();
}

void LmdbValue::check_length(uint64_t bytes) const {
  const bool numbers = !field_.text && type_ != LmdbType::npy;
  const uint64_t end = offset_ + (numbers ? static_cast<uint64_t>(field_.shape.elements()) * numbers_.bytes() : 0);
  if (bytes == end || (bytes > end && !(numbers && whole_))) return;
  throw DataError(cat("the value of ", field_.name, " has ", bytes, bytes == 1 ? " byte" : " bytes", ", expected ",
                      whole_ ? "" : "at least ", end));
}

void LmdbValue::read(std::string_view value, RowBlock& rows, size_t index, int64_t row) const {
  check_length(value.size());
  const std::string_view bytes = value.substr(offset_);
  if (field_.text) return rows.set_text(index, row, bytes);
  NumberFormat numbers = numbers_;
  size_t begin = 0;
  if (type_ == LmdbType::npy) {
    begin = header_.size();
    if (bytes.size() != array_bytes_ || !bytes.starts_with(header_)) {
      const ArrayLayout layout = layout_of_value(bytes);
      numbers = layout.numbers;
      begin = static_cast<size_t>(layout.begin);
      FieldSpec found = field_;
      found.dtype = numbers.dtype();
      found.shape = layout.row;
      if (found != field_) {
        throw DataError(cat("the array of ", field_.name, " is ", found.type_text(), ", expected ", field_.type_text(),
                            " as in the first row"));
      }
    }
  }
  numbers.read(reinterpret_cast<const std::byte*>(bytes.data()) + begin, static_cast<size_t>(field_.shape.elements()),
               rows.at(index, row));
}

}  // namespace millrace

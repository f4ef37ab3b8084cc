// Files of arrays as other programs write them, made by plain rules: .npy, .npz, IDX.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/arrays/array_layout.h"
#include "millrace/input/files/file_system.h"

namespace millrace::testing_support {

class BytesFile final : public File {
 public:
  explicit BytesFile(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  size_t read(uint64_t offset, void* to, size_t bytes) const override {
    return offset >= bytes_.size() ? 0 : bytes_.copy(static_cast<char*>(to), bytes, static_cast<size_t>(offset));
  }
  FileRange range() const { return {*this, 0, bytes_.size()}; }

 private:
  std::string bytes_;
};

// The lowest byte comes first; `big`: last.
inline std::string number_bytes(uint64_t value, size_t bytes, bool big = false) {
  std::string out;
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i & 255);
  if (big) std::reverse(out.begin(), out.end());
  return out;
}

// Seven bits in a byte, the lowest first; all bytes but the last have the highest bit.
inline std::string varint(uint64_t number) {
  std::string out;
  for (; number > 127; number >>= 7) out += static_cast<char>(number % 128 + 128);
  return out + static_cast<char>(number);
}

template <class T>
std::string bytes_of_numbers(const std::vector<T>& numbers, bool big = false) {
  std::string out;
  for (const T number : numbers) {
    std::string one(sizeof number, '\0');
    std::memcpy(one.data(), &number, sizeof number);
    if (big) std::reverse(one.begin(), one.end());
    out += one;
  }
  return out;
}

inline std::string npy_file(const std::string& header, const std::string& data, int major = 1) {
  const size_t length_bytes = major == 1 ? 2 : 4;
  std::string text = header;
  while ((8 + length_bytes + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  return cat("\x93NUMPY", static_cast<char>(major), '\0', number_bytes(text.size(), length_bytes), text, data);
}

// `shape` as Python writes it: "(3, 2)".
inline std::string npy_array(const std::string& descr, const std::string& shape, const std::string& data,
                             bool by_columns = false) {
  return npy_file(
      cat("{'descr': '", descr, "', 'fortran_order': ", by_columns ? "True" : "False", ", 'shape': ", shape, ", }"),
      data);
}

inline std::string idx_array(int code, const std::vector<uint64_t>& sizes, const std::string& data) {
  std::string out = {'\0', '\0', static_cast<char>(code), static_cast<char>(sizes.size())};
  for (const uint64_t size : sizes) out += number_bytes(size, 4, true);
  return out + data;
}

struct ZipPart {
  std::string name, bytes;
  uint64_t method = 0;
  bool zip64 = false;
  uint64_t flags = 0;
  std::optional<size_t> size = {};  // decompressed
  uint32_t crc = 0;
};

inline std::string zip_file(const std::vector<ZipPart>& parts, bool zip64_end = false,
                            const std::string& comment = {}) {
  std::string out, directory;
  for (const ZipPart& part : parts) {
    const uint64_t at = out.size();
    const size_t whole = part.size.value_or(part.bytes.size());
    const std::string sizes = number_bytes(whole, 8) + number_bytes(part.bytes.size(), 8);
    const auto common = [&](const std::string& extra) {
      return cat(number_bytes(part.flags, 2), number_bytes(part.method, 2), std::string(4, '\0'),
                 number_bytes(part.crc, 4), number_bytes(part.zip64 ? 0xffffffff : part.bytes.size(), 4),
                 number_bytes(part.zip64 ? 0xffffffff : whole, 4), number_bytes(part.name.size(), 2),
                 number_bytes(extra.size(), 2));
    };
    const std::string extra = part.zip64 ? cat(number_bytes(1, 2), number_bytes(16, 2), sizes) : std::string();
    out += cat("PK\3\4", number_bytes(45, 2), common(extra), part.name, extra, part.bytes);
    // Another field comes first, and the place is in the extra field, too.
    const std::string listed = part.zip64 ? cat(number_bytes(0x5455, 2), number_bytes(3, 2), "abc", number_bytes(1, 2),
                                                number_bytes(24, 2), sizes, number_bytes(at, 8))
                                          : std::string();
    directory += cat("PK\1\2", number_bytes(45, 2), number_bytes(45, 2), common(listed), number_bytes(0, 2),
                     std::string(8, '\0'), number_bytes(part.zip64 ? 0xffffffff : at, 4), part.name, listed);
  }
  const uint64_t begin = out.size();
  out += directory;
  if (zip64_end) {
    const uint64_t at = out.size();
    out += cat("PK\6\6", number_bytes(44, 8), std::string(12, '\0'), number_bytes(parts.size(), 8),
               number_bytes(parts.size(), 8), number_bytes(directory.size(), 8), number_bytes(begin, 8));
    out += cat("PK\6\7", number_bytes(0, 4), number_bytes(at, 8), number_bytes(1, 4));
  }
  const uint64_t count = zip64_end ? 0xffff : parts.size();
  return cat(out, "PK\5\6", std::string(4, '\0'), number_bytes(count, 2), number_bytes(count, 2),
             number_bytes(zip64_end ? 0xffffffff : directory.size(), 4),
             number_bytes(zip64_end ? 0xffffffff : begin, 4), number_bytes(comment.size(), 2), comment);
}

}  // namespace millrace::testing_support

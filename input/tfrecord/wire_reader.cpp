#include "millrace/input/tfrecord/wire_reader.h"

#include <algorithm>
#include <cstddef>

namespace millrace {

bool take_varint(std::string_view& bytes, uint64_t& number) {
  constexpr size_t kMostBytes = 10;
  number = 0;
  for (size_t i = 0; i < std::min(bytes.size(), kMostBytes); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    number |= uint64_t{byte & 127u} << (7 * i);
    if (byte > 127) continue;
    bytes.remove_prefix(i + 1);
    return true;
  }
  return false;
}

bool WireReader::next() {
  if (left_.empty() || failed_) return false;
  failed_ = !take();
  return !failed_;
}

bool WireReader::take() {
  uint64_t tag = 0, size = 0;
  if (!take_varint(left_, tag) || tag > UINT32_MAX || tag < 8) return false;
  number_ = static_cast<uint32_t>(tag >> 3);
  type_ = static_cast<WireType>(tag & 7);
  const std::string_view value = left_;
  switch (type_) {
    case WireType::varint:
      if (!take_varint(left_, tag)) return false;
      bytes_ = value.substr(0, value.size() - left_.size());
      return true;
    case WireType::bytes:
      if (!take_varint(left_, size)) return false;
      break;
    case WireType::fixed64: size = 8; break;
    case WireType::fixed32: size = 4; break;
    default: return false;
  }
  if (size > left_.size()) return false;
  bytes_ = left_.substr(0, static_cast<size_t>(size));
  left_.remove_prefix(bytes_.size());
  return true;
}

}  // namespace millrace

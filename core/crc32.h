// CRC-32: the checksum of zip archives, gzip and PNG (polynomial 0x04c11db7, its bits reflected). Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

// The checksum of `bytes`. With `before`, the checksum of other bytes, it is the checksum of those and `bytes`
// together.
uint32_t crc32_of(std::string_view bytes, uint32_t before = 0);

// The checksum of bytes with the checksum `first` and, after them, `size` bytes with the checksum `second`.
uint32_t crc32_joined(uint32_t first, uint32_t second, uint64_t size);

}  // namespace millrace

// CRC-32: the checksum of zip archives, gzip and PNG (polynomial 0x04c11db7, its bits reflected); and CRC-32C, of
// TFRecord files (0x1edc6f41). Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

// The checksum of `bytes`. With `before`, the checksum of other bytes, it is the checksum of those and `bytes`
// together.
uint32_t crc32_of(std::string_view bytes, uint32_t before = 0);

// The checksum of bytes with the checksum `first` and, after them, `size` bytes with the checksum `second`.
uint32_t crc32_joined(uint32_t first, uint32_t second, uint64_t size);

// CRC-32C, by the processor's instruction if it has one; the second is for tests.
uint32_t crc32c_of(std::string_view bytes);
uint32_t crc32c_by_tables(std::string_view bytes);
// As TFRecord files store it, so that the checksum of bytes that hold their own checksum is of use.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace millrace

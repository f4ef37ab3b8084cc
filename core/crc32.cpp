#include "millrace/core/crc32.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace millrace {

namespace {

constexpr uint32_t kCrcPolynomial = 0xedb88320;

// For eight bytes at a time: table i says what a byte does to the checksum if i more bytes follow it.
constexpr auto kCrcTables = [] {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCrcPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t i = 1; i < tables.size(); ++i) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[i - 1][byte];
      tables[i][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}();

// The product of two polynomials, modulo the polynomial of the checksum. The highest bit is the factor of x^0.
uint32_t crc_product(uint32_t a, uint32_t b) {
  uint32_t out = 0;
  for (; a != 0; a <<= 1) {
    if ((a & 0x80000000) != 0) out ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kCrcPolynomial : 0);
  }
  return out;
}

}  // namespace

uint32_t crc32_of(std::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    word ^= crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i) crc ^= kCrcTables[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (const char byte : bytes) crc = (crc >> 8) ^ kCrcTables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

// `first` is multiplied by x^(8 size), as if that many zeros came after its bytes.
uint32_t crc32_joined(uint32_t first, uint32_t second, uint64_t size) {
  uint32_t power = 0x00800000;  // x^8
  for (; size > 0; size >>= 1) {
    if ((size & 1) != 0) first = crc_product(power, first);
    power = crc_product(power, power);
  }
  return first ^ second;
}

}  // namespace millrace

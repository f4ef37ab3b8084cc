#include "millrace/core/crc32.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace millrace {

namespace {

constexpr uint32_t kCrcPolynomial = 0xedb88320, kCrc32cPolynomial = 0x82f63b78;

// For eight bytes at a time: table i says what a byte does to the checksum if i more bytes follow it.
using CrcTables = std::array<std::array<uint32_t, 256>, 8>;
constexpr CrcTables crc_tables(uint32_t polynomial) {
  CrcTables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t i = 1; i < tables.size(); ++i) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[i - 1][byte];
      tables[i][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}
constexpr CrcTables kCrcTables = crc_tables(kCrcPolynomial), kCrc32cTables = crc_tables(kCrc32cPolynomial);

uint32_t crc_after(uint32_t before, std::string_view bytes, const CrcTables& tables) {
  uint32_t crc = ~before;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    word ^= crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i) crc ^= tables[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (const char byte : bytes) crc = (crc >> 8) ^ tables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t crc32c_by_instruction(std::string_view bytes) {
  uint64_t crc = 0xffffffff;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    crc = __builtin_ia32_crc32di(crc, word);
  }
  auto rest = static_cast<uint32_t>(crc);
  for (const char byte : bytes) rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(byte));
  return ~rest;
}
#endif

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

uint32_t crc32_of(std::string_view bytes, uint32_t before) { return crc_after(before, bytes, kCrcTables); }

uint32_t crc32c_by_tables(std::string_view bytes) { return crc_after(0, bytes, kCrc32cTables); }

uint32_t crc32c_of(std::string_view bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc32c_by_instruction(bytes);
#endif
  return crc32c_by_tables(bytes);
}

uint32_t masked_crc32c(std::string_view bytes) { return std::rotr(crc32c_of(bytes), 15) + 0xa282ead8; }

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

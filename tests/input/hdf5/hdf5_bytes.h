// HDF5 files in the oldest form, made by plain rules: a root group of contiguous datasets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "tests/input/arrays/array_bytes.h"

namespace millrace::testing_support {

// As a file describes the type of numbers.
inline std::string hdf5_integer(size_t bytes, bool has_sign = true, bool big = false) {
  return cat('\x10', static_cast<char>((big ? 1 : 0) | (has_sign ? 8 : 0)), std::string(2, '\0'),
             number_bytes(bytes, 4), number_bytes(0, 2), number_bytes(8 * bytes, 2));
}
// `exponent` bits of it.
inline std::string hdf5_float(size_t bytes, size_t exponent, bool big = false) {
  const size_t bits = 8 * bytes, fraction = bits - 1 - exponent;
  return cat('\x11', static_cast<char>(0x20 | (big ? 1 : 0)), static_cast<char>(bits - 1), '\0', number_bytes(bytes, 4),
             number_bytes(0, 2), number_bytes(bits, 2), static_cast<char>(fraction), static_cast<char>(exponent), '\0',
             static_cast<char>(fraction), number_bytes((uint64_t{1} << (exponent - 1)) - 1, 4));
}

struct Hdf5Content {
  std::string name;  // without a slash
  std::string type;
  std::vector<uint64_t> sizes;
  std::string data;
};

class Hdf5Bytes {
 public:
  // At most 8 datasets.
  static std::string file(std::vector<Hdf5Content> datasets) {
    std::ranges::sort(datasets, {}, &Hdf5Content::name);
    constexpr size_t kRoot = 96, kTree = kRoot + 16 + 24, kHeap = kTree + 544;
    std::string names(8, '\0'), symbols, objects;
    for (const Hdf5Content& one : datasets) names += padded(one.name + '\0');
    const size_t table = kHeap + 32 + names.size(), begin = table + 8 + 8 * 40;
    size_t name = 8;
    for (const Hdf5Content& one : datasets) {
      const std::string header = dataset_header(one, 0);
      const size_t at = begin + objects.size();
      symbols += cat(number_bytes(name, 8), number_bytes(at, 8), std::string(24, '\0'));
      objects += cat(dataset_header(one, at + header.size()), padded(one.data));
      name += padded(one.name + '\0').size();
    }
    symbols.resize(8 * 40);
    std::string tree =
        cat("TREE", std::string(2, '\0'), number_bytes(datasets.empty() ? 0 : 1, 2), nowhere(), nowhere(),
            number_bytes(0, 8), number_bytes(table, 8), number_bytes(name - names_of_last(datasets), 8));
    tree.resize(544);
    return cat("\x89HDF\r\n\x1a\n", std::string(5, '\0'), "\x8\x8", '\0', number_bytes(4, 2), number_bytes(16, 2),
               number_bytes(0, 4), number_bytes(0, 8), nowhere(), number_bytes(begin + objects.size(), 8), nowhere(),
               number_bytes(0, 8), number_bytes(kRoot, 8), number_bytes(1, 4), number_bytes(0, 4),
               number_bytes(kTree, 8), number_bytes(kHeap, 8),
               object_header({message(0x11, number_bytes(kTree, 8) + number_bytes(kHeap, 8))}), tree, "HEAP",
               number_bytes(0, 4), number_bytes(names.size(), 8), number_bytes(1, 8), number_bytes(kHeap + 32, 8),
               names, "SNOD", number_bytes(1, 2), number_bytes(datasets.size(), 2), symbols, objects);
  }

 private:
  static std::string nowhere() { return std::string(8, '\xff'); }
  static size_t names_of_last(const std::vector<Hdf5Content>& datasets) {
    return datasets.empty() ? 8 : padded(datasets.back().name + '\0').size();
  }
  static std::string padded(std::string bytes) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    return bytes;
  }
  static std::string message(uint64_t type, const std::string& data) {
    const std::string whole = padded(data);
    return cat(number_bytes(type, 2), number_bytes(whole.size(), 2), number_bytes(0, 4), whole);
  }
  static std::string object_header(const std::vector<std::string>& messages) {
    std::string all;
    for (const std::string& one : messages) all += one;
    return cat(number_bytes(1, 2), number_bytes(messages.size(), 2), number_bytes(1, 4), number_bytes(all.size(), 4),
               number_bytes(0, 4), all);
  }
  static std::string dataset_header(const Hdf5Content& one, size_t data) {
    std::string space = cat('\1', static_cast<char>(one.sizes.size()), std::string(6, '\0'));
    for (const uint64_t size : one.sizes) space += number_bytes(size, 8);
    return object_header({message(1, space), message(3, one.type),
                          message(8, cat("\3\1", number_bytes(data, 8), number_bytes(one.data.size(), 8)))});
  }
};

inline std::string hdf5_file(const std::vector<Hdf5Content>& datasets) { return Hdf5Bytes::file(datasets); }

}  // namespace millrace::testing_support

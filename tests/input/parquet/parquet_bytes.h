// Parquet files, made by plain rules, for tests: metadata in Thrift's compact protocol, pages, whole files.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "tests/input/arrays/array_bytes.h"

namespace millrace::testing_support {

inline std::string zigzag(int64_t number) {
  return varint(static_cast<uint64_t>(number) << 1 ^ static_cast<uint64_t>(number >> 63));
}

// A struct in Thrift's compact protocol. Fields are added in the order of their numbers.
class Thrift {
 public:
  Thrift& number(int field, int64_t value) { return add(field, 6, zigzag(value)); }
  Thrift& flag(int field, bool value) { return add(field, value ? 1 : 2, {}); }
  Thrift& text(int field, std::string_view value) { return add(field, 8, varint(value.size()) + std::string(value)); }
  Thrift& part(int field, const Thrift& value) { return add(field, 12, value.bytes()); }
  Thrift& parts(int field, const std::vector<Thrift>& values) {
    std::string list = list_head(12, values.size());
    for (const Thrift& value : values) list += value.bytes();
    return add(field, 9, list);
  }
  Thrift& add(int field, int type, const std::string& value) {
    const int step = field - last_;
    if (step > 0 && step < 16) {
      bytes_ += static_cast<char>(step << 4 | type);
    } else {
      bytes_ += static_cast<char>(type) + zigzag(field);
    }
    last_ = field;
    bytes_ += value;
    return *this;
  }
  static std::string list_head(int type, size_t size) {
    if (size < 15) return {static_cast<char>(size << 4 | static_cast<size_t>(type))};
    return static_cast<char>(0xf0 | type) + varint(size);
  }
  std::string bytes() const { return bytes_ + '\0'; }

 private:
  std::string bytes_;
  int last_ = 0;
};

// Numbers of `width` bits, the lowest bits first.
inline std::string packed_bits(const std::vector<uint64_t>& numbers, int width) {
  std::string out((numbers.size() * static_cast<size_t>(width) + 7) / 8, '\0');
  for (size_t i = 0; i < numbers.size(); ++i) {
    for (int bit = 0; bit < width; ++bit) {
      const size_t at = i * static_cast<size_t>(width) + static_cast<size_t>(bit);
      if ((numbers[i] >> bit & 1) != 0) out[at / 8] = static_cast<char>(out[at / 8] | 1 << at % 8);
    }
  }
  return out;
}

// A run of one number, and one of packed numbers, of which there are a multiple of eight in the file.
inline std::string repeated_run(uint64_t count, uint64_t number, int width) {
  return varint(count << 1) + number_bytes(number, static_cast<size_t>(width + 7) / 8);
}
inline std::string packed_run(std::vector<uint64_t> numbers, int width) {
  numbers.resize((numbers.size() + 7) / 8 * 8);
  return varint(numbers.size() / 8 << 1 | 1) + packed_bits(numbers, width);
}

// Integers as differences, in blocks of 128 in four parts.
inline std::string delta_of(const std::vector<int64_t>& numbers) {
  std::string out = varint(128) + varint(4) + varint(numbers.size()) + zigzag(numbers.empty() ? 0 : numbers[0]);
  for (size_t begin = 1; begin < numbers.size(); begin += 128) {
    std::vector<uint64_t> steps;
    for (size_t i = begin; i < std::min(begin + 128, numbers.size()); ++i) {
      steps.push_back(static_cast<uint64_t>(numbers[i]) - static_cast<uint64_t>(numbers[i - 1]));
    }
    const uint64_t least = *std::min_element(steps.begin(), steps.end(), [](uint64_t a, uint64_t b) {
      return static_cast<int64_t>(a) < static_cast<int64_t>(b);
    });
    std::string widths, parts;
    for (size_t part = 0; part < 4; ++part) {
      std::vector<uint64_t> some(32);
      uint64_t all = 0;
      for (size_t i = 0; i < 32 && 32 * part + i < steps.size(); ++i) all |= some[i] = steps[32 * part + i] - least;
      widths += static_cast<char>(std::bit_width(all));
      if (32 * part < steps.size()) parts += packed_bits(some, static_cast<int>(std::bit_width(all)));
    }
    out += zigzag(static_cast<int64_t>(least)) + widths + parts;
  }
  return out;
}

inline std::string plain_texts(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += number_bytes(text.size(), 4) + text;
  return out;
}

// Pages with their headers; `body` is the page as it lies in the file.
struct PageParts {
  int64_t entries = 0;
  int encoding = 0;
  std::string body = {};
  std::optional<size_t> bytes = {};  // decompressed; absent: not compressed
  std::optional<uint32_t> crc = {};
};
inline std::string page_of(int type, const PageParts& page, int field, const Thrift& more) {
  Thrift head;
  head.number(1, type).number(2, static_cast<int64_t>(page.bytes.value_or(page.body.size())));
  head.number(3, static_cast<int64_t>(page.body.size()));
  if (page.crc) head.number(4, static_cast<int32_t>(*page.crc));
  return head.part(field, more).bytes() + page.body;
}
inline std::string data_page(const PageParts& page) {
  return page_of(0, page, 5, Thrift().number(1, page.entries).number(2, page.encoding).number(3, 3).number(4, 3));
}
inline std::string dictionary_page(const PageParts& page) {
  return page_of(2, page, 7, Thrift().number(1, page.entries).number(2, page.encoding));
}
struct SecondVersion {
  int64_t rows = 0;
  size_t definition_bytes = 0, repetition_bytes = 0;
  bool packed = true;
};
inline std::string data_page(const PageParts& page, const SecondVersion& more) {
  return page_of(3, page, 8,
                 Thrift()
                     .number(1, page.entries)
                     .number(2, 0)
                     .number(3, more.rows)
                     .number(4, page.encoding)
                     .number(5, static_cast<int64_t>(more.definition_bytes))
                     .number(6, static_cast<int64_t>(more.repetition_bytes))
                     .flag(7, more.packed));
}
// Levels of a page of the first version, with their length.
inline std::string sized(const std::string& levels) { return number_bytes(levels.size(), 4) + levels; }

// Elements of a schema. Types, repetitions and annotations are numbers of the format.
struct SchemaPart {
  std::string name;
  std::optional<int> type = {};
  int repetition = 0;
  int children = 0;
  std::optional<int> converted = {};
  std::optional<Thrift> logical = {};
  int length = 0, scale = 0, precision = 0;

  Thrift thrift() const {
    Thrift out;
    if (type) out.number(1, *type);
    if (length > 0) out.number(2, length);
    out.number(3, repetition).text(4, name);
    if (children > 0) out.number(5, children);
    if (converted) out.number(6, *converted);
    if (precision > 0) out.number(7, scale).number(8, precision);
    if (logical) out.part(10, *logical);
    return out;
  }
};

enum : int { kBoolean, kInt32, kInt64, kInt96, kFloat, kDouble, kBytes, kFixed };

struct ChunkParts {
  int type = kFloat;
  int64_t values = 0;
  std::string pages = {};
  int codec = 0;
  bool dictionary = false;  // the pages begin with one
  std::optional<Thrift> statistics = {};
  bool encrypted = false;
};
struct GroupParts {
  int64_t rows = 0;
  std::vector<ChunkParts> chunks = {};
};
struct FileParts {
  std::vector<SchemaPart> schema;  // without the root
  int columns = 0;                 // of the root; 0: as many as there are elements
  std::vector<GroupParts> groups = {};
  std::optional<int64_t> rows = {};

  std::string bytes() const {
    std::string out = "PAR1";
    std::vector<Thrift> elements = {
        SchemaPart{.name = "schema", .children = columns > 0 ? columns : static_cast<int>(schema.size())}.thrift()};
    for (const SchemaPart& part : schema) elements.push_back(part.thrift());
    std::vector<Thrift> row_groups;
    int64_t all = 0;
    for (const GroupParts& group : groups) {
      std::vector<Thrift> chunks;
      for (const ChunkParts& chunk : group.chunks) {
        const auto at = static_cast<int64_t>(out.size());
        const auto size = static_cast<int64_t>(chunk.pages.size());
        Thrift data;
        data.number(1, chunk.type).number(4, chunk.codec).number(5, chunk.values).number(6, size).number(7, size);
        data.number(9, chunk.dictionary ? at + 1 : at);
        if (chunk.dictionary) data.number(11, at);
        if (chunk.statistics) data.part(12, *chunk.statistics);
        Thrift& of_group = chunks.emplace_back(Thrift().number(2, at).part(3, data));
        if (chunk.encrypted) of_group.part(8, Thrift());
        out += chunk.pages;
      }
      row_groups.push_back(Thrift().parts(1, chunks).number(2, 0).number(3, group.rows));
      all += group.rows;
    }
    const std::string footer =
        Thrift().number(1, 2).parts(2, elements).number(3, rows.value_or(all)).parts(4, row_groups).bytes();
    return out + footer + number_bytes(footer.size(), 4) + "PAR1";
  }
};

// A required column of plain numbers, `per_page` in each page.
template <class T>
ChunkParts plain_chunk(int type, const std::vector<T>& numbers, size_t per_page = SIZE_MAX) {
  ChunkParts out{.type = type, .values = static_cast<int64_t>(numbers.size())};
  for (size_t at = 0; at < numbers.size();) {
    const size_t some = std::min(per_page, numbers.size() - at);
    const std::vector<T> page(numbers.begin() + static_cast<ptrdiff_t>(at),
                              numbers.begin() + static_cast<ptrdiff_t>(at + some));
    out.pages += data_page({.entries = static_cast<int64_t>(some), .body = bytes_of_numbers(page)});
    at += some;
  }
  return out;
}

}  // namespace millrace::testing_support

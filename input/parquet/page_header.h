// PageHeader: what stands before each page of a column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace {

// How the values of a page are written; the numbers are those of the format.
enum class PageEncoding : uint8_t {
  plain = 0,
  plain_dictionary = 2,
  rle = 3,
  delta_binary_packed = 5,
  delta_length_byte_array = 6,
  delta_byte_array = 7,
  rle_dictionary = 8,
  byte_stream_split = 9
};

struct PageHeader {
  enum class Kind : uint8_t { data, dictionary, other };

  Kind kind = Kind::other;
  bool second_version = false;  // of data pages: levels are not compressed, and lie before the values
  PageEncoding encoding = PageEncoding::plain;
  // Whether levels are in an encoding that is no longer in use; columns without levels may say so, too.
  bool old_definition = false, old_repetition = false;
  bool packed = true;  // what comes after the levels is compressed, unless the column's codec is none
  uint32_t header_bytes = 0;
  uint32_t packed_bytes = 0, bytes = 0;                 // as the page lies in the file, and decompressed
  uint32_t entries = 0;                                 // values, and missing ones
  uint32_t definition_bytes = 0, repetition_bytes = 0;  // of the levels, in the second version
  std::optional<uint32_t> crc = {};                     // of the page as it lies in the file
};

// Reads the header that begins with `bytes`. No value if there must be more of them to say. Throws DataError, without a
// place, if no page of a Parquet file begins like this, or if its encoding is not known.
std::optional<PageHeader> read_page_header(std::string_view bytes);

}  // namespace millrace

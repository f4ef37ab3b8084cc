// ParquetColumn: a column of a Parquet file, as its schema describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "millrace/input/parquet/thrift_reader.h"

namespace millrace {

// How values are stored; the numbers are those of the format.
enum class StoredType : uint8_t { boolean, int32, int64, int96, float32, float64, bytes, fixed };

// What they mean.
enum class Meaning : uint8_t { number, unsigned_number, half, decimal, date, timestamp, text };

// A column is a value in each row, or a list of values. How much of it a row has is told by its definition levels: a
// value that is there has the level `most_definition`. In a list a lower level is a missing value, `empty_definition`
// an empty list, and a level below that a missing list.
struct ParquetColumn {
  std::string name;
  // What it holds, in the plural, if that cannot be read: "maps".
  std::string refused = {};
  StoredType stored = StoredType::int32;
  Meaning meaning = Meaning::number;
  uint32_t width = 0;         // bytes of a stored value; 0 if that varies, and for booleans
  int32_t scale = 0;          // decimals: digits after the point
  int64_t per_second = 1000;  // timestamps: units in a second
  uint8_t most_definition = 0, empty_definition = 0;
  bool is_list = false;
  bool may_be_null = false;  // the list, if it is one
  size_t leaf = 0;           // the number of its chunk in every row group

  // "int32", "list of texts"
  std::string type_text() const;
  bool operator==(const ParquetColumn&) const = default;
};

// Reads the list of elements that is the schema in a file's metadata; gives its columns, in their order. Throws
// DataError if it is no schema.
std::vector<ParquetColumn> read_schema(ThriftReader& reader);

}  // namespace millrace

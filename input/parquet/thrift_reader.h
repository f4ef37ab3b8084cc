// ThriftReader: values in Thrift's compact protocol, in which Parquet files describe themselves. Used by one thread.
//
//   reader.structure([&](int64_t field) {
//     switch (field) {
//       case 3: rows = reader.integer(); break;
//       default: reader.skip();
//     }
//   });
//
// Every function throws DataError, without a place, if the bytes are no value. A field of another type than it is read
// as is passed over, as if it were absent: so do other readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>

#include "millrace/core/errors.h"

namespace millrace {

// An error without a place, for what a Parquet file cannot say.
DataError damaged_parquet(std::string_view what);

class ThriftReader {
 public:
  // The bytes begin with a struct. They outlive the texts that are read.
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  // Calls field(number) for each field of a struct; it has to read the field's value, or to skip it.
  template <class Field>
  void structure(const Field& field) {
    expect(kStruct);
    for (int64_t number = 0; next_field(number);) {
      const size_t begin = at_;
      const uint8_t type = type_;
      try {
        field(number);
      } catch (const OtherType&) {
        at_ = begin;
        type_ = type;
        in_list_ = false;
        skip();
      }
    }
  }
  // Calls element() for each element of a list; it has to read it, or to skip it.
  template <class Element>
  void list(const Element& element) {
    const ListHeader header = list_header();
    for (uint64_t i = 0; i < header.size; ++i) {
      type_ = header.type;
      in_list_ = true;
      element();
    }
  }
  int64_t integer();
  // The same, from `least` to `most`.
  int64_t integer(int64_t least, int64_t most);
  bool boolean();
  std::string_view text();
  void skip() { skip(0); }

  // How many bytes were read.
  size_t at() const { return at_; }
  // Whether the error was that the bytes end too early.
  bool ran_out() const { return ran_out_; }

 private:
  enum Type : uint8_t {
    kEnd = 0,
    kTrue = 1,
    kFalse = 2,
    kByte = 3,
    kInt64 = 6,
    kDouble = 7,
    kText = 8,
    kList = 9,
    kSet = 10,
    kMap = 11,
    kStruct = 12,
    kUuid = 13
  };
  struct OtherType : std::exception {};
  struct ListHeader {
    uint8_t type = kEnd;
    uint64_t size = 0;
  };

  void expect(uint8_t type) const;
  bool next_field(int64_t& number);
  ListHeader list_header();
  uint64_t checked_size(uint64_t size);
  uint8_t byte();
  uint64_t varint();
  void skip(int depth);
  void pass(uint64_t bytes);

  const std::string_view bytes_;
  size_t at_ = 0;
  uint8_t type_ = kStruct;  // of the value that comes next
  bool in_list_ = false;    // that value is an element: a bool takes a byte there
  bool ran_out_ = false;
};

}  // namespace millrace

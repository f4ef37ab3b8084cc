// WireReader: the fields of a message of protobuf, one after another, as they lie in its bytes.
//
//   WireReader fields(message);
//   while (fields.next()) {
//     if (fields.is(1, WireType::bytes)) use(fields.bytes());
//   }
//   if (fields.failed()) ..   // the bytes are no message
//
// Groups, which protobuf gave up long ago, are no message here.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Takes a number of 7 bits a byte from the front of `bytes`. False if there is none.
bool take_varint(std::string_view& bytes, uint64_t& number);

class WireReader {
 public:
  explicit WireReader(std::string_view message) : left_(message) {}

  // Goes to the next field. False at the end, and if the bytes go on with none.
  bool next();
  bool failed() const { return failed_; }

  uint32_t number() const { return number_; }
  WireType type() const { return type_; }
  bool is(uint32_t number, WireType type) const { return number_ == number && type_ == type; }
  // The value, as it is stored.
  std::string_view bytes() const { return bytes_; }
  // What follows the field.
  std::string_view left() const { return left_; }

 private:
  bool take();

  std::string_view left_, bytes_;
  uint32_t number_ = 0;
  WireType type_ = WireType::varint;
  bool failed_ = false;
};

}  // namespace millrace

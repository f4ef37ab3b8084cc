#include "millrace/input/parquet/thrift_reader.h"

#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr int kMostDepth = 32;

int64_t signed_of(uint64_t zigzag) { return static_cast<int64_t>(zigzag >> 1) ^ -static_cast<int64_t>(zigzag & 1); }

}  // namespace

DataError damaged_parquet(std::string_view what) {
  return DataError(cat("the Parquet file is damaged: ", what), {}, "was it copied or downloaded as a whole?");
}

void ThriftReader::expect(uint8_t type) const {
  if (type_ != type) throw OtherType();
}

uint8_t ThriftReader::byte() {
  if (at_ == bytes_.size()) {
    ran_out_ = true;
    throw damaged_parquet("its metadata end too early");
  }
  return static_cast<uint8_t>(bytes_[at_++]);
}

uint64_t ThriftReader::varint() {
  uint64_t out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t next = byte();
    out |= static_cast<uint64_t>(next & 0x7f) << shift;
    if (next < 0x80) return out;
  }
  throw damaged_parquet("its metadata have a number of more than 64 bits");
}

bool ThriftReader::next_field(int64_t& number) {
  const uint8_t head = byte();
  type_ = head & 0x0f;
  in_list_ = false;
  if (type_ == kEnd) return false;
  number = head >> 4 != 0 ? number + (head >> 4) : signed_of(varint());
  if (number < INT16_MIN || number > INT16_MAX) throw damaged_parquet("its metadata have a field without a number");
  return true;
}

// Every element takes a byte at least.
uint64_t ThriftReader::checked_size(uint64_t size) {
  if (size <= bytes_.size() - at_) return size;
  ran_out_ = true;
  throw damaged_parquet("its metadata end too early");
}

ThriftReader::ListHeader ThriftReader::list_header() {
  if (type_ != kSet) expect(kList);
  const uint8_t head = byte();
  const uint64_t size = head >> 4 == 15 ? varint() : head >> 4;
  return {static_cast<uint8_t>(head & 0x0f), checked_size(size)};
}

int64_t ThriftReader::integer() {
  if (type_ == kByte) return static_cast<int8_t>(byte());
  if (type_ < kByte || type_ > kInt64) expect(kInt64);
  return signed_of(varint());
}

int64_t ThriftReader::integer(int64_t least, int64_t most) {
  const int64_t out = integer();
  if (out < least || out > most) throw damaged_parquet(cat("its metadata say ", out, ", which cannot be"));
  return out;
}

bool ThriftReader::boolean() {
  if (type_ != kTrue && type_ != kFalse) expect(kTrue);
  return (in_list_ ? byte() : type_) == kTrue;
}

std::string_view ThriftReader::text() {
  expect(kText);
  const uint64_t size = checked_size(varint());
  at_ += static_cast<size_t>(size);
  return bytes_.substr(at_ - static_cast<size_t>(size), static_cast<size_t>(size));
}

void ThriftReader::pass(uint64_t bytes) { at_ += static_cast<size_t>(checked_size(bytes)); }

void ThriftReader::skip(int depth) {
  if (depth > kMostDepth) throw damaged_parquet("its metadata are nested too deeply");
  switch (type_) {
    case kTrue:
    case kFalse: return pass(in_list_ ? 1 : 0);
    case kByte: return pass(1);
    case kDouble: return pass(8);
    case kUuid: return pass(16);
    case kText: return pass(varint());
    case kSet:
    case kList: return list([&] { skip(depth + 1); });
    case kStruct: return structure([&](int64_t) { skip(depth + 1); });
    case kMap: {
      const uint64_t size = checked_size(varint());
      const uint8_t types = size > 0 ? byte() : uint8_t{0};
      for (uint64_t i = 0; i < 2 * size; ++i) {
        type_ = i % 2 == 0 ? types >> 4 : types & 0x0f;
        in_list_ = true;
        skip(depth + 1);
      }
      return;
    }
    default: break;
  }
  if (type_ < kByte || type_ > kInt64) throw damaged_parquet("its metadata have a value of no known type");
  static_cast<void>(varint());
}

}  // namespace millrace

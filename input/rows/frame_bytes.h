// Frames: bytes that one process writes and another one reads, or the same one later, with a version and a checksum.
//
// append_frame() calls its function twice: with a FrameSize, to know how much memory the frame needs, and then with a
// FrameWriter:
//
//   append_frame(kKind, out, [&](auto& sink) { sink.number(rows); sink.text(name); });
//   FrameReader reader(kKind, bytes);     // throws DataError for other bytes
//   rows = reader.count(kLeastRowBytes);  // and for more rows than the bytes that are left can hold
//   name = reader.text();
//   reader.end();
//
// A checksum keeps nobody from writing lies into a frame, so count() comes before memory is taken. Nothing here is
// synchronised.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace millrace {

struct FrameKind {
  std::string_view magic;  // kFrameMagicBytes letters, the first bytes of the frame
  uint8_t version;         // a reader takes no other one
  std::string_view name;   // for messages: "encoded rows"
};

// A frame is the magic, the version, XXH3-64 of what follows, and what it holds.
inline constexpr size_t kFrameMagicBytes = 3, kFrameHeadBytes = kFrameMagicBytes + 1 + sizeof(uint64_t);

// Counts the bytes that a FrameWriter would write.
class FrameSize {
 public:
  size_t bytes() const { return bytes_; }
  // 7 bits a byte, the lowest first.
  void number(uint64_t value) { bytes_ += (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7; }
  // A difference of numbers, modulo 2^64; small ones take few bytes, whatever their sign.
  void difference(uint64_t value) { number(value << 1 ^ (0 - (value >> 63))); }
  void raw(const void*, size_t bytes) { bytes_ += bytes; }
  void text(std::string_view text) {
    number(text.size());
    raw(text.data(), text.size());
  }
  // Leaves room, which the caller fills if it is not null.
  std::byte* room(size_t bytes) {
    bytes_ += bytes;
    return nullptr;
  }

 private:
  size_t bytes_ = 0;
};

// Writes to memory for as many bytes as a FrameSize counted. Its functions are those of FrameSize.
class FrameWriter {
 public:
  explicit FrameWriter(char* to) : to_(to) {}
  void number(uint64_t value) {
    char* to = to_;
    for (; value > 127; value >>= 7) *to++ = static_cast<char>(value | 128);
    *to++ = static_cast<char>(value);
    to_ = to;
  }
  void difference(uint64_t value) { number(value << 1 ^ (0 - (value >> 63))); }
  void raw(const void* from, size_t bytes) {
    if (bytes > 0) std::memcpy(room(bytes), from, bytes);
  }
  void text(std::string_view text) {
    number(text.size());
    raw(text.data(), text.size());
  }
  std::byte* room(size_t bytes) { return reinterpret_cast<std::byte*>(std::exchange(to_, to_ + bytes)); }

 private:
  char* to_;
};

// Writes the head of a frame of `size` bytes.
void write_frame_head(const FrameKind& kind, char* frame, size_t size);

// Adds a frame to `out`; put(sink) puts what it holds.
template <class Put>
void append_frame(const FrameKind& kind, std::string& out, const Put& put) {
  FrameSize size;
  put(size);
  const size_t begin = out.size();
  out.resize(begin + kFrameHeadBytes + size.bytes());
  FrameWriter writer(out.data() + begin + kFrameHeadBytes);
  put(writer);
  write_frame_head(kind, out.data() + begin, out.size() - begin);
}

// Reads what a FrameWriter wrote. Every function throws DataError if the bytes hold something else. The bytes must stay
// as long as the reader and the texts that it gave.
class FrameReader {
 public:
  FrameReader(const FrameKind& kind, std::string_view bytes);

  uint64_t number() {
    if (at_ < end_ && static_cast<unsigned char>(*at_) < 128) return static_cast<unsigned char>(*at_++);
    return long_number();
  }
  uint64_t number_up_to(uint64_t most) {
    const uint64_t value = number();
    if (value > most) refuse("a number is too large");
    return value;
  }
  uint64_t difference() {
    const uint64_t value = number();
    return value >> 1 ^ (0 - (value & 1));
  }
  // A count of things that take at least `bytes_each`.
  size_t count(size_t bytes_each) {
    const uint64_t value = number();
    if (value > left() / bytes_each) refuse("a count reaches beyond their end");
    return static_cast<size_t>(value);
  }
  std::string_view raw(size_t bytes) {
    if (bytes > left()) refuse("they end too early");
    return {std::exchange(at_, at_ + bytes), bytes};
  }
  std::string_view text() { return raw(count(1)); }
  void end() const {
    if (left() > 0) refuse("something follows their end");
  }
  // Throws the DataError: these bytes are not encoded rows: `why`.
  [[noreturn]] void refuse(std::string_view why) const;

 private:
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  uint64_t long_number();

  const FrameKind kind_;
  const char *at_ = nullptr, *end_ = nullptr;
};

}  // namespace millrace

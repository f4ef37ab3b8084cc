#include "millrace/input/tfrecord/record_frames.h"

#include <algorithm>
#include <cstring>

#include "millrace/core/crc32.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr size_t kLengthBytes = 8;

// The number that `bytes` begins with.
template <class T>
T number_at(std::string_view bytes) {
  T out;
  std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

bool has_checksum(std::string_view bytes, std::string_view checksum) {
  return masked_crc32c(bytes) == number_at<uint32_t>(checksum);
}

}  // namespace

std::optional<uint64_t> record_length(std::string_view head) {
  if (head.size() < kFrameHead) return {};
  const bool right = has_checksum(head.substr(0, kLengthBytes), head.substr(kLengthBytes));
  return right ? std::optional(number_at<uint64_t>(head)) : std::nullopt;
}

void skip_to_record(FileText& text, const TfRecordFormat& format) {
  size_t at = 0;
  while (text.offset() + at < text.limit()) {
    if (text.bytes().size() < at + kFrameHead) {
      if (text.at_end()) break;
      text.extend();
      continue;
    }
    const std::string_view head = text.bytes().substr(at);
    // Most places are no beginning, and most of these have a length that is too large.
    if (number_at<uint64_t>(head) <= format.max_record_bytes && record_length(head)) return text.skip(at);
    ++at;
  }
  text.skip(static_cast<size_t>(std::min<uint64_t>(text.bytes().size(), text.limit() - text.offset())));
}

bool RecordFrames::next() {
  at_ += size_;
  size_ = 0;
  if (offset() >= text_.limit()) return false;
  if (!has(kFrameHead) && text_.bytes().size() == at_) return false;
  const std::string_view head = text_.bytes().substr(at_);
  const std::optional<uint64_t> length = record_length(head);
  if (!length && head.size() >= kFrameHead) {
    throw DataError("the checksum of the record's length is wrong", {}, "is the file damaged?");
  }
  if (length && *length > format_.max_record_bytes) {
    throw DataError(
        cat("the record has ", *length, " bytes, at most ", format_.max_record_bytes, " are allowed"), {},
        *length <= TfRecordFormat::kMost ? cat("set tfrecord_reader: {max_record_bytes: ", *length, '}') : "");
  }
  const size_t size = kFrameHead + static_cast<size_t>(length.value_or(0)) + kFrameTail;
  if (!has(size)) {
    throw DataError(cat("the file ends within a record: ", text_.bytes().size() - at_, " bytes are left of ",
                        length ? "" : "at least ", size),
                    {}, "was the file copied or downloaded as a whole?");
  }
  size_ = size;
  return true;
}

bool RecordFrames::is_intact() const { return has_checksum(record(), text_.bytes().substr(at_ + size_ - kFrameTail)); }

// Reads on if the text has not so many bytes after at_. False if the file has not.
bool RecordFrames::has(size_t bytes) {
  while (text_.bytes().size() - at_ < bytes) {
    if (text_.at_end()) return false;
    text_.extend();
  }
  return true;
}

}  // namespace millrace

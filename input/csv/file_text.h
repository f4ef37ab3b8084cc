// FileText: the bytes of one range of a file, in memory of its own that is used again for the next range.
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "millrace/input/csv/record_scanner.h"
#include "millrace/input/files/descriptors.h"
#include "millrace/input/files/file_system.h"
#include "millrace/input/rows/chunk.h"

namespace millrace {

class FileText final : public ChunkText {
 public:
  // Takes the memory that ranges of up to `bytes` bytes need, so that start() allocates nothing for them.
  void reserve(uint64_t bytes);
  // Waits until few enough others have a file open; this one may until close().
  void take_turn();
  // Reads [begin, end) of the unit's file, with the byte before when the unit is not exact, and a little more, so that
  // the last record is likely to be whole. (A part of a stream begins and ends at a line, so it needs neither.) Then
  // goes to the first record of the range. Throws IoError.
  void start(std::shared_ptr<const File> file, const Unit& unit);
  // Becomes empty: the file cannot be read.
  void fail(const Unit& unit);
  // Doubles what is held beyond the limit.
  void extend() override;
  void close() noexcept override;
  // Drops the first `bytes` bytes. REQUIRES: bytes <= bytes().size().
  void skip(size_t bytes);

  // Memory for who looks at the text before the decoder does.
  ScannedRecord& scratch() { return scratch_; }

 private:
  void read(uint64_t to, uint64_t at_least);
  void skip_to_record();

  std::optional<ReadingTurn> turn_;  // declared before file_, so that the file is closed before it ends
  std::shared_ptr<const File> file_;
  std::shared_ptr<const FileEntry> entry_;
  std::vector<char> buffer_;
  uint64_t end_ = 0;  // file offset behind what was read
  ScannedRecord scratch_;
};

}  // namespace millrace

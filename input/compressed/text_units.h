// TextUnits: cuts the text of one compressed file into units, in order. Text that can be read by itself (members and
// frames that tell their lengths, text between two known points) becomes a range that a task decodes; any other text is
// decoded here, part by part. One thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "millrace/input/compressed/text_in_order.h"
#include "millrace/input/rows/chunk.h"

namespace millrace {

class TextUnits {
 public:
  struct Settings {
    uint64_t begin = 0;  // where the text starts that is wanted
    uint64_t unit_bytes = 262144;
    std::function<size_t(std::string_view)> cut = {};  // as TextInOrder has it
    const std::atomic<bool>* interrupted = nullptr;
  };
  // `files` and `text` outlive this and the units.
  TextUnits(CompressedFiles& files, CompressedText& text, Settings settings);

  // Sets the unit's end and its part; unit.begin comes in as where the last unit ended. Whether the text may go on
  // after it; if not, the unit may be empty. Throws DataError, IoError.
  bool next(Unit& unit);

 private:
  CompressedFiles& files_;
  CompressedText& text_;
  Settings settings_;
  TextPoint next_;
  std::shared_ptr<TextInOrder> in_order_;
};

}  // namespace millrace

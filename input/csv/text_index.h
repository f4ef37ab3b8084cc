// TextIndex: finds where the delimiters, line feeds and quotes of a text lie, one window of the text at a time.
//
// It is all that is needed to cut records without quotes, so their bytes are not looked at one by one. Positions are
// offsets from the start of the text, so they stay valid when the text grows or moves. Reused; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace millrace {

// The bytes to look for. LF is always one of them.
struct TextMarks {
  char delimiter = ',';
  std::optional<char> quote;
};

// Neighbouring fields of one record: field 0 is [begin, ends[0]) of `text`, field k is [ends[k - 1] + 1, ends[k]). All
// of `text` up to the last end can be read, including the bytes before `begin`.
struct FieldRun {
  const char* text = nullptr;
  size_t begin = 0;
  const uint32_t* ends = nullptr;
  size_t count = 0;

  size_t start(size_t field) const { return field == 0 ? begin : ends[field - 1] + size_t{1}; }
};

class TextIndex {
 public:
  // A line feed, a quote, or the end of the text.
  struct Event {
    uint32_t position = 0;
    uint32_t separators = 0;  // how many of the separators held lie before it
  };

  // Takes memory for `entries` separators and `entries` events.
  void reserve(size_t entries);
  // Forgets everything, keeps memory.
  void clear();
  // Forgets all events, and all separators except [first, last).
  void keep(size_t first, size_t last);
  // Indexes [size(), to) of the text that starts at `text`. REQUIRES: to >= size(), [size(), to) can be read.
  void extend(const char* text, size_t to, const TextMarks& marks);
  // Says that the text ends: puts a separator and an event at size(), as if a line feed stood there.
  void finish();

  // How many bytes are indexed.
  size_t size() const { return size_; }
  size_t separator_count() const { return separator_count_; }
  // Positions of delimiters and line feeds, ascending. The reader may overwrite them.
  uint32_t* separators() { return separators_.data(); }
  size_t event_count() const { return event_count_; }
  const Event* events() const { return events_.data(); }

 private:
  void make_room(size_t bytes);

  size_t size_ = 0;
  size_t separator_count_ = 0, event_count_ = 0;
  std::vector<uint32_t> separators_;  // separator_count_ of them are in use
  std::vector<Event> events_;         // event_count_ of them are in use
};

}  // namespace millrace

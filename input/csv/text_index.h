// TextIndex: where the delimiters, line feeds and quotes of a text lie, found a window at a time.
//
// Records without quotes are cut by it alone: no byte of them is looked at one by one. Positions are offsets from the
// start of the text, so they stay valid when the text grows or moves. Reused; one thread at a time.
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

class TextIndex {
 public:
  // A line feed, a quote, or the end of the text.
  struct Event {
    uint32_t position = 0;
    uint32_t separators = 0;  // how many separators that are held lie before it
  };

  // Takes the memory for so many separators and events.
  void reserve(size_t entries);
  // Forgets everything, keeps memory.
  void clear();
  // Forgets all events and all but the separators [first, last).
  void keep(size_t first, size_t last);
  // Indexes [size(), to) of the text that starts at `text`. REQUIRES: to >= size(), [size(), to) can be read.
  void extend(const char* text, size_t to, const TextMarks& marks);
  // Puts a separator and an event at size(), as if a line feed stood there: the text ends.
  void finish();

  // How many bytes are indexed.
  size_t size() const { return size_; }
  size_t separator_count() const { return separator_count_; }
  // Delimiters and line feeds, ascending. May be overwritten by the reader.
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

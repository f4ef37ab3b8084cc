// NoteLog: counts the bad rows and the dropped rows that a stream's notes told of, and makes the reports. Serial.
//
// A saved state holds the counts as they were at mark(): the notes after the last row that was handed out come again.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "millrace/input/buffer.h"
#include "millrace/input/op.h"
#include "millrace/input/run/transform_chain.h"

namespace millrace {

// Functions that are told of notes, in row order.
struct StreamEvents {
  std::function<void(const BadRow&)> on_bad_row;
  std::function<void(std::string_view)> on_print;
  // Called instead of Transform::report(), if it is set.
  std::function<void(Transform&, const BadRow&)> on_report = {};
};

class NoteLog {
 public:
  void set_events(const StreamEvents* events) { events_ = events; }

  // Lets a note that is not an error take effect. `place` is the note's place, with its final line; one of the
  // transforms in `links` attached the note. Throws a DataError for a bad row beyond the limit, and whatever a callback
  // or report throws.
  void pass(const Note& note, const Place& place, const std::vector<ChainLink>& links);
  // `rows` rows were left out because of `cause`.
  void drop(std::string_view cause, uint64_t rows);
  // Says whether rows are read a second time. Their notes took effect before, so only errors take effect now.
  void set_silent(bool silent) { silent_ = silent; }
  // The row before the notes to come was handed out.
  void mark();

  uint64_t bad_rows() const { return now_.bad_rows; }
  void add_dropped(std::vector<Dropped>& out) const;

  void save(State& state) const;
  // Tells the reporters among `links`, the stream's links, how many reports they have made.
  void restore(const State& state, const std::vector<ChainLink>& links);

 private:
  struct Tally {
    uint64_t bad_rows = 0;
    std::vector<Dropped> dropped;
    std::vector<uint64_t> reports;  // by the number of the transform
  };
  void report(const BadRow& row, size_t transform, const std::vector<ChainLink>& links);

  const StreamEvents* events_ = nullptr;
  Tally now_, marked_;
  bool changed_ = false;  // since mark()
  bool silent_ = false;
};

void add_dropped_rows(std::vector<Dropped>& out, std::string_view cause, uint64_t rows);

}  // namespace millrace

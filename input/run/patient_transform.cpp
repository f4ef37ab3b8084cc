#include "millrace/input/run/patient_transform.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/input/run/transform_chain.h"

namespace millrace {

namespace {

// The message of an error in the data; empty for another error.
std::string reason_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const DataError& data) {
    return data.message();
  } catch (...) {
    return {};
  }
}

// The transform gets the good rows in runs. After a row that it refuses it gets few at a time, as most transforms stop
// there: each run is twice as long as the one before.
class PatientRun {
 public:
  PatientRun(const ChainLink& link, Chunk& chunk, PatientMemory& memory)
      : link_(link), chunk_(chunk), in_(memory.in), out_(memory.out), notes_(memory.notes) {
    in_.swap(chunk.rows);
    notes_.clear();
    notes_.swap(chunk.notes);
    most_ = in_.size();
    error_in_ = static_cast<size_t>(in_.spec().find(kRowError));
    error_out_ = link.output.rows.find(kRowError);
    out_.configure(link.output.rows, std::max<int64_t>(in_.size(), 1));
  }

  void run() {
    for (bool more = true; more && row_ < in_.size();) {
      take_notes();
      if (is_bad(row_)) {
        add_bad(row_, in_.varying(error_in_, row_).text(0));
        ++row_;
      } else {
        more = apply();
      }
    }
    take_notes();
    chunk_.rows.swap(out_);
    chunk_.notes.swap(made_notes_);
  }

 private:
  bool is_bad(int64_t row) const {
    const Varying& error = std::as_const(in_).varying(error_in_, row);
    return error.texts() > 0 && !error.text(0).empty();
  }

  // The notes of earlier transforms that stand before the next row.
  void take_notes() {
    for (; next_note_ < notes_.size() && notes_[next_note_].row <= row_; ++next_note_) add_note(notes_[next_note_], 0);
  }
  void add_note(Note& note, int64_t row) {
    made_notes_.push_back(std::move(note));
    made_notes_.back().row = out_.size() + row;
  }

  // The end of the run of good rows that begins at row_ and has no note inside.
  int64_t end_of_run() const {
    int64_t limit = std::min(in_.size(), row_ + most_);
    if (next_note_ < notes_.size()) limit = std::min(limit, notes_[next_note_].row);
    int64_t end = row_ + 1;
    while (end < limit && !is_bad(end)) ++end;
    return end;
  }

  // Runs the transform on the next good rows; false after an error that belongs to none of them.
  bool apply() {
    const int64_t begin = row_, end = end_of_run();
    chunk_.notes.clear();
    chunk_.rows.configure(in_.shared_spec(), end - begin);
    chunk_.rows.resize(end - begin);
    for (int64_t row = begin; row < end; ++row) chunk_.rows.copy_row(in_, row, row - begin);
    link_.transform->apply(chunk_);
    link_.check(chunk_.rows);
    const auto failed =
        std::ranges::find_if(chunk_.notes, [](const Note& note) { return note.kind == Note::Kind::error; });
    const bool fails = failed != chunk_.notes.end();
    for (auto note = chunk_.notes.begin(); note != failed; ++note) add_note(*note, note->row);
    add_rows(fails ? std::min(failed->row, chunk_.rows.size()) : chunk_.rows.size());
    row_ = end;
    most_ = std::max(most_, 2 * (end - begin));
    return !fails || refuse(*failed, begin);
  }

  void add_rows(int64_t rows) {
    const int64_t first = grow(rows);
    for (int64_t row = 0; row < rows; ++row) out_.copy_row(chunk_.rows, row, first + row);
  }

  // Makes the row of the note a bad row, and goes on after it.
  bool refuse(Note& failed, int64_t begin) {
    const std::string reason = reason_of(failed.error);
    int64_t row = begin;
    while (row < row_ && !(failed.id && in_.id(row) == *failed.id)) ++row;
    if (row == row_ || reason.empty()) {
      add_note(failed, 0);
      return false;
    }
    add_bad(row, reason);
    row_ = row + 1;
    most_ = 1;
    return true;
  }

  // A row with the fields that the transform leaves as they are, and with nothing in the others.
  void add_bad(int64_t row, std::string_view reason) {
    const int64_t to = grow(1);
    const std::vector<FieldSpec>& fields = link_.output.rows.fields;
    out_.id(to) = in_.id(row);
    for (size_t field = 0; field < fields.size(); ++field) {
      const int from = in_.spec().find(fields[field].name);
      if (!fields[field].varies()) {
        std::memset(out_.at(field, to), 0, fields[field].row_bytes());
      } else if (from >= 0 && in_.spec().fields[static_cast<size_t>(from)] == fields[field]) {
        out_.varying(field, to) = in_.varying(static_cast<size_t>(from), row);
      } else {
        out_.varying(field, to).clear();
      }
    }
    if (error_out_ < 0) return;
    Varying& error = out_.varying(static_cast<size_t>(error_out_), to);
    error.clear();
    error.add_text(reason);
  }

  // Adds rows at the end of out_, and returns the first.
  int64_t grow(int64_t rows) {
    const int64_t first = out_.size();
    if (first + rows > out_.capacity()) out_.grow(2 * (first + rows));
    out_.resize(first + rows);
    return first;
  }

  const ChainLink& link_;
  Chunk& chunk_;
  RowBlock &in_, &out_;
  std::vector<Note>& notes_;
  std::vector<Note> made_notes_;
  size_t error_in_ = 0, next_note_ = 0;
  int error_out_ = -1;
  int64_t row_ = 0;   // the next of in_
  int64_t most_ = 0;  // rows of a run
};

}  // namespace

void apply_patiently(const ChainLink& link, Chunk& chunk, PatientMemory& memory) {
  PatientRun(link, chunk, memory).run();
}

}  // namespace millrace

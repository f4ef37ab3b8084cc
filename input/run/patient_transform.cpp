#include "millrace/input/run/patient_transform.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/input/run/transform_chain.h"

namespace millrace {

namespace {

// Memory that is kept from chunk to chunk.
struct PatientBlocks {
  RowBlock in, out;
};

// The transform gets copies of the good rows, in runs. Most transforms stop at a row that they refuse. So the run after
// such a row has only one row, and each further run is twice as long as the one before.
class PatientRun {
 public:
  PatientRun(const ChainLink& link, Chunk& chunk, PatientBlocks& blocks)
      : link_(link), chunk_(chunk), in_(blocks.in), out_(blocks.out) {
    in_.swap(chunk.rows);
    notes_.swap(chunk.notes);
    out_.clear();
    most_ = in_.size();
    error_ = static_cast<size_t>(in_.spec().find(kRowError));
  }

  void run() {
    for (bool more = true; more && row_ < in_.size();) {
      take_notes();
      if (is_bad(row_)) {
        add_bad(row_++);
      } else {
        more = apply();
      }
    }
    take_notes();
    grow(0);
    chunk_.rows.swap(out_);
    chunk_.notes.swap(made_notes_);
  }

 private:
  bool is_bad(int64_t row) const {
    const Varying& error = in_.varying(error_, row);
    return error.texts() > 0 && !error.text(0).empty();
  }

  // Takes the notes of earlier transforms that stand before the next row.
  void take_notes() {
    for (; next_note_ < notes_.size() && notes_[next_note_].row <= row_; ++next_note_) add_note(notes_[next_note_], 0);
  }
  void add_note(Note& note, int64_t row) {
    made_notes_.push_back(std::move(note));
    made_notes_.back().row = out_.size() + row;
  }

  // Runs the transform on the next good rows that have no note between them. Returns false if refuse() does.
  bool apply() {
    const int64_t begin = row_;
    int64_t limit = std::min(in_.size(), begin + most_);
    if (next_note_ < notes_.size()) limit = std::min(limit, notes_[next_note_].row);
    while (row_ < limit && !is_bad(row_)) ++row_;
    most_ = std::max(most_, 2 * (row_ - begin));
    chunk_.notes.clear();
    chunk_.rows.configure(in_.shared_spec(), row_ - begin);
    chunk_.rows.resize(row_ - begin);
    for (int64_t row = begin; row < row_; ++row) chunk_.rows.copy_row(in_, row, row - begin);
    link_.transform->apply(chunk_);
    link_.check(chunk_);
    const auto failed = std::ranges::find(chunk_.notes, Note::Kind::error, &Note::kind);
    for (auto note = chunk_.notes.begin(); note != failed; ++note) add_note(*note, note->row);
    const bool fails = failed != chunk_.notes.end();
    if (fails) chunk_.rows.resize(std::min(failed->row, chunk_.rows.size()));
    add_rows();
    return !fails || refuse(*failed, begin);
  }

  // The first rows are swapped instead of copied, because most often there are no others.
  void add_rows() {
    const int64_t rows = chunk_.rows.size();
    if (out_.size() == 0 && rows > 0) return out_.swap(chunk_.rows);
    const int64_t first = grow(rows);
    for (int64_t row = 0; row < rows; ++row) out_.copy_row(chunk_.rows, row, first + row);
  }

  // Makes the row of the note a bad row, which comes next. Returns false if the error belongs to no row from `begin`
  // on.
  bool refuse(Note& failed, int64_t begin) {
    const int64_t end = std::exchange(row_, begin);
    while (row_ < end && !(failed.id && in_.id(row_) == *failed.id)) ++row_;
    try {
      std::rethrow_exception(failed.error);
    } catch (const DataError& error) {
      if (row_ < end && !error.message().empty()) {
        in_.set_text(error_, row_, error.message());
        most_ = 1;
        return true;
      }
    } catch (...) {  // the error belongs to no row
    }
    add_note(failed, 0);
    return false;
  }

  // Adds a bad row. It keeps the fields that the transform did not change in type; the others are empty or 0.
  void add_bad(int64_t row) {
    const int64_t to = grow(1);
    const std::vector<FieldSpec>&given = in_.spec().fields, &fields = link_.output.rows.fields;
    out_.id(to) = in_.id(row);
    for (size_t field = 0; field < fields.size(); ++field) {
      const auto from = static_cast<size_t>(std::ranges::find(given, fields[field]) - given.begin());
      const bool has = from < given.size();
      if (fields[field].varies()) {
        out_.varying(field, to) = has ? in_.varying(from, row) : Varying();
      } else if (has) {
        std::memcpy(out_.at(field, to), in_.at(from, row), fields[field].row_bytes());
      } else {
        std::memset(out_.at(field, to), 0, fields[field].row_bytes());
      }
    }
  }

  // Adds rows at the end of out_, and returns the first.
  int64_t grow(int64_t rows) {
    const int64_t first = out_.size();
    if (first == 0) out_.configure(link_.output.rows, std::max<int64_t>(in_.size(), 1));
    if (first + rows > out_.capacity()) out_.grow(2 * (first + rows));
    out_.resize(first + rows);
    return first;
  }

  const ChainLink& link_;
  Chunk& chunk_;
  RowBlock &in_, &out_;
  std::vector<Note> notes_, made_notes_;  // the notes of in_, and of out_
  size_t error_ = 0, next_note_ = 0;
  int64_t row_ = 0;   // the next row of in_
  int64_t most_ = 0;  // the most rows of the next run
};

}  // namespace

void apply_patiently(const ChainLink& link, Chunk& chunk) {
  static constexpr char kOwner = 0;
  PatientRun(link, chunk, chunk.work().get<PatientBlocks>(&kOwner)).run();
}

}  // namespace millrace

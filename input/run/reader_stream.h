// ReaderStream: takes one record from each of several files in turn (FileSource::readers()). A record that was left out
// counts as one, too.
//
// There are as many places as readers. When the turn of a place comes and it has no file, or a file without a record
// left, it takes the pass's next name, until there is a record. If no name is left, the place is given up for this
// pass. When no place is left, the next pass begins with the first place. The files of the next names are read ahead,
// so small files keep the threads busy, too.
//
// A saved state has for every place its file, the position after the last row of the file that was handed out, and how
// many records came since. Those records were left out, and are passed in silence when the state is restored. save() is
// valid after a pull() that gave rows or the end, not after one that threw or was cancelled.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "millrace/input/run/chunk_cursor.h"
#include "millrace/input/run/chunk_scheduler.h"
#include "millrace/input/run/source_stream.h"
#include "millrace/input/source.h"
#include "millrace/input/sources/file_units.h"

namespace millrace {

class ReaderStream : public SourceStream {
 public:
  // REQUIRES: the source gives text.
  ReaderStream(FileSource& source, uint32_t source_index, std::string name, const Port& source_port,
               std::vector<ChainLink> links);

  uint64_t memory_bound(int threads) const override;

 private:
  using Record = ChunkCursor::Record;

  // Reads one file at a time, ahead of its turns.
  struct Reader {
    Reader(const FileSource& format, const TransformChain& chain, NoteLog& log)
        : units(format),
          cursor(chain, log, [&format](const RowId& id) { return format.place(id); }),
          scheduler(units, chain, true) {}

    // Goes on with another file, from the position `given`. Then passes `since` records in silence, which were left
    // out.
    void open(const Unit& next, const Position& given, uint64_t since);
    void stop();
    // The next record; none at the end of the file and after cancel().
    Record next_record();

    Unit file;
    Position position;      // after the last row that was handed out: offset and line
    uint64_t left_out = 0;  // how many records were left out since then
    uint64_t counted = 0;   // how much of the file was counted as passed
    uint64_t to_skip = 0;
    FileUnits units;
    ChunkCursor cursor;
    ChunkScheduler scheduler;  // last: its destructor ends the tasks

   private:
    Record step(bool effective);
  };
  // How many readers there are, and what each may do ahead.
  struct Shares {
    size_t readers = 0;
    Ahead each;
  };

  void start_tasks(Executor* executor, UnitDecoder* decoder) override;
  RowSpan next_rows(int64_t at_most) override;
  void restart() override;
  void save_position(State& state) const override;
  void add_positions(std::vector<TextPlace>& out) const override;
  uint32_t restore_position(const State& state) override;
  void start_pass(uint32_t pass) override;

  Shares shares(int threads) const;
  void check_ahead();
  Reader* reader_of_turn();
  bool begin_pass();
  Reader* take_next();
  void read_ahead();
  void end_file();
  RowSpan hand_out(Reader& reader);
  void pass_to(Reader& reader, uint64_t offset) {
    bytes_ += offset - reader.position.offset;
    count_passed(reader.file.file.get(), offset, reader.counted);
  }
  Reader* open_idle(Unit file, const Position& position = {}, uint64_t left_out = 0);

  const FileSource& format_;
  NameSource& names_;
  const size_t most_places_;

  std::vector<Reader*> places_;    // readers of the places, in the order of their turns
  std::vector<Reader*> upcoming_;  // readers of the names that no place has taken yet, in order
  std::vector<Reader*> idle_;
  size_t checked_ = 0;
  size_t turn_ = 0;  // which place has the turn; places_.size(): a new place, or the first
  uint32_t pass_ = 0;
  uint32_t names_taken_ = 0;  // how many names of the pass were taken
  bool names_ended_ = false;
  std::exception_ptr names_failure_;

  std::vector<std::unique_ptr<Reader>> readers_;  // constant once started
};

}  // namespace millrace

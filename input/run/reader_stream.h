// ReaderStream: one record from each of several files in turn, whatever became of it (FileSource::readers()).
//
// There are as many places as readers. A place whose turn comes without a file, or with one that has no record left,
// takes the pass's next name, until there is a record; where no name is left the place is given up for this pass. The
// next pass begins, with the first place, when no place is left. The names that come next are read ahead: so small
// files keep the threads busy, too.
//
// A saved state has for every place its file, the position behind the last row of it that was handed out, and how many
// records came since: those were left out, and are passed in silence when the state is restored. save() holds behind a
// pull() that gave rows or the end, not behind one that threw or was cancelled.
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

    // Goes on with another file: behind `given`, and in silence behind `since` records that were left out.
    void open(const Unit& next, const Position& given, uint64_t since);
    void stop();
    // The next record; none at the end of the file and after cancel().
    Record next_record();

    Unit file;
    Position position;      // behind the last row that was handed out: offset and line
    uint64_t left_out = 0;  // records since then
    uint64_t to_skip = 0;
    FileUnits units;
    ChunkCursor cursor;
    ChunkScheduler scheduler;  // last: its destructor ends the tasks

   private:
    Record step(bool effective);
  };
  // What is shared out over the readers.
  struct Shares {
    size_t readers = 0;
    Ahead each;
  };

  void start_tasks(Executor* executor) override;
  RowSpan next_rows(int64_t at_most) override;
  void restart() override;
  void save_position(State& state) const override;
  uint32_t restore_position(const State& state) override;

  Shares shares(int threads) const;
  void check_ahead();
  Reader* reader_of_turn();
  bool begin_pass();
  Reader* take_next();
  void read_ahead();
  void end_file();
  RowSpan hand_out(Reader& reader);
  Reader* open_idle(Unit file, const Position& position = {}, uint64_t left_out = 0);

  const FileSource& format_;
  NameSource& names_;
  const size_t most_places_;

  std::vector<Reader*> places_;    // those that have a file, in the order of their turns
  std::vector<Reader*> upcoming_;  // of the names that no place has taken yet, in their order
  std::vector<Reader*> idle_;
  size_t checked_ = 0;
  size_t turn_ = 0;  // whose turn it is; places_.size(): that of a new place, or of the first
  uint32_t pass_ = 0;
  uint32_t names_taken_ = 0;  // of the pass
  bool names_ended_ = false;
  std::exception_ptr names_failure_;

  std::vector<std::unique_ptr<Reader>> readers_;  // constant once started
};

}  // namespace millrace

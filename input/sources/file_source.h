// FileSource: what formats of files share. It stands between the names of files and a format, which says how a file is
// cut into units and what becomes of a unit:
//
//   class Lines final : public FileSource {
//    public:
//     struct Options { .. };
//     explicit Lines(const Options&) : FileSource({.unit_bytes = 262144}) {}
//     Port open(const BindArgs& args) override;         // looks at the files, and says what comes out
//     ChunkBound chunk_bound() const override;
//     bool cut(Unit& unit) const override;              // not where units are ranges of bytes
//     void read(Chunk& chunk) const override;           // a unit becomes text or rows
//   };
//
// Order, epochs, shards, places and saved states are those of the names. Pipes come in parts, which are units as they
// are.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/input/files/open_files.h"
#include "millrace/input/source.h"
#include "millrace/input/transform.h"

namespace millrace {

class FileSource;

// The units of one file after another.
class MILLRACE_EXPORT FileUnits final : public Units {
 public:
  explicit FileUnits(const FileSource& format) : format_(format) {}

  // Begins with `file`, a unit of a whole file, at the offset and line of `position`, where a record starts.
  void start(const Unit& file, const Position& position = {});
  // Forgets the file.
  void clear();
  // False at the file's end. From its start on, an empty file has a unit too: so every pass has one.
  bool next(Unit& unit) override;
  bool ready() noexcept override { return ended_ || !file_.file->stream || file_.file->stream->ready(); }
  // Whether next() would say that there is none. False while nobody knows.
  bool at_end() const { return ended_ || (line_ == 0 && file_.file->stream && file_.file->stream->at_end()); }

 private:
  const FileSource& format_;
  Unit file_;
  uint64_t at_ = 0;    // where the next unit begins
  uint64_t line_ = 0;  // the line of at_, where that is known to be the start of a record; else 0
  bool ended_ = true;
};

class MILLRACE_EXPORT FileSource : public RowSource {
 public:
  struct Settings {
    uint64_t unit_bytes = 262144;  // about what one task reads; a part of a pipe has no more, but for longer lines
    int64_t readers = 1;           // more: one record each is taken, in turn, of so many files. Of text only.
  };
  explicit FileSource(const Settings& settings);
  ~FileSource() override;

  // A format writes these.

  // The end of bind(): looks at files(), checks what must be right before the start, and says what comes out.
  virtual Port open(const BindArgs& args) = 0;
  // Cuts a unit: `unit` is what is left of its file, from unit.begin on; sets unit.end, and returns whether the file
  // goes on behind it. A unit that does not begin a file is not exact, unless this says so and gives its line. By
  // default: ranges that end at multiples of unit_bytes. Not asked of a pipe. Constant; any thread may call it.
  virtual bool cut(Unit& unit) const;
  // Turns chunk.unit into what open() said. As Transform::apply().
  virtual void read(Chunk& chunk) const = 0;

  // The rest is done here.
  std::vector<PortType> inputs() const override { return {PortType::names}; }
  Port bind(const BindArgs& args) final;
  bool next(Unit& unit) override;
  bool ready() noexcept override;
  void set_wake(const std::function<void()>& wake) override;
  void interrupt() noexcept override;
  void rewind(uint32_t run) override;
  void seek(const Position& position) override;
  void save(State& state) const override { names_->save(state); }
  void check(const State& state) const override { names_->check(state); }
  Unit unit_of(const RowId& id) const override;
  Place place(const RowId& id) const override { return names_->place(id); }
  bool endless() const override { return names_->endless(); }
  bool comes_once() const override { return has_streams(); }
  uint32_t passes() const override { return names_->passes(); }
  std::vector<std::shared_ptr<const FileEntry>> files() const override { return files_; }
  uint64_t memory_bound() const override;
  const Transform& producer() const override;

  // For the stream that reads several files at a time: it cuts them itself, and calls neither next() nor seek().
  int64_t readers() const { return settings_.readers; }
  NameSource& names() const { return *names_; }

 protected:
  uint64_t unit_bytes() const { return settings_.unit_bytes; }
  // Whether some of the files are pipes.
  bool has_streams() const;
  // Where files are opened. REQUIRES: bind() was called.
  OpenFiles& open_files() const { return *open_files_; }

 private:
  class Producer;

  bool start_file(const Position& position = {});
  template <class Body>
  void for_each_stream(const Body& body) const;

  const Settings settings_;
  const std::unique_ptr<Producer> producer_;
  NameSource* names_ = nullptr;
  std::vector<std::shared_ptr<const FileEntry>> files_;
  mutable std::optional<OpenFiles> open_files_;
  uint32_t source_ = 0;
  FileUnits units_;             // of the file that is being cut
  std::exception_ptr failure_;  // of the names, that ready() met: the error of the next row
};

}  // namespace millrace

// RecordSource: what readers of binary files share whose records all have the same length, one behind the other.
//
//   class Points final : public RecordSource {      // of a byte and two floats
//    public:
//     struct Options { .. };
//     explicit Points(const Options&) : RecordSource({.rows = kRows, .record_bytes = 9}) {}
//     void decode(const std::byte* record, RowBlock& rows, int64_t row) const override { .. }
//   };
//
// It takes names of files, cuts the files into ranges of whole records, and has as many threads as there are read and
// decode them. Order, epochs and shards are the names'; places, saving and restoring are done here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/input/source.h"
#include "millrace/input/transform.h"

namespace millrace {

struct RecordFormat {
  RowSpec rows = {};  // what comes out for a record
  uint64_t record_bytes = 1;
  uint64_t header_bytes = 0;      // to pass at the start of every file
  uint64_t chunk_bytes = 262144;  // that one task reads, about; at least a record
};

class MILLRACE_EXPORT RecordSource : public RowSource {
 public:
  // REQUIRES: record_bytes is at least 1 and less than 2^32.
  explicit RecordSource(RecordFormat format);
  ~RecordSource() override;

  // Writes the values of the record_bytes at `record` into row `row` of `rows`. Called on any thread, for several
  // records at once: constant and without side effects. A DataError gets the record's place.
  virtual void decode(const std::byte* record, RowBlock& rows, int64_t row) const = 0;

  std::vector<PortType> inputs() const override { return {PortType::names}; }
  // Throws ConfigError for a pipe; DataError for a file that is no header and whole records.
  Port bind(const BindArgs& args) override;
  bool next(Unit& unit) override;
  void rewind(uint32_t run) override;
  void seek(const Position& position) override;
  ChunkBound chunk_bound() const override;
  const Transform& producer() const override;
  void save(State& state) const override { names_->save(state); }
  void check(const State& state) const override { names_->check(state); }
  Unit unit_of(const RowId& id) const override;
  // A record's line is its number, counted from 1.
  Place place(const RowId& id) const override { return names_->place(id); }
  bool endless() const override { return names_->endless(); }
  uint32_t passes() const override { return names_->passes(); }

 private:
  class Decoder;

  void check(const FileEntry& file) const;
  bool start_file(const Position& position);

  const RecordFormat format_;
  const uint64_t unit_bytes_;
  const std::unique_ptr<Decoder> decoder_;
  uint32_t source_ = 0;
  Unit file_;            // the whole of the file that is cut now
  uint64_t at_ = 0;      // where its next range begins
  bool inside_ = false;  // whether there is one
};

}  // namespace millrace

// IndexSource: what the sources of rows that have only a number share: random ones, rows in memory. Its units are
// ranges of numbers.
//
// A pass goes through all rows once; a run has so many passes, or endlessly many.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "millrace/core/export.h"
#include "millrace/input/source.h"

namespace millrace {

// How many rows there are.
struct IndexRange {
  uint64_t rows = UINT64_MAX;          // of a pass; UINT64_MAX: they never end
  uint64_t unit_rows = 1;              // of a unit, at most
  std::optional<uint32_t> passes = 1;  // of a run; none: endlessly many
};

class MILLRACE_EXPORT IndexSource : public RowSource {
 public:
  // `place`: what a place names: "synthetic". `producer` turns a unit into rows; it is bound with the source.
  IndexSource(std::string place, IndexRange range, std::unique_ptr<Transform> producer);

  Port bind(const BindArgs& args) override;
  const Transform& producer() const override { return *producer_; }
  bool next(Unit& unit) override;
  ChunkBound chunk_bound() const override { return {0, range_.unit_rows, range_.unit_rows}; }
  void rewind(uint32_t run) override;
  void seek(const Position& position) override;
  void save(State& state) const override { state.set("rows", range_.rows); }
  void check(const State& state) const override;
  Unit unit_of(const RowId& id) const override { return unit(id.offset, 1, id.pass); }
  Place place(const RowId& id) const override { return {place_, static_cast<int64_t>(id.line)}; }
  bool endless() const override { return range_.rows == UINT64_MAX || !range_.passes; }
  uint32_t passes() const override { return range_.passes.value_or(1); }

  // The id of row `number`, which is in `unit`.
  static RowId id_of(const Unit& unit, uint64_t number) {
    return {.source = unit.source, .pass = unit.pass, .offset = number, .line = number + 1, .next_line = number + 2};
  }

 private:
  Unit unit(uint64_t begin, uint64_t count, uint32_t pass) const;

  std::string place_;
  const IndexRange range_;
  const std::unique_ptr<Transform> producer_;
  uint32_t source_ = 0;
  uint64_t pass_ = 0, end_pass_ = 0;
  uint64_t at_ = 0;    // the next row
  bool fresh_ = true;  // no unit was made of this pass: there is one, though it be empty
};

}  // namespace millrace

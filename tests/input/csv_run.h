// CsvRun: filename_queue, csv_reader and decode_csv run to their end by the plainest stream there can be: one unit
// after another, guesses checked and repeated, lines made absolute. What happens comes out as lines of text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/input/run/transform_chain.h"
#include "tests/input/op_testing.h"

namespace millrace::testing_support {

struct CsvSetup {
  MemoryFiles* files = nullptr;
  Spec queue = Spec::map();
  Spec reader = Spec::map();
  Spec decode = Spec::map();
  uint64_t seed = 0;
};

class CsvRun {
 public:
  explicit CsvRun(const CsvSetup& setup)
      : queue_(make_op<NameSource>("filename_queue", setup.queue)),
        reader_(make_op<RowSource>("csv_reader", setup.reader)),
        decode_(make_op<Transform>("decode_csv", setup.decode)) {
    BindArgs args;
    args.files = setup.files;
    args.seed = setup.seed;
    args.name = "filename_queue";
    ports_.push_back(queue_->bind(args));
    args.names = queue_.get();
    args.name = "csv_reader";
    args.inputs = {&ports_[0], 1};
    ports_.push_back(reader_->bind(args));
    args.name = "decode_csv";
    args.inputs = {&ports_[1], 1};
    ports_.push_back(decode_->bind(args));
    chain_ = std::make_unique<TransformChain>(
        PortType::none,
        std::vector<ChainLink>{link("read", reader_->producer(), ports_[1]), link("decode_csv", *decode_, ports_[2])});
  }

  NameSource& queue() { return *queue_; }
  RowSource& reader() { return *reader_; }
  const Port& text_port() const { return ports_[1]; }
  const Port& output() const { return ports_[2]; }
  std::vector<RowId> ids;  // of the rows that came
  int repeated = 0;        // units that were guessed wrongly

  // Runs until the data, the `units` or the luck ends. One line each: "a.csv:1 x=1,2", "bad a.csv:3:5 why",
  // "error a.csv:4:1: what; hint".
  std::vector<std::string> run(int units = 1 << 20) {
    lines_.clear();
    Unit unit;
    while (units-- > 0 && reader_->next(unit) && step(unit)) {
    }
    return lines_;
  }

  // The same as run(), for the record `id` alone.
  std::vector<std::string> fetch(const RowId& id) {
    lines_.clear();
    step(reader_->unit_of(id));
    return lines_;
  }

 private:
  static ChainLink link(const char* name, const Transform& transform, const Port& output) {
    ChainLink out;
    out.transform = &transform;
    out.name = name;
    out.output = output;
    return out;
  }

  bool step(Unit unit) {
    if (unit.begin == 0 || unit.exact) {
      expected_ = unit.begin;
      line_ = unit.line;
    }
    chunk_.reset(unit);
    std::exception_ptr failure = chain_->apply(chunk_, memory_);
    if (!unit.exact && chunk_.first_record != expected_) {
      if (expected_ >= unit.end) return true;
      ++repeated;
      unit.begin = expected_;
      unit.exact = true;
      chunk_.reset(unit);
      failure = chain_->apply(chunk_, memory_);
    }
    if (failure != nullptr) {
      add_error(failure, {});
      return false;
    }
    return hand_on();
  }

  // False behind an error.
  bool hand_on() {
    size_t note = 0;
    for (int64_t row = 0; row <= chunk_.rows.size(); ++row) {
      for (; note < chunk_.notes.size() && chunk_.notes[note].row <= row; ++note) {
        if (!add_note(chunk_.notes[note])) return false;
      }
      if (row == chunk_.rows.size()) break;
      RowId id = chunk_.rows.id(row);
      id.line += line_;
      id.next_line += line_;
      ids.push_back(id);
      lines_.push_back(cat(reader_->place(id).text(), " ", row_text(chunk_.rows, row)));
    }
    expected_ = std::max(expected_, chunk_.end_record);
    line_ += chunk_.lines;
    return true;
  }

  bool add_note(const Note& note) {
    Place place = note.place;
    place.line += static_cast<int64_t>(line_);
    if (note.kind == Note::Kind::error) {
      add_error(note.error, place);
      return false;
    }
    lines_.push_back(note.kind == Note::Kind::print ? cat("print ", note.text)
                                                    : cat("bad ", place.text(), ' ', note.text));
    return true;
  }

  void add_error(const std::exception_ptr& error, const Place& place) {
    try {
      raise_copy(error, place);
    } catch (const Error& raised) {
      lines_.push_back(cat("error ", raised.what()));
    }
  }

  std::unique_ptr<NameSource> queue_;
  std::unique_ptr<RowSource> reader_;
  std::unique_ptr<Transform> decode_;
  std::vector<Port> ports_;
  std::unique_ptr<TransformChain> chain_;
  TaskMemory memory_;
  Chunk chunk_;
  uint64_t expected_ = 0, line_ = 1;
  std::vector<std::string> lines_;
};

// The lines of one file "t.csv" with these bytes.
inline std::vector<std::string> run_text(const std::string& text, const Spec& decode, Spec reader = Spec::map()) {
  MemoryFiles files;
  files.files["t.csv"] = text;
  CsvSetup setup;
  setup.files = &files;
  setup.queue.set("files", "t.csv").set("epochs", 1);
  setup.reader = std::move(reader);
  setup.decode = decode;
  return CsvRun(setup).run();
}

}  // namespace millrace::testing_support

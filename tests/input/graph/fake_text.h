// A source of text for the tests of the graph: files in memory, cut into units of any size, with quoted newlines.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/random.h"
#include "tests/input/graph/fake_ops.h"

namespace millrace::fake {

// A record of a text: a line that may hold newlines between quotes.
struct Record {
  std::string text;
  std::string file;
  uint64_t offset = 0, length = 0, line = 0, next_line = 0;
  bool operator==(const Record&) const = default;
};

// Reads one record of `text` at `at`, which is moved behind it; counts line ends.
inline std::string_view cut_record(std::string_view text, uint64_t& at, uint64_t& lines) {
  const uint64_t begin = at;
  bool quoted = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (text[at] != '\n') continue;
    ++lines;
    if (!quoted) {
      ++at;
      return text.substr(begin, at - begin - 1);
    }
  }
  ++lines;
  return text.substr(begin);
}

// What a reader should find, by the plainest way.
inline std::vector<Record> records_of(const std::vector<std::string>& files, bool header) {
  std::vector<Record> out;
  for (size_t file = 0; file < files.size(); ++file) {
    uint64_t at = 0, line = 1;
    for (bool first = true; at < files[file].size(); first = false) {
      const uint64_t begin = at, begin_line = line;
      const std::string_view record = cut_record(files[file], at, line);
      if ((first && header) || record.empty()) continue;
      out.push_back({std::string(record), cat("file-", file), begin, at - begin, begin_line, line});
    }
  }
  return out;
}

// Random text of about `records` records; some hold newlines, some lines are blank.
inline std::string random_text(uint64_t seed, int records) {
  std::string out = "header\n";
  auto draw = [&, index = uint64_t{0}](uint64_t n) mutable { return scale_to(philox64(seed, 9, index++), n); };
  for (int i = 0; i < records; ++i) {
    if (draw(10) == 0) out += '\n';
    const uint64_t parts = 1 + draw(3);
    for (uint64_t part = 0; part < parts; ++part) {
      out += cat(draw(100000));
      if (draw(2) == 0) continue;
      out += '"';
      for (uint64_t lines = draw(6); lines > 0; --lines) out += cat(draw(1000), '\n');
      out += '"';
    }
    if (i + 1 < records || draw(2) == 0) out += '\n';
  }
  return out;
}

class Lines : public RowSource {
 public:
  Lines(std::vector<std::string> files, uint64_t unit_bytes, bool header, uint32_t passes = 1)
      : files_(std::move(files)), unit_bytes_(unit_bytes), passes_(passes), producer_(*this, header) {
    for (size_t i = 0; i < files_.size(); ++i) {
      entries_.push_back(
          std::make_shared<FileEntry>(FileEntry{cat("file-", i), static_cast<uint32_t>(i), files_[i].size()}));
    }
  }

  std::vector<PortType> inputs() const override { return {}; }
  Port bind(const BindArgs&) override { return {.type = PortType::text, .format = {}, .rows = {}}; }
  bool next(Unit& unit) override {
    if (begun_ && at_ >= files_[file_].size()) {
      at_ = 0;
      line_ = 1;
      begun_ = false;
      pass_ += ++file_ == files_.size() ? 1 : 0;
      file_ %= files_.size();
    }
    if (pass_ >= passes_) return false;
    unit = {};
    unit.file = entries_[file_];
    unit.begin = at_;
    unit.end = std::min<uint64_t>(files_[file_].size(), at_ + unit_bytes_);
    unit.pass = run_ * passes_ + pass_;
    unit.file_ordinal = static_cast<uint32_t>(file_);
    unit.exact = !begun_ || sought_;
    unit.line = unit.exact ? line_ : 0;
    at_ = unit.end;
    begun_ = true;
    sought_ = false;
    return true;
  }
  ChunkBound chunk_bound() const override { return {unit_bytes_, unit_bytes_, unit_bytes_}; }
  void rewind(uint32_t run) override {
    run_ = run;
    pass_ = 0;
    file_ = 0;
    at_ = 0;
    line_ = 1;
    begun_ = sought_ = false;
  }
  void seek(const Position& position) override {
    pass_ = position.pass - run_ * passes_;
    file_ = position.file_ordinal;
    at_ = position.offset;
    line_ = position.line;
    begun_ = sought_ = true;
  }
  void save(State& state) const override { state.set("files", files_.size()); }
  void check(const State& state) const override {
    if (state.value("files") != files_.size()) throw DataError("another number of files");
  }
  Unit unit_of(const RowId& id) const override {
    Unit unit;
    unit.file = entries_[id.file];
    unit.begin = id.offset;
    unit.end = id.offset + id.length;
    unit.pass = id.pass;
    unit.file_ordinal = id.file;
    unit.exact = true;
    unit.line = id.line;
    return unit;
  }
  Place place(const RowId& id) const override { return {entries_[id.file]->path, static_cast<int64_t>(id.line), 0}; }
  const Transform& producer() const override { return producer_; }
  const std::string& text(size_t file) const { return files_[file]; }

  // Called in every task, before it reads.
  void on_task(std::function<void(const Unit&)> call) { producer_.call = std::move(call); }

 private:
  class View : public ChunkText {
   public:
    void set(std::string_view text, uint64_t offset, uint64_t limit) {
      data_ = text.data() + offset;
      size_ = text.size() - offset;
      offset_ = offset;
      limit_ = limit;
      at_end_ = true;
    }
    void extend() override {}
  };
  struct Producer : Transform {
    Producer(const Lines& given, bool with_header) : lines(given), header(with_header) {}
    std::vector<PortType> inputs() const override { return {}; }
    Port bind(const BindArgs&) override { return {}; }
    void apply(Chunk& chunk) const override {
      if (call) call(chunk.unit);
      const std::string& text = lines.files_[chunk.unit.file->index];
      uint64_t first = chunk.unit.begin;
      if (!chunk.unit.exact) {
        const size_t end = text.find('\n', first - 1);
        first = end == std::string::npos ? text.size() : end + 1;
      }
      chunk.first_record = first;
      if (header && first == 0) cut_record(text, first, chunk.lines);
      if (!chunk.text) chunk.text = std::make_unique<View>();
      static_cast<View&>(*chunk.text).set(text, first, chunk.unit.end);
    }
    const Lines& lines;
    bool header;
    std::function<void(const Unit&)> call;
  };

  std::vector<std::string> files_;
  std::vector<std::shared_ptr<const FileEntry>> entries_;
  uint64_t unit_bytes_;
  uint32_t passes_;
  Producer producer_;
  size_t file_ = 0;
  uint32_t run_ = 0, pass_ = 0;
  uint64_t at_ = 0, line_ = 1;
  bool begun_ = false, sought_ = false;
};

// text -> rows: the hash of each record. A record that holds `bad` is a bad row, one that holds `fatal` an error.
class Cut : public Transform {
 public:
  explicit Cut(std::string bad = "", std::string fatal = "") : bad_(std::move(bad)), fatal_(std::move(fatal)) {}
  std::vector<PortType> inputs() const override { return {PortType::text}; }
  Port bind(const BindArgs&) override { return {.type = PortType::rows, .format = {}, .rows = integer_rows()}; }
  void apply(Chunk& chunk) const override {
    const std::string_view bytes = chunk.text->bytes();
    chunk.rows.configure(integer_rows(), 4);
    uint64_t at = 0;
    while (at < bytes.size() && chunk.text->offset() + at < chunk.text->limit()) {
      const uint64_t begin = at, line = chunk.lines;
      const std::string_view record = cut_record(bytes, at, chunk.lines);
      if (record.empty()) continue;
      const Place place = {chunk.unit.file->path, static_cast<int64_t>(line), 1};
      if (!fatal_.empty() && record.find(fatal_) != std::string_view::npos) {
        chunk.fail(std::make_exception_ptr(DataError("a fatal record")), place);
        return;
      }
      if (!bad_.empty() && record.find(bad_) != std::string_view::npos) {
        chunk.add({.kind = Note::Kind::bad_row, .row = chunk.rows.size(), .place = place, .text = "a bad record"});
        continue;
      }
      if (chunk.rows.size() == chunk.rows.capacity()) chunk.rows.grow(2 * chunk.rows.capacity());
      const int64_t row = chunk.rows.size();
      chunk.rows.resize(row + 1);
      value(chunk.rows, row) = static_cast<int64_t>(fnv1a64(record));
      chunk.rows.id(row) = {.source = 0,
                            .pass = chunk.unit.pass,
                            .file = chunk.unit.file->index,
                            .length = static_cast<uint32_t>(at - begin),
                            .offset = chunk.text->offset() + begin,
                            .line = line,
                            .next_line = chunk.lines};
    }
    chunk.end_record = std::max(chunk.text->offset() + at, chunk.first_record);
  }

 private:
  std::string bad_, fatal_;
};

}  // namespace millrace::fake

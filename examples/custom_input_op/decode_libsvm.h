// decode_libsvm: rows from lines of text that name their values by number, "label index:value index:value ..".
//
//   - filename_queue: {files: "data/*.svm", epochs: 5}
//   - csv_reader: {quote: none}                   # reads the files in ranges; what a line holds is no matter to it
//   - decode_libsvm: {features: 123}
//   - shuffle_batch: {batch_size: 64, min_after_dequeue: 5000}
//
// Indices begin with 1 and rise; values that a line does not name are 0. Blank lines are skipped.
#pragma once

#include <millrace/extend.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

enum class BadLine { fail, skip };
template <>
struct millrace::EnumNames<BadLine> {
  static constexpr std::pair<std::string_view, BadLine> kNames[] = {{"fail", BadLine::fail}, {"skip", BadLine::skip}};
};

struct LibsvmOptions {
  int64_t features = 0;
  BadLine on_bad_row = BadLine::fail;
  void declare(millrace::OptionReader& o) {
    o.required("features", features, {.min = 1, .max = 1 << 24}, "values of a row; the largest index");
    o.optional("on_bad_row", on_bad_row, "fail, or leave out the lines that are wrong");
    o.used_as("on_bad_row", millrace::OptionUse::bad_rows);
    o.in_pass("on_bad_row", BadLine::fail);
  }
};

// Reads a line, and remembers the first thing that is wrong with it.
class LibsvmLine {
 public:
  explicit LibsvmLine(std::string_view line) : line_(line) { at_end(); }

  // Stores label and values; false if something is wrong.
  bool read(float* label, float* values, int64_t features) {
    std::fill_n(values, features, 0.0f);
    begin_ = at_;
    if (!number(*label) || !at_blank() || !std::isfinite(*label)) return expected("a number as label");
    for (int64_t last = 0; !at_end();) {
      begin_ = at_;
      int64_t index = 0;
      if (!number(index) || !colon()) return expected("index:value");
      if (index < 1 || index > features) return expected(millrace::cat("an index from 1 to ", features));
      if (index <= last) return expected(millrace::cat("an index above ", last));
      if (!number(values[index - 1]) || !at_blank()) return expected("index:value");
      last = index;
    }
    return true;
  }

  const std::string& fault() const { return fault_; }
  // The column where the fault begins, from 1.
  int64_t column() const { return static_cast<int64_t>(begin_) + 1; }

 private:
  bool at_end() {
    at_ = std::min(line_.find_first_not_of(" \t", at_), line_.size());
    return at_ == line_.size();
  }
  bool at_blank() const { return at_ == line_.size() || line_[at_] == ' ' || line_[at_] == '\t'; }
  bool colon() { return line_.substr(at_).starts_with(':') && ++at_ > 0; }

  // Reads a number, with or without a sign. A number too small for a float becomes 0.
  bool number(int64_t& value) { return parse(value) == std::errc(); }
  bool number(float& value) {
    double wide = 0;
    if (parse(wide) != std::errc()) return false;
    value = static_cast<float>(wide);
    return std::isfinite(value) == std::isfinite(wide);
  }
  template <class T>
  std::errc parse(T& value) {
    if (line_.substr(at_).starts_with('+') && !line_.substr(at_).starts_with("+-")) ++at_;
    const char* const begin = line_.data() + at_;
    const auto [end, error] = std::from_chars(begin, line_.data() + line_.size(), value);
    at_ += static_cast<size_t>(end - begin);
    return error;
  }

  bool expected(std::string_view what) {
    const std::string_view rest = line_.substr(begin_);
    fault_ = millrace::cat("expected ", what, ", got ", millrace::quote(rest.substr(0, rest.find_first_of(" \t"))));
    return false;
  }

  std::string_view line_;
  size_t at_ = 0, begin_ = 0;  // where the next thing begins; where the current thing begins
  std::string fault_;
};

class DecodeLibsvm final : public millrace::Transform {
 public:
  using Options = LibsvmOptions;
  static constexpr std::string_view kDoc = "turns lines of a label and index:value pairs into rows";
  static constexpr std::string_view kExample = "features: 123";

  explicit DecodeLibsvm(const Options& options) : options_(options) {}

  std::vector<millrace::PortType> inputs() const override { return {millrace::PortType::text}; }

  millrace::Port bind(const millrace::BindArgs&) override {
    using millrace::DType, millrace::Shape;
    const millrace::RowSpec rows = {
        {{"features", DType::f32, Shape{options_.features}}, {"label", DType::f32, Shape{1}}}};
    spec_ = std::make_shared<const millrace::RowSpec>(rows);
    return {.type = millrace::PortType::rows, .rows = rows};
  }

  // A line belongs to the chunk in which it starts. This chunk's first line starts at text.bytes()[0]; the next chunk's
  // first line starts at the end_record of this one.
  void apply(millrace::Chunk& chunk) const override {
    millrace::ChunkText& text = *chunk.text;
    chunk.rows.configure(spec_, 1);  // it grows with the rows, as a row may be large
    size_t at = 0;
    for (bool more = true; more && text.offset() + at < text.limit();) {
      const std::string_view line = line_at(text, at);
      if (line.empty()) break;  // the file has ended
      more = add_row(chunk, line, text.offset() + at);
      at += line.size();
      ++chunk.lines;
    }
    chunk.end_record = text.offset() + at;
  }

  // Upper bound of the bytes of a note of refuse().
  uint64_t note_bytes() const override {
    return options_.on_bad_row == BadLine::skip ? sizeof(millrace::Note) + 1024 : 0;
  }

 private:
  // The bound of csv_reader's memory assumes records of at most this many bytes.
  static constexpr size_t kLongestLine = 16 << 20;

  // A line with its line end, if it has one. If it is too long, more than kLongestLine bytes of it.
  static std::string_view line_at(millrace::ChunkText& text, size_t at) {
    for (size_t from = at;;) {
      const size_t end = text.bytes().find('\n', from);
      if (end != std::string_view::npos) return text.bytes().substr(at, end + 1 - at);
      if (text.at_end() || text.bytes().size() - at > kLongestLine) return text.bytes().substr(at);
      from = text.bytes().size();
      text.extend();
    }
  }

  // Returns false if nothing more is to be read.
  bool add_row(millrace::Chunk& chunk, std::string_view line, uint64_t offset) const {
    std::string_view content = line;
    if (content.ends_with('\n')) content.remove_suffix(1);
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (line.size() > kLongestLine)
      return fail(chunk, millrace::cat("the line is longer than ", kLongestLine, " bytes"));
    if (content.find_first_not_of(" \t") == std::string_view::npos) return true;
    millrace::RowBlock& rows = chunk.rows;
    const int64_t row = rows.size();
    if (row == rows.capacity()) rows.grow(2 * row);
    rows.resize(row + 1);
    LibsvmLine reader(content);
    if (!reader.read(rows.row<float>(1, row), rows.row<float>(0, row), options_.features)) {
      rows.resize(row);
      return refuse(chunk, reader);
    }
    rows.id(row) = {.source = chunk.unit.source,
                    .pass = chunk.unit.pass,
                    .file = chunk.unit.file->index,
                    .length = static_cast<uint32_t>(line.size()),
                    .offset = offset,
                    .line = chunk.lines,
                    .next_line = chunk.lines + 1};
    return true;
  }

  // A place in the line that is being read. Lines count from the chunk's first record, whose line the graph knows.
  static millrace::Place place(const millrace::Chunk& chunk, int64_t column) {
    return {chunk.unit.file->path, static_cast<int64_t>(chunk.lines), column};
  }

  static bool fail(millrace::Chunk& chunk, const std::string& what, int64_t column = 1) {
    chunk.fail(std::make_exception_ptr(millrace::DataError(what)), place(chunk, column));
    return false;
  }

  bool refuse(millrace::Chunk& chunk, const LibsvmLine& line) const {
    if (options_.on_bad_row == BadLine::fail) return fail(chunk, line.fault(), line.column());
    millrace::Note note;
    note.kind = millrace::Note::Kind::bad_row;
    note.row = chunk.rows.size();
    note.place = place(chunk, line.column());
    note.text = line.fault();
    chunk.add(std::move(note));
    return true;
  }

  const Options options_;
  millrace::SharedRowSpec spec_;
};

// csv_reader: files -> text. Plans byte ranges of `chunk_bytes`; the transform "read" fetches them.
//
// A record belongs to the range where it starts, so one file is decoded by many threads.
#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/csv/range_reader.h"
#include "millrace/input/files/stream_file.h"
#include "millrace/input/sources/file_ranges.h"

namespace millrace {

enum class BlankLines { skip, error };
template <>
struct EnumNames<BlankLines> {
  static constexpr std::pair<std::string_view, BlankLines> kNames[] = {{"skip", BlankLines::skip},
                                                                       {"error", BlankLines::error}};
};

namespace {

// Ranges that are larger bring nothing, and would not fit the decoder's 32-bit positions.
constexpr uint64_t kMaxChunkBytes = 1u << 30;

struct CsvReaderOptions {
  bool header = false;
  int64_t skip_lines = 0;
  std::string delimiter = ",";
  std::string quote = "\"";
  std::string comment = "none";
  BlankLines blank_lines = BlankLines::skip;
  int64_t readers = 1;
  int64_t chunk_bytes = 262144;

  void declare(OptionReader& o) {
    o.optional("header", header, "the first record of every file names the columns");
    o.optional("skip_lines", skip_lines, {.min = 0}, "lines to pass at the start of every file");
    o.optional("delimiter", delimiter, "the byte between two fields");
    o.optional("quote", quote, "the byte around fields that hold delimiters or line ends, or none");
    o.optional("comment", comment, "lines that start with this byte are passed, or none");
    o.optional("blank_lines", blank_lines, "what to do with lines without any byte");
    o.optional("readers", readers, {.min = 1}, "files to take one record each of, in turn");
    o.not_in_pass("readers");
    o.optional("chunk_bytes", chunk_bytes, {.min = 1}, "bytes that one task reads and decodes");
    o.only_speed("chunk_bytes");
    o.used_as("chunk_bytes", OptionUse::chunk_bytes);
    if (o.reading()) check(o);
  }

  CsvDialect dialect() const {
    CsvDialect out;
    out.delimiter = delimiter.front();
    out.quote = byte_or_none(quote);
    out.comment = byte_or_none(comment);
    out.skip_blank_lines = blank_lines == BlankLines::skip;
    out.skip_lines = skip_lines;
    return out;
  }

 private:
  static std::optional<char> byte_or_none(const std::string& text) {
    return text == "none" ? std::nullopt : std::optional<char>(text.front());
  }

  void check(const OptionReader& o) const {
    check_byte(o, "delimiter", delimiter, false);
    check_byte(o, "quote", quote, true);
    check_byte(o, "comment", comment, true);
    check_differ(o, "quote", quote, "delimiter", delimiter);
    check_differ(o, "comment", comment, "delimiter", delimiter);
    check_differ(o, "comment", comment, "quote", quote);
  }

  static void check_byte(const OptionReader& o, std::string_view name, const std::string& text, bool may_be_none) {
    if (may_be_none && text == "none") return;
    if (text.size() == 1 && text != "\n" && text != "\r") return;
    throw o.node(name).error(
        cat("expected one byte other than a line end", may_be_none ? ", or none" : "", ", got ", millrace::quote(text)),
        byte_hint(text));
  }

  // The byte that a word or an escape without double quotes was meant to be.
  static std::string byte_hint(std::string_view text) {
    static constexpr std::pair<std::string_view, std::string_view> kBytes[] = {
        {"\\t", "\\t"}, {"tab", "\\t"}, {"TAB", "\\t"},    {"space", " "},
        {"comma", ","}, {"pipe", "|"},  {"semicolon", ";"}};
    for (const auto& [meant, byte] : kBytes) {
      if (text == meant) return cat("write \"", byte, "\" in double quotes");
    }
    return {};
  }

  static void check_differ(const OptionReader& o, std::string_view name, const std::string& text,
                           std::string_view other_name, const std::string& other) {
    if (text != other || text == "none") return;
    throw o.node(name).error(cat(name, " and ", other_name, " are both ", millrace::quote(text)));
  }
};

class CsvReader final : public RowSource {
 public:
  using Options = CsvReaderOptions;
  static constexpr std::string_view kLeads = "names to text";
  static constexpr std::string_view kDoc = "reads CSV files in ranges, by as many threads as decode them";
  static constexpr std::string_view kExample = "header: true";

  explicit CsvReader(Options options)
      : options_(std::move(options)),
        chunk_bytes_(std::min(static_cast<uint64_t>(options_.chunk_bytes), kMaxChunkBytes)),
        ranges_(chunk_bytes_) {}

  std::vector<PortType> inputs() const override { return {PortType::names}; }

  Port bind(const BindArgs& args) override {
    source_ = args.source_index;
    reader_ = std::make_unique<RangeReader>(*args.files, options_.header, options_.dialect(), chunk_bytes_);
    files_ = names_->files();
    if (options_.readers > 1 && has_streams()) {
      throw ConfigError(cat(args.name, ": several readers cannot share standard input or a pipe"), {},
                        "leave readers out, or write the data to files first");
    }
    for_each_stream([this](StreamFile& stream) { stream.set_part_bytes(chunk_bytes_); });
    reader_->learn(files_);
    return reader_->bind(args);
  }

  void check_files() const override {
    for (const auto& file : files_) reader_->check(file);
  }

  bool next(Unit& unit) override {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    while (!ranges_.next(unit)) {
      if (!start_file()) return false;
    }
    return true;
  }
  int64_t readers() const override { return options_.readers; }
  uint64_t range_bytes() const override { return chunk_bytes_; }

  // At the end of a file the next one decides.
  bool ready() noexcept override {
    for (;;) {
      const bool ready = ranges_.ready();  // asked first: a stream that ends meanwhile is ready, and has no more
      if (!ranges_.at_end()) return ready;
      try {
        if (!start_file()) return true;
      } catch (...) {
        failure_ = std::current_exception();
        return true;
      }
    }
  }

  void set_wake(const std::function<void()>& wake) override {
    for_each_stream([&](StreamFile& stream) { stream.set_wake(wake); });
  }
  void interrupt() noexcept override {
    for_each_stream([](StreamFile& stream) { stream.interrupt(); });
  }

  ChunkBound chunk_bound() const override {
    // A record has a byte for each of its fields, the last one's line end included; a blank line is no record.
    const uint64_t bytes = reader_->range_bytes();
    const auto shortest = static_cast<uint64_t>(std::max<int64_t>(reader_->dialect().columns, 2));
    const uint64_t shortest_bad = options_.blank_lines == BlankLines::skip ? 2 : 1;
    // A task has the part of a stream and its own copy.
    const uint64_t text = reader_->text_bound() * (has_streams() ? 2 : 1);
    return {text, bytes / shortest + 1, bytes / shortest_bad + 1};
  }
  uint64_t memory_bound() const override { return has_streams() ? StreamFile::memory_bound(chunk_bytes_) : 0; }

  void rewind(uint32_t run) override {
    names_->rewind(run);
    ranges_.clear();
  }

  void seek(const Position& position) override {
    names_->seek(position);
    ranges_.clear();
    start_file(position);
  }

  void save(State& state) const override { names_->save(state); }
  void check(const State& state) const override { names_->check(state); }

  Unit unit_of(const RowId& id) const override {
    Unit unit = names_->unit_of(id);
    unit.source = source_;
    unit.begin = id.offset;
    unit.end = id.offset + id.length;
    unit.exact = true;
    unit.line = id.line;
    return unit;
  }
  Place place(const RowId& id) const override { return names_->place(id); }
  bool endless() const override { return names_->endless(); }
  uint32_t passes() const override { return names_->passes(); }
  const Transform& producer() const override { return *reader_; }

 private:
  // Goes on with the next file; false at the end of the data.
  bool start_file(const Position& position = {}) {
    Unit file;
    if (!names_->next(file)) return false;
    file.source = source_;
    ranges_.start(file, position);
    return true;
  }

  bool has_streams() const {
    return std::any_of(files_.begin(), files_.end(), [](const auto& file) { return file->stream != nullptr; });
  }

  template <class Body>
  void for_each_stream(const Body& body) const {
    for (const auto& file : files_) {
      if (file->stream) body(*file->stream);
    }
  }

  const Options options_;
  const uint64_t chunk_bytes_;
  std::vector<std::shared_ptr<const FileEntry>> files_;
  std::unique_ptr<RangeReader> reader_;
  uint32_t source_ = 0;
  FileRanges ranges_;           // of the file that is being cut
  std::exception_ptr failure_;  // of the names, that ready() met: the error of the next row
};

}  // namespace

}  // namespace millrace

MILLRACE_REGISTER_OP(csv_reader, CsvReader);

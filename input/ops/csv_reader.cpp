// csv_reader: files -> text. A unit is a range of `chunk_bytes` bytes.
//
// A record belongs to the range where it starts, so one file is decoded by many threads.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/csv/range_reader.h"
#include "millrace/input/sources/file_source.h"

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

class CsvReader final : public FileSource {
 public:
  using Options = CsvReaderOptions;
  static constexpr std::string_view kLeads = "names to text";
  static constexpr std::string_view kDoc = "reads CSV files in ranges, by as many threads as decode them";
  static constexpr std::string_view kExample = "header: true";

  explicit CsvReader(Options options)
      : FileSource({.unit_bytes = std::min(static_cast<uint64_t>(options.chunk_bytes), kMaxChunkBytes),
                    .readers = options.readers}),
        options_(std::move(options)) {}

  Port open(const BindArgs&) override {
    reader_.emplace(open_files(), options_.header, options_.dialect(), unit_bytes());
    reader_->learn(files());
    return {.type = PortType::text, .format = std::make_shared<CsvDialect>(reader_->dialect())};
  }

  void check_files() const override {
    for (const auto& file : files()) reader_->check(file);
  }

  void read(Chunk& chunk) const override { reader_->read(chunk); }

  ChunkBound chunk_bound() const override {
    // A record has a byte for each of its fields, the last one's line end included; a blank line is no record.
    const uint64_t bytes = reader_->range_bytes();
    const auto shortest = static_cast<uint64_t>(std::max<int64_t>(reader_->dialect().columns, 2));
    const uint64_t shortest_bad = options_.blank_lines == BlankLines::skip ? 2 : 1;
    // A task has the part of a stream and its own copy.
    const uint64_t text = reader_->text_bound() * (has_streams() ? 2 : 1);
    return {text, bytes / shortest + 1, bytes / shortest_bad + 1};
  }

 private:
  const Options options_;
  std::optional<RangeReader> reader_;
};

}  // namespace

}  // namespace millrace

MILLRACE_REGISTER_OP(csv_reader, CsvReader);

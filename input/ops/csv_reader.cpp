// csv_reader: files -> text. A unit is a range of `chunk_bytes` bytes; of compressed files it is as large as it happens
// to be (input/compressed/text_units.h).
//
// A record belongs to the range where it starts, so one file is decoded by many threads.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/input/compressed/compressed_files.h"
#include "millrace/input/csv/file_text.h"
#include "millrace/input/files/foreign_file.h"

namespace millrace {

enum class BlankLines { skip, error };
template <>
struct EnumNames<BlankLines> {
  static constexpr std::pair<std::string_view, BlankLines> kNames[] = {{"skip", BlankLines::skip},
                                                                       {"error", BlankLines::error}};
};

enum class ReadCompressed { automatic, none };
template <>
struct EnumNames<ReadCompressed> {
  static constexpr std::pair<std::string_view, ReadCompressed> kNames[] = {{"auto", ReadCompressed::automatic},
                                                                           {"none", ReadCompressed::none}};
};

namespace {

// Larger ranges have no use, and would not fit the decoder's 32-bit positions.
constexpr uint64_t kMaxChunkBytes = 1u << 30;

struct CsvReaderOptions {
  bool header = false;
  int64_t skip_lines = 0;
  std::string delimiter = ",";
  std::string quote = "\"";
  std::string comment = "none";
  BlankLines blank_lines = BlankLines::skip;
  ReadCompressed compression = ReadCompressed::automatic;
  bool index = false;
  int64_t readers = 1;
  int64_t chunk_bytes = 262144;

  void declare(OptionReader& o) {
    o.optional("header", header, "the first record of every file names the columns");
    o.optional("skip_lines", skip_lines, {.min = 0}, "lines to skip at the start of every file");
    o.optional("delimiter", delimiter, "the byte between two fields");
    o.optional("quote", quote, "the byte around fields that hold delimiters or line ends, or none");
    o.optional("comment", comment, "lines that start with this byte are skipped; none skips no line");
    o.optional("blank_lines", blank_lines, "what to do with lines without any byte");
    o.optional("compression", compression,
               "auto: files that gzip or zstd compressed are known by their first bytes, and read as the text in them");
    o.optional("index", index,
               "keep places from which a compressed file can be read in the hidden file .NAME.index beside it");
    o.only_speed("index");
    o.not_in_pass("index");
    o.optional("readers", readers, {.min = 1}, "how many files are read in turn, one record from each");
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

  // A hint for a word, or an escape without double quotes, that stands for a byte.
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

void note_missing_end(Chunk& chunk) {
  chunk.add({.kind = Note::Kind::print,
             .text = cat("warning: ", chunk.unit.file->path,
                         ": the file ends without the mark of bgzip, an empty block; it may be cut off")});
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += name + ',';
  if (!out.empty()) out.pop_back();
  return out;
}

class CsvReader final : public FileSource {
 public:
  using Options = CsvReaderOptions;
  static constexpr std::string_view kLeads = "names to text";
  static constexpr std::string_view kDoc = "reads CSV files in ranges, with as many threads as decode them";
  static constexpr std::string_view kExample = "header: true";

  explicit CsvReader(Options options)
      : FileSource({.unit_bytes = std::min(static_cast<uint64_t>(options.chunk_bytes), kMaxChunkBytes),
                    .readers = options.readers}),
        options_(std::move(options)) {}

  Port open(const BindArgs&) override {
    dialect_ = options_.dialect();
    if (options_.compression == ReadCompressed::automatic) read_compressed(options_.index);
    for (const auto& file : files()) {
      if (file->size > 0 && learn_from(file)) break;
    }
    return {.type = PortType::text, .format = std::make_shared<CsvDialect>(dialect_)};
  }

  void check_files() const override { check_starts(); }

  // A file's first range begins with the preamble (skipped lines, header), however long that is; the text starts after
  // it.
  void read(Chunk& chunk) const override {
    const Unit& unit = chunk.unit;
    std::shared_ptr<const File> file = open_text(chunk, [&] { return open_unit(unit); });
    if (!file) return;
    auto& text = static_cast<FileText&>(*chunk.text);
    if (unit.begin == 0 && unit.pass == 0 && lacks_end(*unit.file)) note_missing_end(chunk);
    const bool inflated = is_compressed(*unit.file);
    if (!inflated) text.reserve(range_bytes());
    text.start(std::move(file), unit, inflated);
    chunk.first_record = chunk.end_record = text.offset();
    chunk.lines = 0;
    if (unit.begin > 0) return;
    check_is_text(text.bytes(), *unit.file);
    const Preamble preamble = pass_preamble(text, options_.header, dialect_, *unit.file);
    chunk.lines = preamble.lines;
    chunk.end_record = text.offset();
    if (preamble.has_header) check_header(text.scratch(), preamble, *unit.file);
  }

  ChunkBound chunk_bound() const override {
    // A record has at least one byte for each field: its delimiter or the line end. A blank line is not a record.
    const auto shortest = static_cast<uint64_t>(std::max<int64_t>(dialect_.columns, 2));
    const uint64_t shortest_bad = options_.blank_lines == BlankLines::skip ? 2 : 1;
    return bound_of_text({.longest = kMaxRecordBytes, .shortest = shortest, .shortest_bad = shortest_bad});
  }

 private:
  bool lacks_end(const FileEntry& file) const {
    const CompressedText* const text = compressed() != nullptr ? compressed()->known_text(file) : nullptr;
    return text != nullptr && text->lacks_end(*compressed()->raw(file));
  }

  // Throws DataError for bytes at the start of a file that no CSV text begins with.
  void check_is_text(std::string_view start, const FileEntry& file) const {
    const auto foreign = foreign_file(start);
    if (!foreign || !foreign->certain) return;
    const bool left = options_.compression == ReadCompressed::none && compression_of(start) != Compression::none;
    throw DataError("this is not CSV text", {file.path, 1, 1},
                    left ? cat("the file ", foreign->what, ": leave out compression: none") : foreign->hint());
  }

  // Takes the header, or the number of columns, from a file; false if the file has none.
  bool learn_from(const std::shared_ptr<const FileEntry>& file) {
    FileText text;
    text.start(open_file(*file).file, start_of(file), is_compressed(*file));
    check_is_text(text.bytes(), *file);
    const Preamble preamble = pass_preamble(text, options_.header, dialect_, *file);
    dialect_.file = file->path;
    if (!options_.header) return learn_columns(text);
    if (!preamble.has_header) return false;
    const ScannedRecord& header = text.scratch();
    for (size_t i = 0; i < header.size(); ++i) dialect_.header.emplace_back(header.field(i));
    dialect_.columns = static_cast<int64_t>(header.size());
    dialect_.first_record = header.text().substr(0, header.length);
    dialect_.header_line = static_cast<int64_t>(preamble.header_line) + 1;
    return true;
  }

  // Counts the fields of the first record without a fault.
  bool learn_columns(FileText& text) {
    const RecordScanner scanner(dialect_);
    ScannedRecord& record = text.scratch();
    for (;;) {
      const LineKind kind = line_kind(text.bytes(), text.at_end(), dialect_);
      if (text.bytes().empty() && text.at_end()) return false;
      if (kind == LineKind::more) {
        text.extend();
      } else if (kind != LineKind::record) {
        skip_line(text);
      } else {
        while (!scanner.scan(text.bytes(), text.at_end(), record)) text.extend();
        if (record.fault == SyntaxFault::none) break;
        if (!record.certain_end) return false;
        text.skip(record.length);
      }
    }
    dialect_.columns = static_cast<int64_t>(record.size());
    dialect_.first_record = record.text().substr(0, record.length);
    return true;
  }

  // Throws DataError if the header differs from the header of the first file.
  void check_header(const ScannedRecord& header, const Preamble& preamble, const FileEntry& file) const {
    const size_t columns = dialect_.header.size();
    size_t same = 0;
    while (same < std::min(header.size(), columns) && header.field(same) == dialect_.header[same]) ++same;
    if (same == header.size() && same == columns) return;
    std::vector<std::string> names;
    for (size_t i = 0; i < header.size(); ++i) names.emplace_back(header.field(i));
    const auto name = [same](const std::vector<std::string>& all) {
      return same < all.size() ? quote(all[same]) : std::string("nothing");
    };
    throw DataError(cat("the header differs from the header of ", dialect_.file, ": expected ",
                        quote(joined(dialect_.header), 200), ", got ", quote(joined(names), 200)),
                    {file.path, static_cast<int64_t>(preamble.header_line) + 1, 1},
                    cat("column ", same, ": expected ", name(dialect_.header), ", got ", name(names)));
  }

  const Options options_;
  CsvDialect dialect_;
};

}  // namespace

}  // namespace millrace

MILLRACE_REGISTER_OP(csv_reader, CsvReader);

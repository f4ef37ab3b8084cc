#include "millrace/input/csv/range_reader.h"

#include <algorithm>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

// How much of a file is looked at first.
constexpr uint64_t kFirstLook = 65536;
constexpr uint64_t kByteOrderMarkBytes = 3;

void note_growth(Chunk& chunk, uint64_t size) {
  const FileEntry& file = *chunk.unit.file;
  Note note;
  note.kind = Note::Kind::print;
  note.text = cat("warning: ", file.path, ": the file has grown since the run began, from ", file.size, " to ", size,
                  " bytes; what was added is not read");
  chunk.add(std::move(note));
}

Unit start_of(const std::shared_ptr<const FileEntry>& file) {
  Unit unit;
  unit.file = file;
  // Of a stream, as little as it takes: it may be slow.
  unit.end = file->stream ? kByteOrderMarkBytes : std::min(file->size, kFirstLook);
  unit.exact = true;
  unit.line = 1;
  return unit;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += name + ',';
  if (!out.empty()) out.pop_back();
  return out;
}

}  // namespace

RangeReader::RangeReader(OpenFiles& files, bool header, CsvDialect dialect, uint64_t chunk_bytes)
    : header_(header), dialect_(std::move(dialect)), chunk_bytes_(chunk_bytes), open_files_(files) {}

void RangeReader::read(Chunk& chunk) const {
  if (dynamic_cast<FileText*>(chunk.text.get()) == nullptr) chunk.text = std::make_unique<FileText>();
  auto& text = static_cast<FileText&>(*chunk.text);
  const Unit& unit = chunk.unit;
  OpenFiles::Opened opened;
  try {
    if (!unit.file->stream) text.take_turn();
    opened = open_files_.get(*unit.file);
  } catch (const IoError&) {
    text.fail(unit);
    chunk.fail(std::current_exception());
    return;
  }
  if (unit.begin == 0) {
    const uint64_t size = opened.just_now ? opened.file->size_at_open() : opened.file->size();
    if (size > unit.file->size) note_growth(chunk, size);
  }
  text.reserve(range_bytes_);
  text.start(std::move(opened.file), unit);
  chunk.first_record = chunk.end_record = text.offset();
  chunk.lines = 0;
  if (unit.begin > 0) return;
  const Preamble preamble = pass_preamble(text, header_, dialect_, *unit.file);
  chunk.lines = preamble.lines;
  chunk.end_record = text.offset();
  if (preamble.has_header) check_header(text.scratch(), preamble, *unit.file);
}

void RangeReader::check_header(const ScannedRecord& header, const Preamble& preamble, const FileEntry& file) const {
  const size_t columns = dialect_.header.size();
  size_t same = 0;
  while (same < std::min(header.size(), columns) && header.field(same) == dialect_.header[same]) ++same;
  if (same == header.size() && same == columns) return;
  std::vector<std::string> names;
  for (size_t i = 0; i < header.size(); ++i) names.emplace_back(header.field(i));
  const auto name = [same](const std::vector<std::string>& all) {
    return same < all.size() ? quote(all[same]) : std::string("nothing");
  };
  throw DataError(cat("the header differs from that of ", header_file_->path, ": expected ",
                      quote(joined(dialect_.header), 200), ", got ", quote(joined(names), 200)),
                  {file.path, static_cast<int64_t>(preamble.header_line) + 1, 1},
                  cat("column ", same, ": expected ", name(dialect_.header), ", got ", name(names)));
}

void RangeReader::learn(const std::vector<std::shared_ptr<const FileEntry>>& files) {
  for (const auto& file : files) largest_file_ = std::max(largest_file_, file->size);
  range_bytes_ = std::min(largest_file_, chunk_bytes_);
  for (const auto& file : files) {
    if (file->size > 0 && learn_from(file)) return;
  }
}

uint64_t RangeReader::text_bound() const {
  // The text grows by doubling, and never beyond its file.
  return std::min(chunk_bytes_ + 2 * kMaxRecordBytes, 2 * (largest_file_ + kFirstLook));
}

bool RangeReader::learn_from(const std::shared_ptr<const FileEntry>& file) {
  FileText text;
  text.start(open_files_.get(*file).file, start_of(file));
  const Preamble preamble = pass_preamble(text, header_, dialect_, *file);
  dialect_.file = file->path;
  if (!header_) return learn_columns(text);
  if (!preamble.has_header) return false;
  const ScannedRecord& header = text.scratch();
  for (size_t i = 0; i < header.size(); ++i) dialect_.header.emplace_back(header.field(i));
  header_file_ = file;
  dialect_.columns = static_cast<int64_t>(header.size());
  dialect_.first_record = header.text().substr(0, header.length);
  dialect_.header_line = static_cast<int64_t>(preamble.header_line) + 1;
  return true;
}

// From the first record without a fault.
bool RangeReader::learn_columns(FileText& text) {
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

void RangeReader::check(const std::shared_ptr<const FileEntry>& file) const {
  if (file->size == 0) return;
  Chunk chunk;
  chunk.unit = start_of(file);
  read(chunk);
  for (const Note& note : chunk.notes) {
    if (note.kind == Note::Kind::error) std::rethrow_exception(note.error);
  }
}

}  // namespace millrace

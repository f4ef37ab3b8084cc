#include "millrace/input/csv/file_text.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/record_error.h"
#include "millrace/input/files/stream_file.h"

namespace millrace {

namespace {

// How many bytes are read beyond a range: most records end within them, and they cost little compared to a range of the
// usual size.
constexpr uint64_t kSlack = 16384;

// Inflating costs more than reading, and a row that is read again needs only itself.
constexpr uint64_t kInflatedSlack = 4096;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

[[noreturn]] void throw_error(const RecordError& error, const FileEntry& file) {
  throw DataError("in the header: " + error.message, {file.path, static_cast<int64_t>(error.line) + 1, error.column},
                  error.hint);
}

void cut_header(FileText& text, const CsvDialect& dialect, const FileEntry& file, Preamble& out) {
  // Keeps all fields, because this header is compared with the whole header of the first file.
  const RecordScanner scanner(dialect, true);
  ScannedRecord& header = text.scratch();
  while (!scanner.scan(text.bytes(), text.at_end(), header)) text.extend();
  Record record;
  record.kind = Record::Kind::scanned;
  record.line = out.lines;
  record.scanned = &header;
  if (header.fault != SyntaxFault::none) throw_error(syntax_error(record, dialect), file);
  out.has_header = true;
  out.header_line = out.lines;
  out.lines += header.lines;
  text.skip(header.length);
}

}  // namespace

void FileText::reserve(uint64_t bytes) {
  const auto room = static_cast<size_t>(1 + bytes + kSlack);
  if (buffer_.size() < room) buffer_.resize(room);
}

void FileText::take_turn() {
  close();
  turn_.emplace();
}

void FileText::start(std::shared_ptr<const File> file, const Unit& unit, bool inflated) {
  file_ = std::move(file);
  entry_ = unit.file;
  const StreamPart* const part = unit.part.get();
  const bool at_record = unit.exact || (part != nullptr && part->at_record);
  unknown_size_ = inflated || entry_->stream;
  slack_ = inflated ? kInflatedSlack : kSlack;
  offset_ = end_ = part != nullptr ? part->begin : unit.begin - (at_record || inflated ? 0 : 1);
  limit_ = unknown_size_ ? unit.end : std::min(unit.end, entry_->size);
  data_ = buffer_.data();
  size_ = 0;
  at_end_ = false;
  if (part != nullptr) {
    make_room(part->bytes.size());
    part->bytes.copy(buffer_.data(), part->bytes.size());
    size_ = part->bytes.size();
    end_ += size_;
  }
  // An error in compressed data is told when the text before it is used up.
  if (inflated && end_ < limit_) read(limit_, end_ + 1);
  if (!inflated && part == nullptr) read(limit_ + kSlack, limit_);
  // A unit that begins before its part comes after an error, and nobody takes its rows.
  if (part != nullptr) skip_to(std::max(unit.begin, part->begin));
  if (!at_record) skip_to_record();
}

void FileText::fail(const Unit& unit) {
  file_ = nullptr;
  data_ = buffer_.data();
  size_ = 0;
  offset_ = limit_ = unit.end;
  at_end_ = true;
}

void FileText::extend() {
  const uint64_t from = std::max(limit_, offset_);  // bytes that were skipped are not held
  read(end_ + std::max(end_ > from ? end_ - from : 0, slack_), end_ + 1);
}

void FileText::close() noexcept {
  file_ = nullptr;
  turn_.reset();
}

void FileText::skip(size_t bytes) {
  data_ += bytes;
  size_ -= bytes;
  offset_ += bytes;
}

// Appends up to file offset `to`; what was skipped makes room. If the size of the text is unknown, what is there must
// do after `at_least`.
void FileText::read(uint64_t to, uint64_t at_least) {
  if (!unknown_size_) to = std::min(to, entry_->size);
  const size_t more = to > end_ ? static_cast<size_t>(to - end_) : 0;
  make_room(more);
  if (unknown_size_) {
    while (end_ < at_least && !at_end_) {
      const size_t got = file_->read(end_, buffer_.data() + size_, static_cast<size_t>(to - end_));
      size_ += got;
      end_ += got;
      at_end_ = got == 0;
    }
    return;
  }
  const size_t got = more == 0 ? 0 : file_->read(end_, buffer_.data() + size_, more);
  if (got < more) throw_shrunk(*entry_, std::min(end_ + got, file_->size()));
  size_ += more;
  end_ += more;
  at_end_ = end_ == entry_->size;
}

// Makes room for `bytes` more after the bytes that are held, which move to the front.
void FileText::make_room(size_t bytes) {
  if (size_ > 0 && data_ != buffer_.data()) std::memmove(buffer_.data(), data_, size_);
  if (buffer_.size() < size_ + bytes) buffer_.resize(size_ + bytes);
  data_ = buffer_.data();
}

// Drops the bytes before offset `to`.
void FileText::skip_to(uint64_t to) {
  while (end_ < to && !at_end_) read(std::max(limit_, end_ + slack_), end_ + 1);
  skip(static_cast<size_t>(std::min(end_, to) - offset_));
}

// A record starts after a line end; one that starts at the limit is the next range's.
void FileText::skip_to_record() {
  const uint64_t last = limit_ - 1;  // after a line end here, the next range begins
  for (;;) {
    const size_t look = static_cast<size_t>(std::min<uint64_t>(size_, last > offset_ ? last - offset_ : 0));
    const size_t found = bytes().substr(0, look).find('\n');
    if (found != std::string_view::npos) return skip(found + 1);
    if (end_ >= last || at_end_) return skip_to(limit_);
    extend();
  }
}

std::shared_ptr<const File> open_text(Chunk& chunk, FunctionRef<OpenedFile()> open) {
  if (dynamic_cast<FileText*>(chunk.text.get()) == nullptr) chunk.text = std::make_unique<FileText>();
  auto& text = static_cast<FileText&>(*chunk.text);
  const FileEntry& entry = *chunk.unit.file;
  try {
    if (!entry.stream) text.take_turn();
    OpenedFile opened = open();
    if (chunk.unit.begin > 0) return opened.file;
    const uint64_t size = opened.just_now ? opened.file->size_at_open() : opened.file->size();
    if (size > entry.size) {
      chunk.add({.kind = Note::Kind::print,
                 .text = cat("warning: ", entry.path, ": the file has grown since the run began, from ", entry.size,
                             " to ", size, " bytes; what was added is not read")});
    }
    return opened.file;
  } catch (const IoError&) {
    text.fail(chunk.unit);
    chunk.fail(std::current_exception());
    return nullptr;
  }
}

void skip_line(FileText& text) {
  for (;;) {
    const std::string_view bytes = text.bytes();
    const size_t end = bytes.find('\n');
    text.skip(end == bytes.npos ? bytes.size() : end + 1);
    if (end != bytes.npos || text.at_end()) return;
    text.extend();
  }
}

Preamble pass_preamble(FileText& text, bool header, const CsvDialect& dialect, const FileEntry& file) {
  Preamble out;
  while (text.bytes().size() < kByteOrderMark.size() && kByteOrderMark.starts_with(text.bytes()) && !text.at_end()) {
    text.extend();
  }
  if (text.bytes().starts_with(kByteOrderMark)) text.skip(kByteOrderMark.size());
  for (int64_t i = 0; i < dialect.skip_lines && !(text.bytes().empty() && text.at_end()); ++i) {
    skip_line(text);
    ++out.lines;
  }
  while (header && !out.has_header && !(text.bytes().empty() && text.at_end())) {
    switch (line_kind(text.bytes(), text.at_end(), dialect)) {
      case LineKind::more: text.extend(); break;
      case LineKind::blank:
        if (!dialect.skip_blank_lines) throw_error(blank_line_error(Record{.line = out.lines}), file);
        [[fallthrough]];
      case LineKind::comment:
        skip_line(text);
        ++out.lines;
        break;
      case LineKind::record: cut_header(text, dialect, file, out); break;
    }
  }
  return out;
}

}  // namespace millrace

#include "millrace/input/csv/bad_rows_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

unsigned byte_at(std::string_view text, size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// How many bytes the UTF-8 character at text[at] has; 0 when there is none.
size_t character_bytes(std::string_view text, size_t at) {
  const unsigned first = byte_at(text, at);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  // The second byte's range shuts out long forms, surrogates and what lies beyond U+10FFFF.
  unsigned low = 0x80, high = 0xbf;
  if (first == 0xe0) low = 0xa0;
  if (first == 0xed) high = 0x9f;
  if (first == 0xf0) low = 0x90;
  if (first == 0xf4) high = 0x8f;
  if (first < 0xc2 || first > 0xf4) return 0;
  if (byte_at(text, at + 1) < low || byte_at(text, at + 1) > high) return 0;
  for (size_t i = 2; i < bytes; ++i) {
    if ((byte_at(text, at + i) & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

void append_escaped(char c, std::string& out) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20) {
    out += c;
  } else {
    out += "\\u00";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = character_bytes(text, at);
    if (bytes == 1) {
      append_escaped(text[at], out);
    } else {
      out += bytes == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(at, bytes);
    }
    at += std::max<size_t>(bytes, 1);
  }
  out += '"';
  return out;
}

void BadRowsFile::add(const BadRow& row) {
  if (!out_.is_open()) open(std::ios::trunc);
  const bool has_value = !row.field.empty();
  out_ << "{\"file\":" << json_string(row.place.file) << ",\"line\":" << cat(row.place.line)
       << ",\"column\":" << cat(row.place.column) << ",\"field\":" << (has_value ? json_string(row.field) : "null")
       << ",\"text\":" << (has_value ? json_string(row.text) : "null") << ",\"reason\":" << json_string(row.reason)
       << "}\n"
       << std::flush;
  if (!out_) throw IoError("cannot write the file of bad rows", {path_});
}

void BadRowsFile::resume(uint64_t rows) {
  std::ifstream in(path_, std::ios::binary);
  if (rows == 0 || !in) return;
  uint64_t lines = 0, bytes = 0;
  for (std::string line; lines < rows && std::getline(in, line) && !in.eof(); ++lines) bytes += line.size() + 1;
  if (lines < rows) {
    throw DataError(cat("the file of bad rows has ", count_of(static_cast<int64_t>(lines), "line"), ", but ", rows,
                        " were written before the state was saved"),
                    {path_}, "give bad_rows_file another path, or move the file away");
  }
  std::error_code failure;
  std::filesystem::resize_file(path_, bytes, failure);
  if (failure) throw IoError(cat("cannot shorten the file of bad rows: ", failure.message()), {path_});
  open(std::ios::app);
}

void BadRowsFile::open(std::ios::openmode mode) {
  out_.open(path_, std::ios::binary | mode);
  if (!out_)
    throw IoError("cannot write the file of bad rows", {path_}, "is there such a folder, and may you write to it?");
}

}  // namespace millrace

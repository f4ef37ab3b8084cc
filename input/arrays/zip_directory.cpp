#include "millrace/input/arrays/zip_directory.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

using namespace std::string_view_literals;

constexpr uint64_t kMostDirectoryBytes = uint64_t{16} << 20;
constexpr uint64_t kInZip64 = 0xffffffff, kCountInZip64 = 0xffff;  // these numbers say: look there

// Little-endian numbers of the record at byte `at` of the archive, which begins with `mark`.
class ZipRecord {
 public:
  ZipRecord(std::string_view text, std::string_view mark, size_t bytes, uint64_t at) : text_(text) {
    if (text.size() < bytes || !text.starts_with(mark)) throw damaged_archive(at);
  }
  uint64_t number(size_t at, size_t bytes) const {
    uint64_t out = 0;
    for (size_t i = bytes; i-- > 0;) out = out << 8 | static_cast<unsigned char>(text_[at + i]);
    return out;
  }

 private:
  std::string_view text_;
};

// Where the directory lies.
struct DirectoryPlace {
  uint64_t members, bytes, begin;
};

constexpr std::string_view kEndMark = "PK\5\6";
constexpr size_t kEndBytes = 22, kMostComment = 65535, kLocatorBytes = 20, kEnd64Bytes = 56;

DirectoryPlace find_directory(const FileRange& archive) {
  const uint64_t tail_begin = archive.size - std::min<uint64_t>(archive.size, kEndBytes + kMostComment);
  const std::string text = archive.read(tail_begin, kEndBytes + kMostComment);
  const std::string_view tail = text;
  // The record is the last one whose comment ends where the file does.
  const auto is_end = [&](size_t at) {
    if (tail.size() - at < kEndBytes) return false;
    return ZipRecord(tail.substr(at), kEndMark, kEndBytes, tail_begin + at).number(20, 2) ==
           tail.size() - at - kEndBytes;
  };
  size_t at = tail.rfind(kEndMark);
  while (at != tail.npos && !is_end(at)) at = at == 0 ? tail.npos : tail.rfind(kEndMark, at - 1);
  if (at == tail.npos) {
    const std::string other = archive.read(0, 2) == "PK" ? "" : other_format_hint(archive);
    throw DataError("this is no zip archive", {}, other.empty() ? "was the file cut short?" : other);
  }
  const ZipRecord end(tail.substr(at), kEndMark, kEndBytes, tail_begin + at);
  DirectoryPlace out = {end.number(10, 2), end.number(12, 4), end.number(16, 4)};
  uint64_t limit = tail_begin + at;
  if (out.members == kCountInZip64 || out.bytes == kInZip64 || out.begin == kInZip64) {
    if (limit < kLocatorBytes) throw damaged_archive(limit);
    const std::string locator_text = archive.read(limit - kLocatorBytes, kLocatorBytes);
    const ZipRecord locator(locator_text, "PK\6\7"sv, kLocatorBytes, limit - kLocatorBytes);
    limit = std::min(limit, locator.number(8, 8));
    const std::string end_text = archive.read(limit, kEnd64Bytes);
    const ZipRecord end64(end_text, "PK\6\6"sv, kEnd64Bytes, limit);
    out = {end64.number(32, 8), end64.number(40, 8), end64.number(48, 8)};
  }
  if (out.begin > limit || out.bytes > limit - out.begin) throw damaged_archive(limit);
  if (out.bytes > kMostDirectoryBytes) {
    throw DataError(
        cat("the list of the archive's members has ", out.bytes, " bytes, at most ", kMostDirectoryBytes, " are read"));
  }
  return out;
}

// Takes the sizes and the place that lie in the extra field for zip64, because 32 bits do not hold them.
void take_zip64(std::string_view extra, uint64_t at, ZipMember& member) {
  uint64_t* const numbers[] = {&member.bytes, &member.packed_bytes, &member.header};
  if (std::ranges::none_of(numbers, [](const uint64_t* number) { return *number == kInZip64; })) return;
  while (extra.size() >= 4) {
    const ZipRecord field(extra, "", 4, at);
    const uint64_t bytes = field.number(2, 2);
    if (bytes > extra.size() - 4) break;
    if (field.number(0, 2) == 1) {
      std::string_view left = extra.substr(4, static_cast<size_t>(bytes));
      for (uint64_t* const number : numbers) {
        if (*number != kInZip64) continue;
        *number = ZipRecord(left, "", 8, at).number(0, 8);
        left.remove_prefix(8);
      }
      return;
    }
    extra.remove_prefix(static_cast<size_t>(4 + bytes));
  }
}

}  // namespace

DataError damaged_archive(uint64_t at) {
  return DataError(cat("the zip archive is damaged, at byte ", at, " of the file"));
}

std::vector<ZipMember> read_zip_directory(const FileRange& archive) {
  constexpr size_t kEntryBytes = 46;
  const DirectoryPlace place = find_directory(archive);
  const std::string text = archive.read(place.begin, static_cast<size_t>(place.bytes));
  std::string_view left = text;
  std::vector<ZipMember> out;
  while (!left.empty()) {
    const uint64_t at = place.begin + text.size() - left.size();
    const ZipRecord entry(left, "PK\1\2"sv, kEntryBytes, at);
    const auto name = static_cast<size_t>(entry.number(28, 2)), extra = static_cast<size_t>(entry.number(30, 2)),
               comment = static_cast<size_t>(entry.number(32, 2));
    ZipRecord(left, "PK\1\2"sv, kEntryBytes + name + extra + comment, at);
    ZipMember& member = out.emplace_back();
    member.name = left.substr(kEntryBytes, name);
    member.method = static_cast<ZipMember::Method>(entry.number(10, 2));
    member.encrypted = (entry.number(8, 2) & 1) != 0;
    member.crc = static_cast<uint32_t>(entry.number(16, 4));
    member.packed_bytes = entry.number(20, 4);
    member.bytes = entry.number(24, 4);
    member.header = entry.number(42, 4);
    take_zip64(left.substr(kEntryBytes + name, extra), at, member);
    left.remove_prefix(kEntryBytes + name + extra + comment);
  }
  if (out.size() != place.members) throw damaged_archive(place.begin);
  return out;
}

FileRange bytes_of(const ZipMember& member, const FileRange& archive) {
  constexpr size_t kHeaderBytes = 30;
  const std::string text = archive.read(member.header, kHeaderBytes);
  const ZipRecord header(text, "PK\3\4"sv, kHeaderBytes, member.header);
  const uint64_t before = kHeaderBytes + header.number(26, 2) + header.number(28, 2);
  const uint64_t left = archive.size - member.header;
  if (before > left || member.packed_bytes > left - before) throw damaged_archive(member.header);
  return {archive.file, archive.begin + member.header + before, member.packed_bytes};
}

}  // namespace millrace

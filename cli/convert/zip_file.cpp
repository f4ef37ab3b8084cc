#include "millrace/cli/convert/zip_file.h"

#include <algorithm>
#include <bit>
#include <concepts>

namespace millrace::cli {

namespace {

constexpr uint16_t kZipVersion = 20, kVersionOfZip64 = 45;
constexpr uint16_t kUtf8Name = 0x0800, kZipStored = 0, kZipTime = 0, kZipDate = 0x0021;
constexpr uint16_t kZip64Extra = 1;
constexpr uint16_t kMostZipMembers = 0xffff;

// Appends the numbers, the lowest byte first.
template <std::unsigned_integral... T>
void put_numbers(std::string& out, T... numbers) {
  static_assert(std::endian::native == std::endian::little);
  (out.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
}

// A number in a field of 32 bits, which is full if the number stands elsewhere.
uint32_t zip_field(uint64_t number, bool elsewhere) { return elsewhere ? 0xffffffff : static_cast<uint32_t>(number); }

}  // namespace

void ZipFile::begin(const ZipMember& member) {
  const bool large = member.size >= zip64_, far = bytes_ >= zip64_;
  const auto name_size = static_cast<uint16_t>(member.name.size());
  // What both headers say of the member.
  std::string facts;
  put_numbers(facts, large || far ? kVersionOfZip64 : kZipVersion, kUtf8Name, kZipStored, kZipTime, kZipDate,
              member.crc, zip_field(member.size, large), zip_field(member.size, large), name_size);

  std::string header, extra;
  if (large) put_numbers(extra, kZip64Extra, uint16_t{16}, member.size, member.size);
  put_numbers(header, uint32_t{0x04034b50});
  header += facts;
  put_numbers(header, static_cast<uint16_t>(extra.size()));
  header.append(member.name).append(extra);

  extra.clear();
  if (large || far) put_numbers(extra, kZip64Extra, static_cast<uint16_t>((large ? 16 : 0) + (far ? 8 : 0)));
  if (large) put_numbers(extra, member.size, member.size);
  if (far) put_numbers(extra, bytes_);
  put_numbers(directory_, uint32_t{0x02014b50}, kVersionOfZip64);
  directory_ += facts;
  constexpr uint16_t kNone = 0;
  constexpr uint32_t kNoAttributes = 0;
  put_numbers(directory_, static_cast<uint16_t>(extra.size()), kNone, kNone, kNone, kNoAttributes,
              zip_field(bytes_, far));
  directory_.append(member.name).append(extra);

  ++members_;
  write(header);
}

void ZipFile::write(std::string_view bytes) {
  file_.write(bytes);
  bytes_ += bytes.size();
}

void ZipFile::commit() {
  const uint64_t start = bytes_, size = directory_.size();
  const bool many = members_ >= kMostZipMembers, large = start >= zip64_ || size >= zip64_ || many;
  constexpr uint32_t kDisk = 0, kDisks = 1;
  if (large) {
    put_numbers(directory_, uint32_t{0x06064b50}, uint64_t{44}, kVersionOfZip64, kVersionOfZip64, kDisk, kDisk,
                members_, members_, size, start);
    put_numbers(directory_, uint32_t{0x07064b50}, kDisk, start + size, kDisks);
  }
  const auto members = static_cast<uint16_t>(std::min<uint64_t>(members_, kMostZipMembers));
  constexpr uint16_t kShortDisk = 0, kNoComment = 0;
  put_numbers(directory_, uint32_t{0x06054b50}, kShortDisk, kShortDisk, members, members, zip_field(size, large),
              zip_field(start, large), kNoComment);
  write(directory_);
  file_.commit();
}

}  // namespace millrace::cli

#include "millrace/cli/convert/zip_file.h"

#include <bit>
#include <concepts>

namespace millrace::cli {

namespace {

constexpr uint16_t kZipVersion = 45, kUtf8Name = 0x0800, kZipStored = 0, kZipTime = 0, kZipDate = 0x0021;
constexpr uint16_t kZip64Extra = 1;
// The number stands in a field of zip64.
constexpr uint16_t kElsewhere16 = 0xffff;
constexpr uint32_t kElsewhere = 0xffffffff;

// Appends the numbers, the lowest byte first.
template <std::unsigned_integral... T>
void put_numbers(std::string& out, T... numbers) {
  static_assert(std::endian::native == std::endian::little);
  (out.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
}

}  // namespace

void ZipFile::begin(const ZipMember& member) {
  const auto name_size = static_cast<uint16_t>(member.name.size());
  // What both headers say of the member.
  std::string facts, sizes;
  put_numbers(facts, kZipVersion, kUtf8Name, kZipStored, kZipTime, kZipDate, member.crc, kElsewhere, kElsewhere,
              name_size);
  put_numbers(sizes, member.size, member.size);

  constexpr uint16_t kNone = 0, kSizes = 16, kSizesAndPlace = 24, kExtraHead = 4;
  constexpr uint32_t kNoAttributes = 0;
  put_numbers(directory_, uint32_t{0x02014b50}, kZipVersion);
  directory_ += facts;
  put_numbers(directory_, uint16_t{kExtraHead + kSizesAndPlace}, kNone, kNone, kNone, kNoAttributes, kElsewhere);
  directory_ += member.name;
  put_numbers(directory_, kZip64Extra, kSizesAndPlace);
  directory_ += sizes;
  put_numbers(directory_, bytes_);
  ++members_;

  std::string header;
  put_numbers(header, uint32_t{0x04034b50});
  header += facts;
  put_numbers(header, uint16_t{kExtraHead + kSizes});
  header += member.name;
  put_numbers(header, kZip64Extra, kSizes);
  write(header + sizes);
}

void ZipFile::write(std::string_view bytes) {
  file_.write(bytes);
  bytes_ += bytes.size();
}

void ZipFile::commit() {
  const uint64_t start = bytes_, size = directory_.size();
  constexpr uint32_t kDisk = 0, kDisks = 1;
  constexpr uint16_t kShortDisk = 0, kNoComment = 0;
  put_numbers(directory_, uint32_t{0x06064b50}, uint64_t{44}, kZipVersion, kZipVersion, kDisk, kDisk, members_,
              members_, size, start);
  put_numbers(directory_, uint32_t{0x07064b50}, kDisk, start + size, kDisks);
  put_numbers(directory_, uint32_t{0x06054b50}, kShortDisk, kShortDisk, kElsewhere16, kElsewhere16, kElsewhere,
              kElsewhere, kNoComment);
  write(directory_);
  file_.commit();
}

}  // namespace millrace::cli

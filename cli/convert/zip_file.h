// ZipFile: writes a zip archive of members that are stored as they are. It appears whole or not at all.
//
//   ZipFile zip("a.npz");
//   zip.begin({.name = "x.npy", .size = bytes.size(), .crc = crc32_of(bytes)});
//   zip.write(bytes);
//   zip.commit();
//
// All is written as zip64, whatever its size. All members have the date 1980-01-01, so that the same members make the
// same bytes. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/input/files/atomic_file.h"

namespace millrace::cli {

struct ZipMember {
  std::string name;
  uint64_t size = 0;
  uint32_t crc = 0;
};

class ZipFile {
 public:
  static constexpr size_t kLongestName = 65535;

  // Throws IoError, as the functions below do.
  explicit ZipFile(const std::string& path) : file_(path) {}

  // Begins a member. REQUIRES: as many bytes of the one before were written as it has; a name of at most kLongestName.
  void begin(const ZipMember& member);
  void write(std::string_view bytes);
  // Ends the archive. REQUIRES: as begin().
  void commit();

 private:
  AtomicFile file_;
  uint64_t bytes_ = 0, members_ = 0;
  std::string directory_;  // an entry for each member
};

}  // namespace millrace::cli

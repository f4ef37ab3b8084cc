#include "millrace/input/arrays/packed_bytes.h"

#include <string_view>

#include "millrace/core/errors.h"

namespace millrace {

Packing packing_of(const File& file) {
  constexpr std::string_view kGzip = "\x1f\x8b";
  char start[kGzip.size()];
  return std::string_view(start, file.read(0, start, sizeof start)) == kGzip ? Packing::gzip : Packing::none;
}

std::shared_ptr<const File> unpack(const PackedBytes& bytes) {
  if (bytes.packing == Packing::gzip) {
    throw DataError("the file is compressed by gzip", {bytes.path}, "decompress it first: gunzip -k FILE");
  }
  throw DataError("the array is compressed", {bytes.path}, "save it by numpy.savez, not by numpy.savez_compressed");
}

}  // namespace millrace

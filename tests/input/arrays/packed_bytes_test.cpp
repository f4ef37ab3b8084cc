#include "millrace/input/arrays/packed_bytes.h"

#include <gtest/gtest.h>

#include "tests/input/arrays/array_bytes.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::BytesFile;
using testing_support::error_of;

TEST(PackedBytes, GzipIsKnownByItsFirstBytes) {
  EXPECT_EQ(packing_of(BytesFile("\x1f\x8b\x08")), Packing::gzip);
  EXPECT_EQ(packing_of(BytesFile("\x1f")), Packing::none);
  EXPECT_EQ(packing_of(BytesFile("")), Packing::none);
}

TEST(PackedBytes, SaysHowToWriteThemOtherwise) {
  const auto error = [](Packing packing) {
    return error_of([&] { unpack({.open = {}, .path = "a.gz", .packing = packing}); });
  };
  EXPECT_EQ(error(Packing::gzip), "a.gz: the file is compressed by gzip; decompress it first: gunzip -k FILE");
  EXPECT_EQ(error(Packing::deflate),
            "a.gz: the array is compressed; save it by numpy.savez, not by numpy.savez_compressed");
}

}  // namespace
}  // namespace millrace

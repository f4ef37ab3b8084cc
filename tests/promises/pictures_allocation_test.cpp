// P4, of pictures: our code allocates nothing for a picture once it has decoded one as large.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/input/pictures/pictures.h"
#include "tests/support/allocation_counter.h"

namespace millrace::testing {
namespace {

using testing_support::smooth_picture;
using testing_support::target_of;

TEST(Allocation, APictureIsDecodedWithoutAny) {
  std::vector<std::string> files;
#ifdef MILLRACE_HAS_JPEG
  for (const bool progressive : {false, true}) {
    files.push_back(testing_support::jpeg_of(smooth_picture(90, 70, 3), {.progressive = progressive}));
  }
#endif
#ifdef MILLRACE_HAS_PNG
  for (const bool interlaced : {false, true}) {
    files.push_back(testing_support::png_of(smooth_picture(90, 70, 4), {.interlaced = interlaced}));
  }
#endif
  if (files.empty()) GTEST_SKIP() << "neither library is in this build";
  PictureMemory memory;
  std::vector<uint8_t> pixels(3 * 80 * 80);
  int bad = 0;
  const auto decode_all = [&] {
    for (const std::string& file : files) {
      for (const int64_t size : {80, 31, 9}) {
        for (const Resize resize : {Resize::crop, Resize::pad}) {
          bad += decode_picture(file, target_of(3, size, size, resize), memory, pixels.data()).empty() ? 0 : 1;
        }
      }
    }
  };
  decode_all();
  start_counting();
  decode_all();
  EXPECT_EQ(stop_counting().own, 0);
  EXPECT_EQ(bad, 0);
}

}  // namespace
}  // namespace millrace::testing

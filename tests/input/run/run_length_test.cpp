#include "millrace/input/run/run_length.h"

#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

TEST(RunLength, IsSavedAndMayBeMissing) {
  State state;
  EXPECT_EQ(saved_length(state, 7), 7u) << "of an earlier version";
  save_length(state, 3);
  EXPECT_EQ(saved_length(state, 7), 3u);
  save_length(state, 0);
  EXPECT_EQ(saved_length(state, 7), 0u);
  save_length(state, uint64_t{1} << 32);
  EXPECT_NE(error_of<DataError>([&] { saved_length(state, 7); }).find("length"), std::string::npos);
}

TEST(RunLength, OnlyAFirstRunGetsAnotherOne) {
  check_length("a", {.saved = 2, .now = 3, .run = 0, .begun = 2});
  check_length("a", {.saved = 2, .now = 0, .run = 0, .begun = 2});
  check_length("a", {.saved = 0, .now = 3, .run = 0, .begun = 3});
  check_length("a", {.saved = 2, .now = 2, .run = 5, .begun = 12});
  EXPECT_EQ(error_of<ConfigError>([] { check_length("a", {.saved = 2, .now = 0, .run = 1, .begun = 1}); }),
            "a: the saved state is in a further run of this data, and goes on only with 2 epochs, not with endless "
            "epochs; change the epochs of the last repeat instead");
}

TEST(RunLength, HasWhatHasBegun) {
  EXPECT_EQ(error_of<ConfigError>([] { check_length("a", {.saved = 3, .now = 1, .run = 0, .begun = 2}); }),
            "a: the saved state is in epoch 2, but there would be only 1 epoch; allow at least 2");
}

}  // namespace
}  // namespace millrace

#include "millrace/input/run/buffer_stream.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "millrace/core/errors.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

// What `pull` gives or throws.
class Buffer final : public RowBuffer {
 public:
  explicit Buffer(std::function<RowSpan(int64_t)> pull) : pull_(std::move(pull)) {}
  RowSpan pull(int64_t at_most) override { return pull_(at_most); }
  void save(State&) const override {}
  void restore(const State&) override {}

 private:
  const std::function<RowSpan(int64_t)> pull_;
};

std::string error_of_pull(const std::function<RowSpan(int64_t)>& pull) {
  Buffer buffer(pull);
  BufferStream stream(buffer, "mine");
  return error_of<Error>([&] { stream.pull(5); });
}

TEST(BufferStream, GivesTheRowsOfTheBuffer) {
  RowBlock block;
  Buffer buffer([&](int64_t at_most) { return RowSpan{&block, 3, at_most}; });
  BufferStream stream(buffer, "mine");
  const RowSpan rows = stream.pull(5);
  EXPECT_EQ(rows.block, &block);
  EXPECT_EQ(rows.begin, 3);
  EXPECT_EQ(rows.count, 5);
}

TEST(BufferStream, RefusesMoreRowsThanWereAskedFor) {
  RowBlock block;
  EXPECT_EQ(error_of_pull([&](int64_t at_most) {
              return RowSpan{&block, 0, at_most + 1};
            }),
            "mine: pull() gave 6 rows, asked for were 5 at most");
}

TEST(BufferStream, NamesTheOpInWhatIsNoErrorOfTheLibrary) {
  EXPECT_EQ(error_of_pull([](int64_t) -> RowSpan { throw std::runtime_error("no rows today"); }),
            "mine: no rows today");
  EXPECT_EQ(error_of_pull([](int64_t) -> RowSpan { throw 5; }), "mine: an exception of unknown type");
  EXPECT_EQ(error_of_pull([](int64_t) -> RowSpan { throw DataError("bad", {"a.csv", 2, 0}); }), "a.csv:2: bad");
}

}  // namespace
}  // namespace millrace

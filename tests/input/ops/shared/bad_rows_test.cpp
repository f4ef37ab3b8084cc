#include "millrace/input/ops/shared/bad_rows.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/input/op_testing.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing_support::bad_row;

// A transform that calls every row bad, as its options say.
class Refuses final : public DecodingTransform {
 public:
  using DecodingTransform::DecodingTransform;
  void apply(Chunk& chunk) const override {
    for (int64_t row = 0; row < chunk.rows.size(); ++row) chunk.add(DecodingTransform::bad_row(row, "no good"));
  }
  bool skips() const { return skips_bad_rows(); }
  void check() const { check_report(); }
};

BadRowOptions read(const Spec& spec) { return read_options<BadRowOptions>(spec); }

TEST(BadRows, AreAnErrorUnlessTheyAreLeftOut) {
  EXPECT_FALSE(Refuses(read(Spec::map())).skips());
  EXPECT_EQ(Refuses(read(Spec::map())).note_bytes(), 0u);
  const Refuses skips(read(Spec::map().set("on_bad_row", "skip").set("max_bad_rows", 3)));
  EXPECT_TRUE(skips.skips());
  EXPECT_GT(skips.note_bytes(), sizeof(Note));
  Chunk chunk;
  chunk.rows.configure(RowSpec{{{"x", DType::f32, Shape{1}}}}, 2);
  chunk.rows.resize(2);
  skips.apply(chunk);
  ASSERT_EQ(chunk.notes.size(), 2u);
  EXPECT_EQ(chunk.notes[1].kind, Note::Kind::bad_row);
  EXPECT_EQ(chunk.notes[1].row, 1);
  EXPECT_EQ(chunk.notes[1].text, "no good");
  EXPECT_EQ(chunk.notes[1].limit, 3u);
  EXPECT_EQ(chunk.notes[1].field, "");
}

TEST(BadRows, HaveNoLimitByDefault) {
  Chunk chunk;
  chunk.rows.configure(RowSpec{{{"x", DType::f32, Shape{1}}}}, 1);
  chunk.rows.resize(1);
  Refuses(read(Spec::map().set("on_bad_row", "skip"))).apply(chunk);
  EXPECT_EQ(chunk.notes.at(0).limit, UINT64_MAX);
}

TEST(BadRows, HaveALineWithoutNumbersIfTheFileIsTheRow) {
  const TempFolder folder;
  const std::string path = folder.path("bad.jsonl");
  Refuses refuses(read(Spec::map().set("on_bad_row", "skip").set("bad_rows_file", path)));
  refuses.check();
  refuses.report(bad_row({"cat/1.jpg"}, "it is empty"));
  refuses.report(bad_row({"a.csv", 7, 3}, "expected float32", "x", "abc"));
  EXPECT_EQ(TempFolder::read(path),
            "{\"v\":1,\"file\":\"cat/1.jpg\",\"line\":null,\"column\":null,\"field\":null,\"text\":null,"
            "\"reason\":\"it is empty\"}\n"
            "{\"v\":1,\"file\":\"a.csv\",\"line\":7,\"column\":3,\"field\":\"x\",\"text\":\"abc\","
            "\"reason\":\"expected float32\"}\n");
  Refuses goes_on(read(Spec::map().set("on_bad_row", "skip").set("bad_rows_file", path)));
  goes_on.resume_reports(1);
  EXPECT_EQ(TempFolder::read(path).find("a.csv"), std::string::npos) << "the second is told again";
}

}  // namespace
}  // namespace millrace

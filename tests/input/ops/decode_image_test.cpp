#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/input/graph/pipeline.h"
#include "millrace/input/source.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/graph_check.h"
#include "tests/input/pictures/pictures.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;
using testing_support::Pixels;

#ifdef MILLRACE_HAS_PNG

using testing_support::planes;
using testing_support::png_of;
using testing_support::random_picture;

// A picture of two grey pixels.
std::string two_pixels(uint8_t left, uint8_t right) { return png_of({2, 1, 1, {left, right}}); }

class DecodeImageTest : public ::testing::Test {
 protected:
  DecodeImageTest() {
    files_.folders = {"d", "d/a", "d/b"};
    for (int i = 0; i < 6; ++i) {
      files_.files[cat("d/", i < 3 ? 'a' : 'b', '/', i, ".png")] =
          two_pixels(static_cast<uint8_t>(10 * i), static_cast<uint8_t>(10 * i + 1));
    }
  }
  GraphCheck graph(const std::string& options, const std::string& epochs = "1") {
    return {files_, cat("- image_folder: {dir: d, shuffle: false, epochs: ", epochs, "}\n- decode_image: {", options,
                        "}\n- batch: {batch_size: 2, allow_smaller_final_batch: true}\n")};
  }
  Lines rows(const std::string& options) {
    Lines out = graph(options).run();
    std::erase(out, "--");
    return out;
  }
  std::string refused(const std::string& options) {
    return error_of([&] { graph(options).graph(); });
  }
  MemoryFiles files_;
};

TEST_F(DecodeImageTest, GivesPixels) {
  EXPECT_EQ(graph("size: [3, 8, 9]").graph().output().rows.text(), "image: uint8 (3, 8, 9), label: int32 (1)");
  EXPECT_THAT(rows("size: [1, 1, 2]"), ElementsAre("d/a/0.png image=0,1 label=0", "d/a/1.png image=10,11 label=0",
                                                   "d/a/2.png image=20,21 label=0", "d/b/3.png image=30,31 label=1",
                                                   "d/b/4.png image=40,41 label=1", "d/b/5.png image=50,51 label=1"));
  EXPECT_EQ(rows("size: [3, 1, 2]")[1], "d/a/1.png image=10,11,10,11,10,11 label=0");
  EXPECT_EQ(rows("size: [1, 1, 1]")[1], "d/a/1.png image=10 label=0") << "the middle, of two the first";
  EXPECT_EQ(rows("size: [1, 1, 1], resize: stretch")[1], "d/a/1.png image=11 label=0") << "the mean, rounded up";
  EXPECT_EQ(rows("size: [1, 3, 2], resize: pad")[1], "d/a/1.png image=0,0,10,11,0,0 label=0");
}

TEST_F(DecodeImageTest, ABadPictureIsAnErrorOfItsRow) {
  files_.files["d/a/2.png"] = "";
  EXPECT_EQ(graph("size: [1, 1, 2]").check(), (Lines{"d/a/0.png image=0,1 label=0", "d/a/1.png image=10,11 label=0",
                                                     "error d/a/2.png: the file is empty"}));
  files_.files["d/a/2.png"] = two_pixels(1, 2).substr(0, 40);
  EXPECT_EQ(rows("size: [1, 1, 2]").back(), "error d/a/2.png: cannot decode the PNG picture: the file ends too early");
}

TEST_F(DecodeImageTest, LeavesBadPicturesOut) {
  files_.files["d/a/0.png"] = "";
  files_.files["d/b/3.png"] = "GIF89a";
  files_.files["d/b/5.png"] = two_pixels(1, 2).substr(0, 40);
  const Lines lines = graph("size: [1, 1, 2], on_bad_row: skip", "3").check();
  Lines expected;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const char* line :
         {"d/a/1.png image=10,11 label=0", "d/a/2.png image=20,21 label=0", "d/b/4.png image=40,41 label=1"}) {
      if (expected.size() % 3 == 2) expected.emplace_back("--");
      expected.emplace_back(line);
    }
  }
  EXPECT_EQ(lines, expected);
  const TempFolder folder;
  Pipeline pipeline(
      graph(cat("size: [1, 1, 2], on_bad_row: skip, bad_rows_file: \"", folder.path("bad.jsonl"), "\"")).graph(), {});
  RowBlock slot = pipeline.make_slot();
  while (pipeline.next(slot) > 0) {
  }
  EXPECT_EQ(pipeline.summary().bad_rows, 3u);
  EXPECT_TRUE(pipeline.summary().dropped.empty());
  EXPECT_EQ(TempFolder::read(folder.path("bad.jsonl")),
            "{\"v\":1,\"file\":\"d/a/0.png\",\"line\":null,\"column\":null,\"field\":null,\"text\":null,"
            "\"reason\":\"the file is empty\"}\n"
            "{\"v\":1,\"file\":\"d/b/3.png\",\"line\":null,\"column\":null,\"field\":null,\"text\":null,"
            "\"reason\":\"expected a JPEG or PNG picture, the file is a GIF image\"}\n"
            "{\"v\":1,\"file\":\"d/b/5.png\",\"line\":null,\"column\":null,\"field\":null,\"text\":null,"
            "\"reason\":\"cannot decode the PNG picture: the file ends too early\"}\n");
}

TEST_F(DecodeImageTest, BadPicturesMayBeTooMany) {
  files_.files["d/a/0.png"] = files_.files["d/b/4.png"] = "";
  EXPECT_EQ(rows("size: [1, 1, 2], on_bad_row: skip, max_bad_rows: 1").back(),
            "error d/b/4.png: the file is empty (bad row 2 of the run; max_bad_rows is 1); repair the data, or raise "
            "max_bad_rows");
}

TEST_F(DecodeImageTest, APictureThatIsTooLargeToBeHeldIsABadRow) {
  files_.files["d/a/1.png"] = png_of(random_picture(9, 9, 1), {.interlaced = true});
  EXPECT_EQ(rows("size: [1, 1, 2], max_pixels: 80").back(),
            "error d/a/1.png: the picture is 9 x 9 pixels and interlaced, so it must be decoded as a whole, which is "
            "more than max_pixels allows");
  EXPECT_EQ(rows("size: [1, 1, 2], max_pixels: 81").size(), 6u);
  EXPECT_GE(graph("size: [1, 1, 2], max_pixels: 2000000").graph().memory_bound(3),
            graph("size: [1, 1, 2], max_pixels: 1000000").graph().memory_bound(3) + 2 * 6000000);
}

// The bytes may come from elsewhere, many in a chunk, and need not be called `image`.
class DecodeImageOfMemory : public ::testing::Test {
 protected:
  DecodeImageOfMemory() {
    rows_.configure(RowSpec{{testing_text("name"), testing_text("picture"), {"x", DType::f32, Shape{1}}}}, 5);
    rows_.resize(5);
    for (int i = 0; i < 5; ++i) {
      rows_.set_text(0, i, cat("row ", i));
      rows_.set_text(1, i, i % 2 == 1 ? "bad" : two_pixels(static_cast<uint8_t>(i), 9));
      *rows_.row<float>(2, i) = static_cast<float>(i) / 2;
    }
  }
  static FieldSpec testing_text(std::string name) {
    FieldSpec out{std::move(name), DType::u8, Shape{1}};
    out.text = true;
    return out;
  }
  Lines run(const std::string& ops, bool bad_rows_stay = false) {
    RowBlock copy;
    copy.configure(rows_.spec(), 5);
    copy.resize(5);
    for (int64_t row = 0; row < 5; ++row) copy.copy_row(rows_, row, row);
    OpRegistry registry = builtin_ops();
    registry.add("memory", memory_op(std::make_shared<const RowBlock>(std::move(copy))));
    const std::string list =
        "- memory: {epochs: 1}\n" + ops + "- batch: {batch_size: 5, allow_smaller_final_batch: true}\n";
    Pipeline pipeline(InputGraph::build(parse_yaml(list, "input.yaml"), registry, {.bad_rows_stay = bad_rows_stay}),
                      {});
    RowBlock slot = pipeline.make_slot();
    Lines out;
    try {
      while (pipeline.next(slot) > 0) {
        for (int64_t row = 0; row < slot.size(); ++row) out.push_back(testing_support::row_text(slot, row));
      }
    } catch (const Error& error) {
      out.emplace_back(error.what());
    }
    return out;
  }
  RowBlock rows_;
};

TEST_F(DecodeImageOfMemory, KeepsTheOtherFields) {
  EXPECT_THAT(run("- decode_image: {size: [1, 1, 2], field: picture, on_bad_row: skip}\n"),
              ElementsAre("name=\"row 0\" picture=0,9 x=0", "name=\"row 2\" picture=2,9 x=1",
                          "name=\"row 4\" picture=4,9 x=2"));
  const Lines failed = run("- decode_image: {size: [1, 1, 2], field: picture}\n");
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_THAT(failed[0], HasSubstr("expected a JPEG or PNG picture, got another file"));
}

TEST_F(DecodeImageOfMemory, TakesOneText) {
  EXPECT_THAT(error_of([&] { run("- decode_image: {size: [1, 1, 2]}\n"); }),
              HasSubstr("there is no field \"image\" in name: string (1), picture: string (1), x: float32 (1)"));
  EXPECT_THAT(error_of([&] { run("- decode_image: {size: [1, 1, 2], field: x}\n"); }),
              HasSubstr("decode_image takes the bytes of a file, one text, x is float32 (1)"));
}

TEST_F(DecodeImageTest, SaysWhatGivesPictures) {
  const std::string hint = "; begin the list with image_folder", list = "- decode_image: {size: [1, 1, 2]}\n";
  EXPECT_THAT(error_of([&] { GraphCheck(files_, "- filename_queue: {files: \"d/a/0.png\"}\n" + list).graph(); }),
              EndsWith("decode_image expects rows, but filename_queue gives names" + hint));
  EXPECT_THAT(error_of([&] { GraphCheck(files_, list).graph(); }), EndsWith("but no op stands before it" + hint));
}

// A row that is bad among the others: its text is the reason, and the ops before and after are not disturbed.
TEST_F(DecodeImageTest, BadPicturesMayStay) {
  files_.files["d/a/1.png"] = "";
  const std::string list =
      "- image_folder: {dir: d, epochs: 1, shuffle: false}\n- decode_image: {size: [1, 1, 2]}\n- batch: {batch_size: "
      "6}\n";
  Pipeline pipeline(
      InputGraph::build(parse_yaml(list, "input.yaml"), builtin_ops(), {.files = &files_, .bad_rows_stay = true}), {});
  RowBlock slot = pipeline.make_slot();
  ASSERT_EQ(pipeline.next(slot), 6);
  EXPECT_EQ(testing_support::row_text(slot, 0), "image=0,1 label=0 (error)=\"\"");
  EXPECT_EQ(testing_support::row_text(slot, 1), "image=0,0 label=0 (error)=\"the file is empty\"");
  EXPECT_EQ(testing_support::row_text(slot, 2), "image=20,21 label=0 (error)=\"\"");
  EXPECT_EQ(pipeline.place(slot.id(1)).text(), "d/a/1.png");
}

TEST_F(DecodeImageTest, RefusesOptionsThatMakeNoSense) {
  EXPECT_THAT(refused("resize: crop"), HasSubstr("the key size is required"));
  EXPECT_THAT(refused("size: [3, 8]"), HasSubstr("size: expected [channels, height, width], got 2 numbers"));
  EXPECT_THAT(refused("size: [2, 8, 8]"), HasSubstr("size: expected 1 or 3 channels, got 2"));
  EXPECT_THAT(refused("size: [3, 0, 8]"), HasSubstr("expected at least 1 and at most 16384, got 0"));
  EXPECT_THAT(refused("size: [3, 8, 8], resize: fit"), HasSubstr("expected crop, stretch or pad, got \"fit\""));
  EXPECT_THAT(refused("size: [3, 8, 8], max_pixels: 0"), HasSubstr("max_pixels: expected at least 1"));
  EXPECT_THAT(refused("size: [3, 8, 8], max_bad_rows: 0"), HasSubstr("max_bad_rows needs on_bad_row: skip"));
}

// Larger pictures of several sizes, with an order of their own in each epoch.
TEST_F(DecodeImageTest, IsTheSameForAllThreadsAndFromEveryState) {
  for (int i = 0; i < 20; ++i) {
    files_.files[cat("d/b/r", i, ".png")] =
        png_of(random_picture(5 + 3 * i, 60 - 2 * i, i % 2 == 0 ? 3 : 4, static_cast<uint64_t>(i)));
  }
  files_.files["d/b/bad.png"] = "bad";
  const GraphCheck check(files_,
                         "- image_folder: {dir: d, epochs: 2}\n- decode_image: {size: [3, 7, 6], on_bad_row: skip}\n"
                         "- shuffle_batch: {batch_size: 4, capacity: 12, min_after_dequeue: 5, threads: 3, "
                         "allow_smaller_final_batch: true}\n");
  EXPECT_EQ(check.check().size(), 52u + 12u);
}

#else

TEST(DecodeImage, IsRefusedWithoutItsLibraries) { GTEST_SKIP() << "libpng is not in this build"; }

#endif

}  // namespace
}  // namespace millrace

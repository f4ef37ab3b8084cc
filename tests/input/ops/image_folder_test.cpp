#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "millrace/input/graph/pipeline.h"
#include "millrace/input/source.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::make_op;
using testing_support::MemoryFiles;

// Nothing here decodes a picture, so any bytes are one.
class ImageFolderTest : public ::testing::Test {
 protected:
  ImageFolderTest() {
    files_.folders = {"d", "d/dog", "d/cat"};
    files_.files = {{"d/dog/1.jpg", "four"}, {"d/cat/a.png", "one"}, {"d/cat/b.JPG", "two"}, {"d/cat/c.jpeg", ""}};
  }
  GraphCheck graph(const std::string& options) {
    return {files_,
            cat("- image_folder: {", options, "}\n- batch: {batch_size: 2, allow_smaller_final_batch: true}\n")};
  }
  Lines rows(const std::string& options) {
    Lines out = graph(options).run();
    std::erase(out, "--");
    return out;
  }
  // The classes that the op found.
  static Lines found_in(const InputGraph& made) {
    return OptionType<Lines>::read(*made.found().find("image_folder")->find("classes"));
  }
  std::string refused(const std::string& options) {
    const std::string text = error_of([&] { graph(options).graph(); });
    return text.substr(std::min(text.find(": ") + 2, text.size()));
  }
  MemoryFiles files_;
};

TEST_F(ImageFolderTest, GivesARowForEachPicture) {
  EXPECT_EQ(graph("dir: d, epochs: 1, shuffle: false").graph().output().rows.text(),
            "image: string (1), label: int32 (1)");
  EXPECT_THAT(rows("dir: d, epochs: 1, shuffle: false"),
              ElementsAre("d/cat/a.png image=\"one\" label=0", "d/cat/b.JPG image=\"two\" label=0",
                          "d/cat/c.jpeg image=\"\" label=0", "d/dog/1.jpg image=\"four\" label=1"));
  EXPECT_EQ(rows("dir: d/, epochs: 1, shuffle: false"), rows("dir: d, epochs: 1, shuffle: false"));
}

TEST_F(ImageFolderTest, SortsTheClassesByTheirBytes) {
  files_.folders.insert({"d/Zebra", "d/.hidden"});
  files_.files["d/Zebra/1.png"] = "z";
  files_.files["d/.hidden/1.png"] = "h";
  const InputGraph made = graph("dir: d, epochs: 1").graph();
  EXPECT_EQ(found_in(made), (Lines{"Zebra", "cat", "dog"}));
  EXPECT_EQ(made.resolved().items()[0].find("image_folder")->find("classes")->size(), 3u);
}

// An empty file is a row like any other: what is wrong with it, decode_image says.
TEST_F(ImageFolderTest, IsTheSameForAllThreadsAndFromEveryState) {
  for (int i = 0; i < 9; ++i) files_.files[cat("d/dog/x", i, ".png")] = cat("dog ", i);
  const Lines lines = graph("dir: d, epochs: 3").check();
  EXPECT_EQ(std::ranges::count(lines, "--"), 19);
  EXPECT_EQ(std::ranges::count(lines, "d/cat/c.jpeg image=\"\" label=0"), 3);
  EXPECT_EQ(std::ranges::count(lines, "d/dog/x4.png image=\"dog 4\" label=1"), 3);
  EXPECT_NE(rows("dir: d, epochs: 1"), rows("dir: d, epochs: 1, shuffle: false"));
}

// A million pictures would take long to read for a checkpoint.
TEST_F(ImageFolderTest, ASavedStateKnowsThePicturesByTheirNamesAndSizes) {
  const auto op = [this] {
    auto made = make_op<RowSource>("image_folder", parse_yaml("{dir: d}", ""));
    BindArgs args;
    args.files = &files_;
    made->bind(args);
    return made;
  };
  State state;
  const auto first = op();
  const int opened = files_.opened;
  first->save(state);
  first->check(state);
  EXPECT_EQ(files_.opened, opened);
  files_.files["d/cat/b.JPG"] = "three";
  EXPECT_THAT(error_of([&] { op()->check(state); }), HasSubstr("d/cat/b.JPG: the file has changed"));
  files_.files.erase("d/cat/b.JPG");
  EXPECT_THAT(error_of([&] { op()->check(state); }), HasSubstr("d/cat/b.JPG: the file is gone"));
}

TEST_F(ImageFolderTest, SharesItsFilesOut) {
  Lines all = rows("dir: d, epochs: 1, shard: {index: 0, count: 3}");
  EXPECT_EQ(all.size(), 2u);
  for (const char* shard : {"1", "2"}) {
    const Lines more = rows(cat("dir: d, epochs: 1, shard: {index: ", shard, ", count: 3}"));
    EXPECT_EQ(more.size(), 1u);
    all.insert(all.end(), more.begin(), more.end());
  }
  Lines expected = rows("dir: d, epochs: 1");
  std::ranges::sort(all);
  std::ranges::sort(expected);
  EXPECT_EQ(all, expected);
}

TEST_F(ImageFolderTest, TellsItsProgress) {
  Pipeline pipeline(graph("dir: d, epochs: 2").graph(), {});
  RowBlock slot = pipeline.make_slot();
  pipeline.next(slot);
  pipeline.next(slot);
  EXPECT_EQ(pipeline.share(), 0.5);
}

TEST_F(ImageFolderTest, TakesTheClassesThatItIsGiven) {
  EXPECT_THAT(rows("dir: d, epochs: 1, shuffle: false, classes: [dog, horse, cat]"),
              ElementsAre("d/cat/a.png image=\"one\" label=2", "d/cat/b.JPG image=\"two\" label=2",
                          "d/cat/c.jpeg image=\"\" label=2", "d/dog/1.jpg image=\"four\" label=0"));
  EXPECT_TRUE(graph("dir: d, epochs: 1, classes: [cat, dog]").graph().found().entries().empty());
  EXPECT_EQ(refused("dir: d, epochs: 1, classes: [cats, mouse]"),
            "[0]: the folder \"cat\" in d is none of the classes cats and mouse; did you mean cats?");
  EXPECT_EQ(refused("dir: d, epochs: 1, classes: [cat, horse]"),
            "[0]: the folder \"dog\" in d is none of the classes cat and horse; pictures without classes are read by a "
            "pattern: 'new/*/*.jpg'");
}

// A folder of pictures, files and patterns: for predictions there need be no classes.
TEST_F(ImageFolderTest, ReadsPicturesOfNoClassIfTheClassesAreKnown) {
  files_.folders.insert("new");
  files_.files["new/1.png"] = "n";
  files_.files["new/2.jpg"] = "m";
  const std::string known = ", epochs: 1, shuffle: false, classes: [cat, dog]";
  EXPECT_THAT(rows("dir: new" + known),
              ElementsAre("new/1.png image=\"n\" label=-1", "new/2.jpg image=\"m\" label=-1"));
  EXPECT_THAT(rows("dir: new/*.jpg" + known), ElementsAre("new/2.jpg image=\"m\" label=-1"));
  EXPECT_THAT(rows("dir: [d/dog/1.jpg, new/1.png]" + known),
              ElementsAre("d/dog/1.jpg image=\"four\" label=1", "new/1.png image=\"n\" label=-1"));
  EXPECT_EQ(rows("dir: 'd/dog/*.jpg', epochs: 1"), (Lines{"d/dog/1.jpg image=\"four\" label=0"}));
}

TEST_F(ImageFolderTest, WarnsOfWhatItLeavesOut) {
  EXPECT_THAT(graph("dir: d").graph().warnings(), IsEmpty());
  files_.folders.insert({"d/empty", "d/cat/more", "d/cat/folder.jpg"});
  files_.files["d/README"] = files_.files["d/dog/notes.txt"] = "text";
  files_.files["d/stray.png"] = "in no class";
  EXPECT_THAT(graph("dir: d").graph().warnings(),
              ElementsAre("image_folder: the class \"empty\" has no pictures: d/empty",
                          "image_folder: 5 files of d are left out, as only .jpg, .jpeg and .png in the folders of "
                          "classes are read: d/stray.png, .."));
  EXPECT_EQ(found_in(graph("dir: d").graph()), (Lines{"cat", "dog", "empty"}));
}

TEST_F(ImageFolderTest, RefusesWhatHoldsNoPictures) {
  files_.folders.insert({"none", "flat"});
  files_.files["flat/1.png"] = "x";
  EXPECT_EQ(refused("dir: none"),
            "there is no picture in none; pictures are files whose names end in .jpg, .jpeg or .png");
  EXPECT_EQ(refused("dir: flat"),
            "there are no classes: flat holds no folders; give the pictures of each class a folder of their own, or "
            "name the classes: classes: [..]");
  EXPECT_THAT(refused("dir: absent"), HasSubstr("no file matches \"absent\""));
  files_.folders.insert({"latin", "latin/caf\xe9"});
  files_.files["latin/caf\xe9/1.png"] = "x";
  EXPECT_THAT(refused("dir: latin"), HasSubstr("is not UTF-8, and no model can keep it; rename the folder"));
  files_.streams["pipe"] = {"x"};
  EXPECT_EQ(refused("dir: pipe, classes: [a]"),
            "pictures cannot be read from standard input or a pipe: pipe; write them to files first");
}

TEST_F(ImageFolderTest, RefusesOptionsThatMakeNoSense) {
  EXPECT_THAT(refused("epochs: 1"), HasSubstr("the key dir is required"));
  EXPECT_THAT(refused("dir: []"), HasSubstr("expected at least one folder, got an empty list"));
  EXPECT_THAT(refused("dir: d, classes: []"), HasSubstr("expected at least one class, got an empty list"));
  EXPECT_THAT(refused("dir: d, classes: [a, b, a]"), HasSubstr("the class \"a\" is listed twice"));
  EXPECT_THAT(refused("dir: d, shard: {index: 5, count: 9}"), HasSubstr("is empty: there are 4 files"));
}

TEST_F(ImageFolderTest, GivesBadRowsAFieldIfTheyStay) {
  const std::string list = "- image_folder: {dir: d, epochs: 1}\n- batch: {batch_size: 4}\n";
  const InputGraph made =
      InputGraph::build(parse_yaml(list, "input.yaml"), builtin_ops(), {.files = &files_, .bad_rows_stay = true});
  EXPECT_EQ(made.output().rows.text(), "image: string (1), label: int32 (1), (error): string (1)");
}

TEST_F(ImageFolderTest, NamesTheClassesOfItsLabel) {
  const auto op = make_op<Op>("image_folder", parse_yaml("{dir: d, classes: [cat, dog]}", ""));
  FieldHistory label{.field = "label"}, other{.field = "image"};
  op->undo(label);
  op->undo(other);
  EXPECT_EQ(label.texts, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_TRUE(other.texts.empty());
}

TEST_F(ImageFolderTest, CountsItsLargestFile) {
  const uint64_t small = graph("dir: d").graph().memory_bound(1);
  files_.files["d/cat/large.png"] = std::string(1000000, 'x');
  EXPECT_GE(graph("dir: d").graph().memory_bound(1), small + 1000000);
}

}  // namespace
}  // namespace millrace

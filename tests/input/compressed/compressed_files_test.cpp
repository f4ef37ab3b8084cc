#include "millrace/input/compressed/compressed_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "millrace/input/compressed/inflated_file.h"
#include "millrace/input/files/stream_file.h"
#include "tests/input/compressed/source_of_texts.h"
#include "tests/support/temp_folder.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace {
namespace {

using ::testing::HasSubstr;
using testing_support::bgzf_of;
using testing_support::entry_of;
using testing_support::gzip_of;
using testing_support::numbers_text;
using testing_support::SourceOfTexts;
using testing_support::zstd_of;

TEST(CompressedFiles, KnowsWhichFilesAreCompressed) {
  SourceOfTexts source({gzip_of("1\n"), "1\n", zstd_of("2\n"), "", "\x1f"});
  EXPECT_FALSE(source.compressed().found());
  EXPECT_EQ(source.text(0).kind(), Compression::gzip);
  EXPECT_TRUE(source.compressed().found());
  EXPECT_EQ(source.text(2).kind(), Compression::zstd);
  for (const size_t plain : {1u, 3u, 4u}) {
    EXPECT_EQ(source.compressed().text_of(*source.entry(plain)), nullptr);
    EXPECT_EQ(source.compressed().known_text(*source.entry(plain)), nullptr);
    EXPECT_EQ(source.compressed().end_of(*source.entry(plain)), source.entry(plain)->size);
  }
  EXPECT_EQ(source.compressed().end_of(*source.entry(0)), StreamFile::kUnknownSize);
  source.compressed().end_text(source.text(0), 2);
  EXPECT_EQ(source.compressed().end_of(*source.entry(0)), 2u);
  EXPECT_EQ(&source.text(0), &source.text(0)) << "it is looked at once";
}

TEST(CompressedFiles, TheNameTellsAsLongAsNobodyLooked) {
  SourceOfTexts source({});
  source.add("a.csv.gz", "1\n");
  source.add("b.csv", gzip_of("1\n"));
  source.start();
  EXPECT_GT(source.compressed().bounds(1000).decoder, 0u);
  EXPECT_EQ(source.compressed().known_text(*source.entry(1)), nullptr);
  EXPECT_TRUE(source.compressed().may_be_compressed(*source.entry(0)));
  EXPECT_FALSE(source.compressed().may_be_compressed(*source.entry(1)));
  EXPECT_EQ(source.compressed().bounds(1000).range, TextResources::kMostRange);
  source.compressed().end_of(*source.entry(0));
  source.compressed().end_of(*source.entry(1));
  EXPECT_FALSE(source.compressed().may_be_compressed(*source.entry(0)));
  EXPECT_TRUE(source.compressed().may_be_compressed(*source.entry(1)));
  EXPECT_NE(source.compressed().known_text(*source.entry(1)), nullptr);
  EXPECT_LT(source.compressed().bounds(1000).range, TextResources::kMostRange);
  EXPECT_GT(source.compressed().bounds(1000).decoder, 0u);
  SourceOfTexts plain({"1\n"});
  const TextBounds none = plain.compressed().bounds(1000);
  EXPECT_EQ(none.range + none.decoder + none.points, 0u);
}

// One call fails, and the error is of who opens or reads the file.
TEST(CompressedFiles, AFailingLookIsToldToTheReader) {
  SourceOfTexts source({"1\n", "2\n"});
  source.files.unreadable.insert("f0");
  source.files.broken.insert("f1");
  EXPECT_EQ(source.compressed().end_of(*source.entry(0)), 2u);
  EXPECT_EQ(source.compressed().end_of(*source.entry(1)), 2u);
  source.files.unreadable.clear();
  source.files.broken.clear();
  EXPECT_THROW(source.compressed().text_of(*source.entry(0)), IoError);
  EXPECT_THROW(source.compressed().text_of(*source.entry(1)), IoError);
}

TEST(CompressedFiles, NoCompressedFileIsEmpty) {
  SourceOfTexts source({});
  source.add("a.csv.gz", "");
  source.add("b.csv", "");
  source.start();
  EXPECT_EQ(error_of<DataError>([&] { source.compressed().text_of(*source.entry(0)); }),
            "a.csv.gz: the file is empty, as no compressed file is; was it cut short?");
  EXPECT_EQ(source.compressed().text_of(*source.entry(1)), nullptr);
}

TEST(CompressedFiles, AStateHasThePointsThatItsPlacesNeed) {
  const std::string text = numbers_text(13 << 20);
  const std::vector<std::string> contents = {gzip_of(text, {}, 1), "1\n", bgzf_of("1\n")};
  SourceOfTexts source(contents);
  {
    const InflatedFile file(source.text(), source.raw());
    char byte = 0;
    static_cast<void>(file.read(text.size() - 1, &byte, 1));
  }
  const TextPoint needed = source.text().before(6 << 20);
  ASSERT_TRUE(needed.window);
  State none;
  std::vector<TextPlace> places = {{0, 100}, {1, 5}, {2, 9}};
  source.compressed().save(none, places);
  EXPECT_FALSE(none.has("points")) << "the start of a file needs none";
  State state;
  places = {{2, 9}, {0, 7 << 20}, {0, 6 << 20}, {1, 5}, {0, 100}};
  source.compressed().save(state, places);
  EXPECT_EQ(state.values("points").size(), 7u) << "one point";
  State several;
  places = {{0, 14 << 20}, {0, 6 << 20}, {0, 14 << 20}, {1, 5}, {2, 9}, {0, 7 << 20}};
  source.compressed().save(several, places);
  EXPECT_EQ(several.values("points").size(), 14u) << "each once";
  EXPECT_LT(several.values("points")[1], several.values("points")[8]) << "in the order of the text";
  EXPECT_LT(state.encode().size(), 40000u);
  EXPECT_LE(several.encode().size(), source.compressed().saved_bound(3) + 200);
  EXPECT_EQ(source.compressed().saved_bound(UINT64_MAX), source.compressed().bounds(0).points);

  SourceOfTexts other(contents);
  other.compressed().restore(none);
  EXPECT_EQ(other.text().before(6 << 20).text, 0u);
  other.compressed().restore(State::decode(state.encode()));
  EXPECT_EQ(other.text().before(6 << 20).text, needed.text);
  const InflatedFile file(other.text(), other.raw());
  std::string got(1000, ' ');
  EXPECT_EQ(file.read(6 << 20, got.data(), got.size()), got.size());
  EXPECT_EQ(got, text.substr(6 << 20, 1000));
}

TEST(CompressedFiles, RefusesStatesThatCannotBe) {
  SourceOfTexts source({gzip_of(numbers_text(100000)), "1\n"});
  const auto restore = [&](std::vector<uint64_t> numbers, const std::string& windows) {
    State state;
    state.set("points", std::move(numbers));
    state.set_text("windows", windows);
    return testing_support::error_of([&] { source.compressed().restore(state); });
  };
  EXPECT_EQ(restore({}, ""), "no error");
  EXPECT_EQ(restore({0, 50, 40, 7, 1, 1, 3}, "www"), "no error");
  EXPECT_THAT(restore({0, 60, 50, 7, 1, 1, 3}, "ww"), HasSubstr("cut off"));
  EXPECT_THAT(restore({1, 1, 1, 0, 0, 0, 0}, ""),
              HasSubstr("the saved state has places in file 1, which is not compressed"));
  EXPECT_THAT(restore({7, 1, 1, 0, 0, 0, 0}, ""), HasSubstr("file 7"));
  EXPECT_NE(restore({0, 60, 50, 8, 0, 0, 3}, "www"), "no error") << "a byte has eight bits";
  EXPECT_NE(restore({0, 60, 50, 0, 0, 0}, ""), "no error");
  EXPECT_NE(restore({0, uint64_t{1} << 60, 50, 0, 0, 0, 0}, ""), "no error");
}

// The index beside a file.
class IndexTest : public ::testing::Test {
 protected:
  IndexTest() : text_(numbers_text(9 << 20)), bytes_(gzip_of(text_, {}, 1)) {}

  void use(const std::string& name = "a.csv.gz") {
    text_of_ = nullptr;
    compressed_.reset();
    entry_ = entry_of(folder_.path(name), std::filesystem::file_size(folder_.path(name)));
    open_.emplace(FileSystem::local());
    compressed_.emplace(FileSystem::local(), *open_, CompressedFiles::Settings{.entries = {entry_}, .index = true});
    text_of_ = compressed_->text_of(*entry_);
  }
  void read_to_the_end() {
    const InflatedFile file(*text_of_, compressed_->raw(*entry_));
    char byte = 0;
    static_cast<void>(file.read(text_.size() - 1, &byte, 1));
    compressed_->end_text(*text_of_, text_.size());
  }
  std::string index() const { return folder_.path(".a.csv.gz.index"); }

  TempFolder folder_;
  const std::string text_, bytes_;
  std::shared_ptr<const FileEntry> entry_;
  std::optional<OpenFiles> open_;
  std::optional<CompressedFiles> compressed_;
  CompressedText* text_of_ = nullptr;
};

TEST_F(IndexTest, IsWrittenAtTheEndOfTheTextAndReadByTheNextRun) {
  folder_.write("a.csv.gz", bytes_);
  use();
  EXPECT_EQ(text_of_->size(), StreamFile::kUnknownSize);
  EXPECT_FALSE(std::filesystem::exists(index()));
  read_to_the_end();
  ASSERT_TRUE(std::filesystem::exists(index()));
  EXPECT_LT(std::filesystem::file_size(index()), 200000u);
  const TextPoint point = text_of_->before(6 << 20);
  use();
  EXPECT_EQ(text_of_->size(), text_.size());
  EXPECT_EQ(text_of_->before(6 << 20).text, point.text);
  EXPECT_GT(point.text, 0u);
}

TEST_F(IndexTest, OfAnotherFileOrDamagedIsNotUsed) {
  folder_.write("a.csv.gz", bytes_);
  use();
  read_to_the_end();
  const std::string good = TempFolder::read(index());
  folder_.write("a.csv.gz", gzip_of(text_ + "1\n", {}, 1));
  use();
  EXPECT_EQ(text_of_->size(), StreamFile::kUnknownSize);
  EXPECT_EQ(text_of_->before(6 << 20).text, 0u);
  folder_.write("a.csv.gz", bytes_);
  std::string damaged = good;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  for (const std::string& bad : {damaged, good.substr(0, good.size() / 2), std::string()}) {
    folder_.write(".a.csv.gz.index", bad);
    use();
    EXPECT_EQ(text_of_->size(), StreamFile::kUnknownSize);
  }
  read_to_the_end();
  EXPECT_EQ(TempFolder::read(index()), good) << "and written again";
}

TEST_F(IndexTest, IsLeftOutWhereItWouldSpareNothing) {
  for (const std::string& bytes : {gzip_of("1\n"), zstd_of(text_), bgzf_of(text_)}) {
    folder_.write("a.csv.gz", bytes);
    use();
    read_to_the_end();
    EXPECT_FALSE(std::filesystem::exists(index()));
  }
}

TEST_F(IndexTest, MustBePossibleAtTheStart) {
  const std::string path = folder_.path("absent/a.csv.gz");
  entry_ = entry_of(path, 100);
  open_.emplace(FileSystem::local());
  const auto start = [&](bool index) {
    CompressedFiles(FileSystem::local(), *open_, CompressedFiles::Settings{.entries = {entry_}, .index = index});
  };
  EXPECT_THROW(start(true), IoError);
  start(false);
}

TEST_F(IndexTest, EndsNoRunThatCannotWriteItLater) {
  std::filesystem::create_directory(folder_.path("d"));
  folder_.write("d/a.csv.gz", bytes_);
  std::filesystem::create_directory(folder_.path("d/.a.csv.gz.index"));
  use("d/a.csv.gz");
  read_to_the_end();
  EXPECT_EQ(text_of_->size(), text_.size());
}

}  // namespace
}  // namespace millrace

#endif

#include "millrace/input/source.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "millrace/input/sources/file_units.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::list_of;
using testing_support::make_op;
using testing_support::MemoryFiles;

// A format of lines, whose units say what they hold of their file.
class Pieces : public FileSource {
 public:
  explicit Pieces(uint64_t unit_bytes = 4, int64_t readers = 1) : FileSource({unit_bytes, readers}) {}
  // Names its files itself.
  explicit Pieces(std::unique_ptr<NameSource> names) : FileSource({.unit_bytes = 4}, std::move(names)) {}
  Port open(const BindArgs& args) override {
    opened = cat(args.name, " of ", files().size());
    return {.type = PortType::text};
  }
  void read(Chunk& chunk) const override { chunk.first_record = 99; }
  ChunkBound chunk_bound() const override { return {}; }
  std::string opened;
};

// Units of two bytes that know their lines.
class Pairs final : public Pieces {
 public:
  bool cut(Unit& unit) const override {
    const uint64_t end = unit.end;
    unit.end = std::min(end, unit.begin + 2);
    unit.exact = true;
    unit.line = unit.begin / 2 + 1;
    return unit.end < end;
  }
};

// Counts records of two bytes each.
class Records final : public Pieces {
 public:
  uint64_t end_of(const FileEntry& file) const override { return file.size / 2; }
};

Unit whole_file(uint64_t size) {
  Unit unit;
  unit.file = std::make_shared<FileEntry>(FileEntry{"a.csv", 0, size});
  unit.end = size;
  unit.source = 3;
  unit.pass = 2;
  unit.file_ordinal = 1;
  return unit;
}

// "begin-end" of the units that are left, with the line of exact ones.
std::vector<std::string> units(Units& cut) {
  std::vector<std::string> out;
  for (Unit unit; cut.next(unit);) {
    out.push_back(cat(unit.begin, '-', unit.end, unit.exact ? cat(" line ", unit.line) : ""));
  }
  return out;
}

TEST(FileUnits, AreCutAtMultiplesOfTheSize) {
  const Pieces format;
  FileUnits cut(format);
  cut.start(whole_file(10));
  EXPECT_EQ(units(cut), (std::vector<std::string>{"0-4 line 1", "4-8", "8-10"}));
  cut.start(whole_file(8));
  EXPECT_EQ(units(cut), (std::vector<std::string>{"0-4 line 1", "4-8"}));
  cut.start(whole_file(8));
  Unit unit;
  EXPECT_TRUE(cut.next(unit));
  EXPECT_EQ(cat(unit.file->path, unit.source, unit.pass, unit.file_ordinal), "a.csv321");
}

TEST(FileUnits, AreCutAsTheFormatSays) {
  const Pairs format;
  FileUnits cut(format);
  cut.start(whole_file(5));
  EXPECT_EQ(units(cut), (std::vector<std::string>{"0-2 line 1", "2-4 line 2", "4-5 line 3"}));
}

TEST(FileUnits, BeginInTheMiddle) {
  const Pieces format;
  FileUnits cut(format);
  cut.start(whole_file(10), {.offset = 5, .line = 3});
  EXPECT_EQ(units(cut), (std::vector<std::string>{"5-8 line 3", "8-10"}));
  cut.start(whole_file(10), {.offset = 8, .line = 9});
  EXPECT_EQ(units(cut), (std::vector<std::string>{"8-10 line 9"}));
  cut.start(whole_file(10), {.offset = 10, .line = 9});
  EXPECT_EQ(units(cut), std::vector<std::string>{});
}

TEST(FileUnits, AnEmptyFileHasOneOnce) {
  const Pieces format;
  FileUnits cut(format);
  EXPECT_EQ(units(cut), std::vector<std::string>{});
  cut.start(whole_file(0));
  EXPECT_EQ(units(cut), (std::vector<std::string>{"0-0 line 1"}));
  EXPECT_EQ(units(cut), std::vector<std::string>{});
  cut.start(whole_file(5));
  cut.clear();
  EXPECT_EQ(units(cut), std::vector<std::string>{});
}

class FileSourceTest : public ::testing::Test {
 protected:
  Port bind(FileSource& source, std::initializer_list<const char*> names) {
    queue_ = make_op<NameSource>("filename_queue",
                                 Spec::map().set("files", list_of(names)).set("shuffle", false).set("epochs", epochs_));
    BindArgs args;
    args.files = &files_;
    queue_->bind(args);
    args.names = queue_.get();
    args.name = "pieces";
    args.source_index = 7;
    return source.bind(args);
  }
  MemoryFiles files_;
  int64_t epochs_ = 2;
  std::unique_ptr<NameSource> queue_;
};

TEST_F(FileSourceTest, GoesThroughTheFilesOfItsNames) {
  files_.files = {{"a", "12345"}, {"b", "1"}};
  Pieces source;
  EXPECT_EQ(bind(source, {"a", "b"}).type, PortType::text);
  EXPECT_EQ(source.opened, "pieces of 2");
  EXPECT_EQ(source.passes(), 2u);
  const std::vector<std::string> pass = {"0-4 line 1", "4-5", "0-1 line 1"};
  std::vector<std::string> all = pass;
  all.insert(all.end(), pass.begin(), pass.end());
  EXPECT_EQ(units(source), all);
  source.rewind(1);
  Unit unit;
  ASSERT_TRUE(source.next(unit));
  EXPECT_EQ(cat(unit.file->path, ' ', unit.pass, ' ', unit.source), "a 2 7");
}

TEST_F(FileSourceTest, GoesOnWhereItIsToldToAndFindsARecordAgain) {
  files_.files = {{"a", "12345"}, {"b", "123"}};
  epochs_ = 1;
  Pieces source;
  bind(source, {"a", "b"});
  source.seek({.pass = 0, .file_ordinal = 0, .offset = 2, .line = 2});
  EXPECT_EQ(units(source), (std::vector<std::string>{"2-4 line 2", "4-5", "0-3 line 1"}));
  source.seek({.pass = 0, .file_ordinal = 1, .offset = 3, .line = 9});
  EXPECT_EQ(units(source), std::vector<std::string>{});
  const RowId id = {.source = 7, .file = 1, .length = 2, .offset = 1, .line = 5};
  const Unit again = source.unit_of(id);
  EXPECT_EQ(cat(again.file->path, ' ', again.begin, '-', again.end, ' ', again.line, ' ', again.source), "b 1-3 5 7");
  EXPECT_EQ(source.place(id).text(), "b:5");
}

TEST_F(FileSourceTest, RefusesPlacesThatDoNotExist) {
  files_.files = {{"a", "12345"}, {"b", "123"}};
  epochs_ = 1;
  Pieces source;
  bind(source, {"a", "b"});
  const auto seek = [&](const Position& position) { return error_of([&] { source.seek(position); }); };
  EXPECT_EQ(seek({.file_ordinal = 1, .offset = 3}), "no error");
  EXPECT_EQ(seek({.file_ordinal = 1, .offset = 4}), "b: the saved state is at offset 4, but the file ends at 3");
  EXPECT_EQ(seek({.file_ordinal = 2}), "the saved state is in file 2 of pass 0, which does not exist");
  EXPECT_EQ(seek({.file_ordinal = 0, .offset = 0, .line = 0}), "no error");
  Unit unit;
  ASSERT_TRUE(source.next(unit));
  EXPECT_TRUE(unit.exact) << "a record begins where a file does";
  const auto unit_of = [&](uint64_t offset, uint32_t length) {
    return error_of([&] { source.unit_of({.file = 1, .length = length, .offset = offset}); });
  };
  EXPECT_EQ(unit_of(1, 2), "no error");
  EXPECT_EQ(unit_of(1, 3), "b: the saved state holds a row at offset 1, of length 3, but the file ends at 3");
  EXPECT_NE(unit_of(4, 0), "no error");
  EXPECT_NE(unit_of(UINT64_MAX, 2), "no error");
}

TEST_F(FileSourceTest, MayNameItsFilesItself) {
  files_.files = {{"a", "12345"}, {"b", "1"}};
  const Spec options = Spec::map().set("files", list_of({"a", "b"})).set("epochs", 1);
  const auto make = [&](uint64_t seed) {
    auto source = std::make_unique<Pieces>(make_op<NameSource>("filename_queue", options));
    EXPECT_TRUE(source->inputs().empty()) << "the graph begins with it";
    BindArgs args;
    args.files = &files_;
    args.name = "pieces";
    args.seed = seed;
    args.source_index = 7;
    EXPECT_EQ(source->bind(args).type, PortType::text);
    EXPECT_EQ(source->opened, "pieces of 2");
    return source;
  };
  BindArgs args;
  args.files = &files_;
  args.name = "pieces";
  std::string orders, expected;
  for (args.seed = 1; args.seed < 9; ++args.seed) {
    Unit unit;
    ASSERT_TRUE(make(args.seed)->next(unit));
    EXPECT_EQ(unit.source, 7u);
    orders += unit.file->path;
    const auto names = make_op<NameSource>("filename_queue", options);
    names->bind(args);
    ASSERT_TRUE(names->next(unit));
    expected += unit.file->path;
  }
  EXPECT_EQ(orders, expected) << "by the op's name, as a filename_queue of that name";
  EXPECT_NE(orders.find('a'), orders.npos);
  EXPECT_NE(orders.find('b'), orders.npos);
  State state;
  make(1)->save(state);
  make(2)->check(state);
  EXPECT_EQ(state.text("files"), std::string("a\0b\0", 4));
}

TEST_F(FileSourceTest, OffsetsCountWhatTheFormatCounts) {
  files_.files = {{"a", "1122334455"}, {"b", "11"}};
  epochs_ = 1;
  Records source;
  bind(source, {"a", "b"});
  EXPECT_EQ(units(source), (std::vector<std::string>{"0-4 line 1", "4-5", "0-1 line 1"}));
  source.seek({.offset = 5, .line = 6});
  EXPECT_EQ(units(source), (std::vector<std::string>{"0-1 line 1"}));
  EXPECT_EQ(error_of([&] { source.seek({.offset = 6}); }), "a: the saved state is at offset 6, but the file ends at 5");
  EXPECT_EQ(source.unit_of({.length = 1, .offset = 4, .line = 5}).end, 5u);
  EXPECT_EQ(error_of([&] { source.unit_of({.length = 1, .offset = 5}); }),
            "a: the saved state holds a row at offset 5, of length 1, but the file ends at 5");
}

TEST_F(FileSourceTest, ItsProducerReadsAsTheFormatDoes) {
  Pieces source;
  Chunk chunk;
  source.producer().apply(chunk);
  EXPECT_EQ(chunk.first_record, 99u);
}

TEST_F(FileSourceTest, APipeComesInPartsThatNobodyCuts) {
  files_.streams["pipe"] = {"1\n2\n3", "4\n"};
  epochs_ = 1;
  Pairs source;
  bind(source, {"pipe"});
  EXPECT_GT(source.memory_bound(), 0u);
  std::vector<std::string> got = units(source);
  EXPECT_EQ(got.front().substr(0, 2), "0-");
  Pieces several(4, 2);
  EXPECT_EQ(error_of([&] { bind(several, {"pipe"}); }),
            "pieces: several readers cannot share standard input or a pipe; leave readers out, or write the data to "
            "files first");
}

}  // namespace
}  // namespace millrace

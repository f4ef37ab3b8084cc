#include "millrace/input/arrays/array_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/input/arrays/array_bytes.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::make_op;
using testing_support::MemoryFiles;

// A file of bytes, all of them rows of one byte.
ArrayLayout plain_rows(const FileRange& range) {
  return layout_of({.numbers = {.type = NumberType::uint8}, .sizes = std::vector<uint64_t>{range.size}}, range);
}

// Each file has two arrays: its halves.
class Halves final : public ArraySource {
 public:
  explicit Halves(uint64_t chunk_bytes) : ArraySource({.fields = {"a", "b"}, .chunk_bytes = chunk_bytes}) {}

 protected:
  std::vector<StoredArray> arrays_of(size_t index) const override {
    const uint64_t size = entries()[index]->size, half = size / 2;
    return {stored_array(entries()[index], {.begin = 0, .end = half}, plain_rows),
            stored_array(entries()[index], {.begin = half, .end = size}, plain_rows)};
  }
};

class ArraySourceTest : public ::testing::Test {
 protected:
  template <class Source = Halves>
  std::unique_ptr<Source> make(uint64_t chunk_bytes, const Spec& files) {
    names_ =
        make_op<NameSource>("filename_queue", Spec::map().set("files", files).set("epochs", 1).set("shuffle", false));
    BindArgs args;
    args.files = &files_;
    names_->bind(args);
    args.names = names_.get();
    args.name = "halves";
    args.source_index = 3;
    auto source = std::make_unique<Source>(chunk_bytes);
    port_ = source->bind(args);
    return source;
  }

  MemoryFiles files_;
  std::unique_ptr<NameSource> names_;
  Port port_;
};

TEST_F(ArraySourceTest, CutsFilesIntoRows) {
  files_.files = {{"f", "abcdeABCDE"}, {"g", "xX"}};
  const auto source = make(4, testing_support::list_of({"f", "g"}));
  EXPECT_EQ(port_.type, PortType::rows);
  EXPECT_EQ(port_.rows.text(), "a: uint8 (1), b: uint8 (1)");
  std::vector<std::string> units;
  for (Unit unit; source->next(unit);) {
    EXPECT_TRUE(unit.exact);
    units.push_back(cat(unit.file->path, ' ', unit.begin, '-', unit.end, " line ", unit.line));
  }
  EXPECT_EQ(units, (std::vector<std::string>{"f 0-2 line 1", "f 2-4 line 3", "f 4-5 line 5", "g 0-1 line 1"}));
  EXPECT_EQ(source->chunk_bound().rows, 2u);
  EXPECT_EQ(source->pass_size(), 12u) << "bytes";
  EXPECT_EQ(source->passed(*source->files()[0], 2), 4u) << "of ten bytes in five rows";
  EXPECT_EQ(source->place({.file = 1, .line = 1}).text(), "g:1");
}

TEST_F(ArraySourceTest, ReadsAUnitIntoRows) {
  files_.files = {{"f", "abcdeABCDE"}};
  const auto source = make(100, Spec::of("f"));
  Workspace work;
  Chunk chunk;
  chunk.set_work(&work);
  ASSERT_TRUE(source->next(chunk.unit));
  source->read(chunk);
  ASSERT_EQ(chunk.rows.size(), 5);
  std::string a, b;
  for (int64_t row = 0; row < 5; ++row) {
    a += static_cast<char>(*chunk.rows.row<uint8_t>(0, row));
    b += static_cast<char>(*chunk.rows.row<uint8_t>(1, row));
  }
  EXPECT_EQ(a + b, "abcdeABCDE");
  EXPECT_EQ(chunk.rows.id(2), (RowId{.source = 3, .length = 1, .offset = 2, .line = 3, .next_line = 4}));
  const Unit again = source->unit_of(chunk.rows.id(2));
  EXPECT_EQ(cat(again.begin, '-', again.end, ' ', again.line), "2-3 3");
  EXPECT_EQ(error_of([&] { source->unit_of({.length = 1, .offset = 5}); }),
            "f: the saved state holds a row at offset 5, of length 1, but the file ends at 5");
}

TEST_F(ArraySourceTest, NamesTheFileOnceIfBothArraysLieInIt) {
  files_.files = {{"f", "abc"}};
  EXPECT_EQ(error_of([&] { make(4, Spec::of("f")); }), "f: the array of a has 1 row, the array of b has 2 rows");
}

// Bytes of which the fourth cannot be read.
class DamagedBytes final : public File {
 public:
  uint64_t size() const override { return 6; }
  size_t read(uint64_t offset, void* to, size_t bytes) const override {
    if (offset <= 3 && offset + bytes > 3) throw DataError("the byte is damaged");
    std::memset(to, 'a' + static_cast<int>(offset), bytes);
    return bytes;
  }
};

class DamagedSource final : public ArraySource {
 public:
  explicit DamagedSource(uint64_t chunk_bytes) : ArraySource({.fields = {"a"}, .chunk_bytes = chunk_bytes}) {}

 protected:
  std::vector<StoredArray> arrays_of(size_t index) const override {
    auto bytes = std::make_shared<const DamagedBytes>();
    return {{.file = entries()[index], .unpacked = bytes, .layout = plain_rows({*bytes, 0, bytes->size()})}};
  }
};

// Whatever the size of a unit, no row is made up, and the rows before the damage are given.
TEST_F(ArraySourceTest, GivesTheRowsBeforeOneThatCannotBeRead) {
  files_.files = {{"f", "abcdef"}};
  for (const uint64_t chunk_bytes : {1u, 2u, 100u}) {
    const auto source = make<DamagedSource>(chunk_bytes, Spec::of("f"));
    Workspace work;
    std::string rows, error;
    for (Unit unit; error.empty() && source->next(unit);) {
      Chunk chunk;
      chunk.set_work(&work);
      chunk.unit = unit;
      error = error_of([&] { source->read(chunk); });
      for (int64_t row = 0; row < chunk.rows.size(); ++row) rows += static_cast<char>(*chunk.rows.row<uint8_t>(0, row));
    }
    EXPECT_EQ(rows.substr(0, 1) + cat(rows.size()), "a3") << chunk_bytes;
    EXPECT_EQ(error, "f:4: the byte is damaged") << chunk_bytes;
  }
}

// A file whose array begins at byte 2 with a header of two bytes.
class Inner final : public ArraySource {
 public:
  Inner() : ArraySource({.fields = {"a"}}) {}
  static ArrayLayout header(const FileRange& range) {
    return layout_of({.numbers = {.type = NumberType::uint8}, .sizes = std::vector<uint64_t>{3}, .begin = 2}, range);
  }

 protected:
  std::vector<StoredArray> arrays_of(size_t index) const override {
    return {stored_array(entries()[index], {.begin = 2, .end = entries()[index]->size - 2}, header)};
  }
};

// Rows of two bytes, of which so many are unpacked together.
class Blocks final : public ArraySource {
 public:
  Blocks(uint64_t chunk_bytes, uint64_t rows)
      : ArraySource({.fields = {"a"}, .chunk_bytes = chunk_bytes}), rows_(rows) {}

 protected:
  std::vector<StoredArray> arrays_of(size_t index) const override {
    const auto file = std::make_shared<testing_support::BytesFile>(std::string(2 * 20, 'x'));
    return {{.file = entries()[index],
             .unpacked = file,
             .layout = layout_of({.numbers = {.type = NumberType::uint8}, .sizes = std::vector<uint64_t>{20, 2}},
                                 {*file, 0, 40}),
             .block_rows = rows_}};
  }

 private:
  const uint64_t rows_;
};

TEST_F(ArraySourceTest, AUnitHasWholeBlocks) {
  files_.files = {{"f", "ff"}};
  const auto units = [&](uint64_t chunk_bytes, uint64_t block_rows, uint64_t begin = 0) {
    make(1, Spec::of("f"));
    BindArgs args;
    args.files = &files_;
    args.names = names_.get();
    args.name = "blocks";
    Blocks source(chunk_bytes, block_rows);
    source.bind(args);
    if (begin > 0) source.seek({.offset = begin});
    std::string out;
    uint64_t most = 0;
    for (Unit unit; source.next(unit);) {
      out += cat(out.empty() ? "" : " ", unit.begin, '-', unit.end);
      most = std::max(most, unit.end - unit.begin);
    }
    EXPECT_LE(most, source.chunk_bound().rows);
    EXPECT_EQ(source.memory_bound(), 0u) << "the format says what unpacking takes";
    return out;
  };
  EXPECT_EQ(units(1, 7), "0-7 7-14 14-20");
  EXPECT_EQ(units(30, 7), "0-14 14-20");
  EXPECT_EQ(units(1, 7, 9), "9-14 14-20") << "the rest of a block";
  EXPECT_EQ(units(16, 1), "0-8 8-16 16-20");
  EXPECT_EQ(units(16, uint64_t{1} << 30), "0-8 8-16 16-20") << "blocks may be too large for a task";
}

TEST_F(ArraySourceTest, FindsTheNumbersInTheMiddleOfAFile) {
  files_.files = {{"f", "..hhabc.."}, {"g", "..hhabcd.."}};
  names_ = make_op<NameSource>("filename_queue", Spec::map().set("files", "f"));
  BindArgs args;
  args.files = &files_;
  names_->bind(args);
  args.names = names_.get();
  Inner inner;
  inner.bind(args);
  Workspace work;
  Chunk chunk;
  chunk.set_work(&work);
  ASSERT_TRUE(inner.next(chunk.unit));
  inner.read(chunk);
  ASSERT_EQ(chunk.rows.size(), 3);
  EXPECT_EQ(static_cast<char>(*chunk.rows.row<uint8_t>(0, 2)), 'c');
  names_ = make_op<NameSource>("filename_queue", Spec::map().set("files", "g"));
  args.names = nullptr;
  names_->bind(args);
  args.names = names_.get();
  Inner other;
  EXPECT_EQ(error_of([&] { other.bind(args); }).substr(0, 28), "g: the header says shape (3,");
}

}  // namespace
}  // namespace millrace

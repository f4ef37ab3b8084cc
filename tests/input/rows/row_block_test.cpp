#include "millrace/input/rows/row_block.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "millrace/core/errors.h"
#include "millrace/input/rows/copy_rows.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

RowSpec two_fields() {
  return {{{.name = "features", .dtype = DType::f32, .shape = Shape({3})},
           {.name = "label", .dtype = DType::i64, .shape = Shape({1})}}};
}

void write(RowBlock& block, int64_t row, int64_t number) {
  for (int i = 0; i < 3; ++i) block.row<float>(0, row)[i] = static_cast<float>(10 * number + i);
  *block.row<int64_t>(1, row) = number;
  block.id(row) = {.offset = static_cast<uint64_t>(number), .line = 1, .next_line = 2};
}

void expect_row(const RowBlock& block, int64_t row, int64_t number) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(block.row<float>(0, row)[i], static_cast<float>(10 * number + i));
  EXPECT_EQ(*block.row<int64_t>(1, row), number);
  EXPECT_EQ(block.id(row).offset, static_cast<uint64_t>(number));
}

TEST(RowSpec, FindsFieldsAndSaysWhatItIs) {
  const RowSpec spec = two_fields();
  EXPECT_EQ(spec.find("label"), 1);
  EXPECT_EQ(spec.find("lable"), -1);
  EXPECT_EQ(spec.row_bytes(), 128u);
  EXPECT_EQ(spec.text(), "features: float32 (3), label: int64 (1)");
  EXPECT_EQ(RowSpec().text(), "");
}

TEST(RowBlock, GivesEachFieldItsOwnAlignedArray) {
  RowBlock block;
  block.configure(two_fields(), 5);
  EXPECT_EQ(block.capacity(), 5);
  EXPECT_EQ(block.size(), 0);
  for (int64_t row = 0; row < 5; ++row) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.at(0, row)) % kRowAlignment, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.at(1, row)) % kRowAlignment, 0u);
  }
  EXPECT_EQ(block.at(0, 1) - block.at(0, 0), 64);
  EXPECT_EQ(block.at(1, 0) - block.at(0, 0), 5 * 64);
}

TEST(RowBlock, ViewsTheRowsPresent) {
  RowBlock block;
  block.configure(two_fields(), 4);
  block.resize(2);
  write(block, 0, 7);
  write(block, 1, 8);
  const TensorView view = block.view(0);
  EXPECT_EQ(view.shape(), Shape({2, 3}));
  EXPECT_EQ(view.row_bytes(), 64u);
  EXPECT_EQ(view.as<float>()[view.stride() + 2], 82.0f);
  const RowBlock& constant = block;
  EXPECT_EQ(constant.view(1).shape(), Shape({2, 1}));
  EXPECT_EQ(constant.view(1).as<int64_t>()[8], 8);
}

TEST(RowBlock, KeepsRowsWhereItGrows) {
  RowBlock block;
  block.configure(two_fields(), 2);
  block.resize(2);
  write(block, 0, 1);
  write(block, 1, 2);
  block.grow(9);
  EXPECT_EQ(block.capacity(), 9);
  block.resize(9);
  expect_row(block, 0, 1);
  expect_row(block, 1, 2);
  write(block, 8, 3);
  block.grow(4);
  EXPECT_EQ(block.capacity(), 9);
  expect_row(block, 8, 3);
}

TEST(RowBlock, GrowsWithoutMemoryForNumbers) {
  RowBlock block;
  block.configure({{{.name = "name", .dtype = DType::u8, .shape = Shape({1}), .text = true}}}, 1);
  block.resize(1);
  block.varying(0, 0).add_text("ada");
  block.grow(3);
  block.resize(3);
  EXPECT_EQ(block.varying(0, 0).text(0), "ada");
  EXPECT_EQ(block.varying(0, 2).texts(), 0u);
}

TEST(RowBlock, GrowsWithinItsMemory) {
  RowBlock block;
  block.configure(two_fields(), 100);
  const size_t bytes = block.memory().total();
  const std::byte* start = block.at(0, 0);
  const RowSpec narrow = {{two_fields().fields[0]}};
  block.configure(narrow, 3);
  block.configure(two_fields(), 3);
  block.resize(3);
  for (int64_t row = 0; row < 3; ++row) write(block, row, row);
  block.grow(100);
  EXPECT_EQ(block.at(0, 0), start);
  EXPECT_EQ(block.memory().total(), bytes);
  for (int64_t row = 0; row < 3; ++row) expect_row(block, row, row);
}

TEST(RowBlock, KeepsItsMemoryWhenConfiguredForLess) {
  RowBlock block;
  block.configure(two_fields(), 10);
  block.resize(10);
  const std::byte* start = block.at(0, 0);
  block.configure(two_fields(), 4);
  EXPECT_EQ(block.size(), 0);
  EXPECT_EQ(block.capacity(), 10);
  EXPECT_EQ(block.at(0, 0), start);
  block.configure(two_fields(), 11);
  EXPECT_EQ(block.capacity(), 11);
}

TEST(RowBlock, CopiesRows) {
  RowBlock from, to;
  from.configure(two_fields(), 3);
  to.configure(two_fields(), 8);
  from.resize(3);
  to.resize(8);
  write(from, 2, 42);
  to.copy_row(from, 2, 6);
  expect_row(to, 6, 42);
}

TEST(RowBlock, CopiesNeighbouringRows) {
  RowSpec spec = two_fields();
  spec.fields.push_back({.name = "name", .dtype = DType::u8, .shape = Shape({1}), .text = true});
  RowBlock from, to;
  from.configure(spec, 4);
  to.configure(spec, 9);
  from.resize(4);
  to.resize(9);
  for (int64_t row = 0; row < 4; ++row) {
    write(from, row, row);
    from.set_text(2, row, std::string(1, static_cast<char>('a' + row)));
  }
  for (int64_t row = 0; row < 9; ++row) {
    write(to, row, 10 + row);
    to.set_text(2, row, "old");
  }
  copy_rows(from, 1, 3, to, 5);
  copy_rows(from, 0, 0, to, 0);
  for (int64_t row = 0; row < 9; ++row) {
    const bool copied = row >= 5 && row < 8;
    expect_row(to, row, copied ? row - 4 : 10 + row);
    EXPECT_EQ(to.varying(2, row).text(0), copied ? std::string(1, static_cast<char>('a' + row - 4)) : "old");
  }
}

TEST(RowBlock, MovesItsRowsAndLeavesAnEmptyBlock) {
  RowBlock from;
  from.configure(two_fields(), 3);
  from.resize(1);
  write(from, 0, 5);
  RowBlock to = std::move(from);
  expect_row(to, 0, 5);
  EXPECT_EQ(from.size(), 0);  // NOLINT(bugprone-use-after-move): what a moved-from block is
  EXPECT_EQ(from.capacity(), 0);
  from.configure(two_fields(), 1);
  from.resize(1);
  write(from, 0, 6);
  to = std::move(from);
  EXPECT_EQ(to.size(), 1);
  expect_row(to, 0, 6);
}

TEST(RowBlock, RefusesMoreThanCanBeCounted) {
  RowBlock block;
  EXPECT_THROW(block.configure(two_fields(), int64_t{1} << 60), ShapeError);
  block.configure(two_fields(), 2);
  EXPECT_THROW(block.grow(int64_t{1} << 60), ShapeError);
}

TEST(RowBlock, StaysPinned) {
  RowBlock block;
  block.configure(two_fields(), 2, parse_device("auto"));
  const std::byte* start = block.at(0, 0);
  block.configure(two_fields(), 2, Device::cpu());
  EXPECT_EQ(block.at(0, 0), start);
  block.resize(1);
  write(block, 0, 3);
  block.grow(50);
  expect_row(block, 0, 3);
}

// A number, a text, two texts, and any number of texts.
RowSpec with_texts() {
  RowSpec spec = {{{"x", DType::f32, Shape{1}},
                   {"name", DType::f32, Shape{1}},
                   {"places", DType::f32, Shape{2}},
                   {"words", DType::f32, Shape{1}}}};
  for (size_t field = 1; field < 4; ++field) spec.fields[field].text = true;
  spec.fields[3].split = ' ';
  return spec;
}

TEST(RowBlock, TextsAreSetAndReplaced) {
  RowBlock block;
  block.configure(with_texts(), 2);
  block.resize(2);
  block.set_text(1, 1, "a longer text");
  block.set_text(1, 1, "short");
  ASSERT_EQ(block.varying(1, 1).texts(), 1u);
  EXPECT_EQ(block.varying(1, 1).text(0), "short");
  block.set_text(2, 1, "here");
  block.add_text(2, 1, "there");
  ASSERT_EQ(block.varying(2, 1).texts(), 2u);
  EXPECT_EQ(block.varying(2, 1).text(1), "there");
  EXPECT_EQ(block.varying(1, 0).texts(), 0u);
}

TEST(RowBlock, TextsThatAreNotSetAreEmptyAndTheirNumberIsChecked) {
  RowBlock block;
  block.configure(with_texts(), 3);
  block.resize(2);
  block.set_text(1, 0, "a");
  block.check_texts();
  block.complete_texts();
  block.check_texts();
  EXPECT_EQ(block.varying(1, 0).text(0), "a");
  ASSERT_EQ(block.varying(1, 1).texts(), 1u);
  EXPECT_EQ(block.varying(1, 1).text(0), "");
  EXPECT_EQ(block.varying(2, 1).texts(), 2u);
  EXPECT_EQ(block.varying(3, 1).texts(), 0u) << "of a ragged field none is missing";
  block.set_text(2, 1, "one of two");
  EXPECT_EQ(error_of<ShapeError>([&] { block.check_texts(40); }),
            "row 41 has 1 text in the field places, which is string (2)");
  block.set_text(2, 1, "one");
  block.add_text(2, 1, "two");
  block.add_text(1, 0, "b");
  EXPECT_EQ(error_of<ShapeError>([&] { block.check_texts(); }),
            "row 0 has 2 texts in the field name, which is string (1)");
}

}  // namespace
}  // namespace millrace

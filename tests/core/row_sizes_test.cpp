#include "millrace/core/row_sizes.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

struct Options {
  RowSizes shape;
  void declare(OptionReader& o) { o.required("shape", shape, "the shape"); }
};

Spec list_of(const std::vector<int64_t>& sizes) {
  Spec list = Spec::list();
  for (const int64_t size : sizes) list.append(Spec::of(size));
  return list;
}

RowSizes read(Spec sizes) { return read_options<Options>(Spec::map().set("shape", std::move(sizes))).shape; }
RowSizes read(const std::vector<int64_t>& sizes) { return read(list_of(sizes)); }

std::string error_of(Spec sizes) {
  try {
    read(std::move(sizes));
  } catch (const ConfigError& error) {
    return error.message();
  }
  return "no error";
}

TEST(RowSizes, AreTheShapeOfRowsWithAsManyValues) {
  EXPECT_EQ(read({2, 3}).shape_of(6), (Shape{2, 3}));
  EXPECT_EQ(read(Spec::of(int64_t{6})).shape_of(6), Shape{6});
  EXPECT_EQ(read({2, 3}).shape_of(7), std::nullopt);
  EXPECT_EQ(read({2, 3}).shape_of(12), std::nullopt);
  EXPECT_EQ(read({1, 28, 28}).text(), "(1, 28, 28)");
  EXPECT_EQ(read({1, 28, 28}).wanted("column"), "784 columns");
  EXPECT_EQ(read({1}).wanted("value"), "1 value");
}

TEST(RowSizes, OneIsWhatTheOthersLeave) {
  EXPECT_EQ(read({-1}).shape_of(6), Shape{6});
  EXPECT_EQ(read({2, -1, 3}).shape_of(24), (Shape{2, 4, 3}));
  EXPECT_EQ(read({6, -1}).shape_of(6), (Shape{6, 1}));
  EXPECT_EQ(read({1, 1, 1, 1, -1}).shape_of(1), (Shape{1, 1, 1, 1, 1}));
  EXPECT_EQ(read({2, -1}).shape_of(5), std::nullopt);
  EXPECT_EQ(read({4, -1}).shape_of(3), std::nullopt);
  EXPECT_EQ(read({4, -1}).text(), "(4, -1)");
  EXPECT_EQ(read({4, -1}).wanted("value"), "a multiple of 4 values");
}

TEST(RowSizes, MoreValuesThanCanBeCountedAreAnError) {
  const RowSizes sizes = read({int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_THROW(sizes.shape_of(5), ShapeError);
}

TEST(RowSizes, RefuseWhatIsNoShape) {
  EXPECT_EQ(error_of(list_of({2, 0})), "shape[1]: expected at least 1, or -1, got 0");
  EXPECT_EQ(error_of(list_of({-2})), "shape[0]: expected at least 1, or -1, got -2");
  EXPECT_EQ(error_of(Spec::of(int64_t{0})), "shape: expected at least 1, or -1, got 0");
  EXPECT_EQ(error_of(list_of({-1, 2, -1})), "shape: expected -1 at most once, got it 2 times");
  EXPECT_EQ(error_of(Spec::list()), "shape: expected 1 to 5 sizes, got 0");
  EXPECT_EQ(error_of(list_of({1, 1, 1, 1, 1, 1})), "shape: expected 1 to 5 sizes, got 6");
}

TEST(RowSizes, AreWrittenAsTheyAreRead) {
  const Spec written = OptionType<RowSizes>::write(read({1, -1, 28}));
  EXPECT_EQ(read(written).text(), "(1, -1, 28)");
  EXPECT_EQ(describe_options<Options>().front().type, "integer or list");
  EXPECT_EQ(describe_options<Options>().front().forms.size(), 2u);
}

}  // namespace
}  // namespace millrace

#include "millrace/layers/images/window.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {
namespace {

struct Options {
  Window window;
  void declare(OptionReader& o) {
    o.optional("kernel", window.kernel, "a size");
    o.optional("padding", window.padding, "a padding");
  }
};

Window read(Spec options) { return read_options<Options>(options).window; }
Spec two(int height, int width) { return Spec::list().append(Spec::of(height)).append(Spec::of(width)); }

std::string error_of(const Spec& options) {
  try {
    read(options);
  } catch (const ConfigError& error) {
    return error.hint().empty() ? error.message() : cat(error.message(), "; ", error.hint());
  }
  return "no error";
}

TEST(Window, ReadsOneSizeForBothAxesOrTwo) {
  EXPECT_EQ(read(Spec::map().set("kernel", 3)).kernel, (Pixels{3, 3}));
  EXPECT_EQ(read(Spec::map().set("kernel", two(3, 5))).kernel, (Pixels{3, 5}));
  EXPECT_EQ(read(Spec::map()).kernel, (Pixels{1, 1}));
}

TEST(Window, ReadsItsPadding) {
  EXPECT_EQ(read(Spec::map()).padding.kind, Padding::Kind::valid);
  EXPECT_EQ(read(Spec::map().set("padding", "valid")).padding.kind, Padding::Kind::valid);
  EXPECT_EQ(read(Spec::map().set("padding", "same")).padding.kind, Padding::Kind::same);
  const Padding padding = read(Spec::map().set("padding", two(0, 2))).padding;
  EXPECT_EQ(padding.kind, Padding::Kind::pixels);
  EXPECT_EQ(padding.pixels, (Pixels{0, 2}));
}

TEST(Window, SaysWhatIsWrong) {
  EXPECT_EQ(error_of(Spec::map().set("kernel", 0)), "kernel: expected a whole number from 1 to 1048576, got 0");
  EXPECT_EQ(error_of(Spec::map().set("padding", -1)), "padding: expected a whole number from 0 to 1048576, got -1");
  EXPECT_EQ(error_of(Spec::map().set("kernel", Spec::list().append(Spec::of(1)))),
            "kernel: expected one number, or [height, width], got a list of 1");
  EXPECT_EQ(error_of(Spec::map().set("padding", "full")),
            "padding: expected valid, same, or a number of pixels, got the text \"full\"");
  EXPECT_EQ(error_of(Spec::map().set("padding", "SAME")),
            "padding: expected valid, same, or a number of pixels, got the text \"SAME\"; did you mean same?");
}

TEST(Window, IsWrittenAsItIsRead) {
  for (const Padding& padding :
       {Padding{}, Padding{.kind = Padding::Kind::same}, Padding{.kind = Padding::Kind::pixels, .pixels = {2, 2}},
        Padding{.kind = Padding::Kind::pixels, .pixels = {0, 3}}}) {
    const Padding again = OptionType<Padding>::read(OptionType<Padding>::write(padding));
    EXPECT_EQ(again.kind, padding.kind);
    EXPECT_EQ(again.pixels, padding.pixels);
  }
  for (const Pixels& pixels : {Pixels{2, 2}, Pixels{1, 7}}) {
    EXPECT_EQ(OptionType<Pixels>::read(OptionType<Pixels>::write(pixels)), pixels);
  }
}

TEST(Window, SamePaddingKeepsTheSizeAtStrideOne) {
  Window window{.kernel = {3, 4}};
  window.padding.kind = Padding::Kind::same;
  const ConvolutionSpec::Axis height = window.over_height(10), width = window.over_width(10);
  EXPECT_EQ(height.out(), 10);
  EXPECT_EQ(width.out(), 10);
  EXPECT_EQ(height.before, 1);
  EXPECT_EQ(height.after, 1);
  EXPECT_EQ(width.before, 1);
  EXPECT_EQ(width.after, 2) << "the odd pixel is behind";
  window.stride = {2, 3};
  EXPECT_EQ(window.over_height(10).out(), 5);
  EXPECT_EQ(window.over_height(11).out(), 6);
  EXPECT_EQ(window.over_width(10).out(), 4);
  window.kernel = {1, 1};
  EXPECT_EQ(window.over_height(10).before + window.over_height(10).after, 0) << "never less than none";
  EXPECT_EQ(window.over_height(10).out(), 5);
}

}  // namespace
}  // namespace millrace

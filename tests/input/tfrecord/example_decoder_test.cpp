#include "millrace/input/tfrecord/example_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "tests/input/op_testing.h"
#include "tests/input/tfrecord/tfrecords.h"

namespace millrace {
namespace {

using testing_support::bytes_feature;
using testing_support::bytes_of_numbers;
using testing_support::example_of;
using testing_support::floats_feature;
using testing_support::integers_feature;
using testing_support::row_text;
using testing_support::tag;
using testing_support::varint;
using testing_support::wire_field;

ExampleField field(DType dtype, const Shape& shape = Shape{1}) { return {.spec = {"f", dtype, shape}, .key = "k"}; }
ExampleField texts(int64_t count = 1) {
  ExampleField out = field(DType::u8, Shape{count});
  out.spec.text = true;
  return out;
}
ExampleField ragged(ExampleField out) {
  out.spec.split = ' ';
  return out;
}

// The row of an example, or what is wrong with it.
std::string decoded(const std::vector<ExampleField>& fields, const std::string& example) {
  const ExampleDecoder decoder(fields);
  RowBlock rows;
  rows.configure(decoder.rows(), 1);
  ExampleDecoder::Features features;
  const ExampleFault fault = decoder.decode(example, features, rows, 0);
  rows.resize(1);
  return !fault.text.empty() ? cat(fault.text, fault.hint.empty() ? "" : "; ", fault.hint) : row_text(rows, 0);
}
// Of a feature with the key of field().
std::string value(const ExampleField& of, const std::string& feature) {
  return decoded({of}, example_of({{"k", feature}}));
}

TEST(ExampleDecoder, ReadsEveryKindOfListIntoTheTypesThatHoldIt) {
  EXPECT_EQ(value(field(DType::f32, Shape{3}), floats_feature({0.5F, -0.0F, 1e-42F})), "f=0.5,-0,1e-42");
  EXPECT_EQ(value(field(DType::f64), floats_feature({0.1F})), "f=0.10000000149011612");
  EXPECT_EQ(value(field(DType::i64, Shape{2}), integers_feature({INT64_MIN, INT64_MAX})),
            "f=-9223372036854775808,9223372036854775807");
  EXPECT_EQ(value(field(DType::i32, Shape{2}), integers_feature({-5, 2147483647})), "f=-5,2147483647");
  EXPECT_EQ(value(field(DType::u8), integers_feature({255})), "f=255");
  EXPECT_EQ(value(field(DType::f32), integers_feature({16777217})), "f=16777216") << "the nearest, as of a text";
  EXPECT_EQ(value(field(DType::f64), integers_feature({-3})), "f=-3");
  EXPECT_EQ(value(texts(2), bytes_feature({"a", ""})), "f=\"a\",\"\"");
}

TEST(ExampleDecoder, ReadsNumbersFromTheirBytes) {
  EXPECT_EQ(value(field(DType::u8, Shape{1, 2, 2}), bytes_feature({"\x01\x02\x03\xff"})), "f=1,2,3,255");
  EXPECT_EQ(value(field(DType::f64, Shape{2}), bytes_feature({bytes_of_numbers<double>({0.1, -2})})), "f=0.1,-2");
  EXPECT_EQ(value(field(DType::i32), bytes_feature({bytes_of_numbers<int32_t>({-7})})), "f=-7");
  EXPECT_EQ(value(ragged(field(DType::f64)), bytes_feature({bytes_of_numbers<double>({3, 4, 5})})), "f=3,4,5");
  EXPECT_EQ(value(field(DType::f32), bytes_feature({"abcde"})),
            "feature \"k\" (f): expected bytes of float32, got 5 bytes");
  EXPECT_EQ(value(field(DType::u8, Shape{4}), bytes_feature({"abcde"})), "feature \"k\" (f): expected 4 values, got 5");
}

TEST(ExampleDecoder, ReadsListsOfAnyLength) {
  EXPECT_EQ(value(ragged(field(DType::i64)), integers_feature({1, 2, 3})), "f=1,2,3");
  EXPECT_EQ(value(ragged(field(DType::f32)), floats_feature({})), "f=");
  EXPECT_EQ(value(ragged(texts()), bytes_feature({"a", "", "b"})), "f=\"a\",\"\",\"b\"");
  EXPECT_EQ(value(ragged(field(DType::i64)), wire_field(3, "")), "f=") << "a list that is empty, and there";
}

TEST(ExampleDecoder, ReadsListsThatAreNotPackedOrComeInParts) {
  EXPECT_EQ(value(field(DType::f32, Shape{2}), floats_feature({1.5F, 2}, false)), "f=1.5,2");
  EXPECT_EQ(value(field(DType::i64, Shape{2}), integers_feature({-1, 300}, false)), "f=-1,300");
  const std::string parts =
      wire_field(3, tag(1, 0) + varint(7) + wire_field(1, varint(8) + varint(9))) + integers_feature({10});
  EXPECT_EQ(value(field(DType::i64, Shape{4}), parts), "f=7,8,9,10") << "two messages of one field are one";
}

TEST(ExampleDecoder, TheLastOfAFieldCounts) {
  const ExampleField one = field(DType::i64);
  EXPECT_EQ(decoded({one}, example_of({{"k", integers_feature({1})}, {"k", integers_feature({2})}})), "f=2");
  EXPECT_EQ(decoded({one}, example_of({{"k", integers_feature({1})}}) + example_of({{"k", integers_feature({3})}})),
            "f=3");
  EXPECT_EQ(value(one, floats_feature({5}) + integers_feature({4})), "f=4") << "only one of the kinds";
  EXPECT_EQ(value(one, integers_feature({4}) + floats_feature({5}) + integers_feature({6})), "f=6");
  const std::string entry = wire_field(2, integers_feature({1})) + wire_field(1, "other") +
                            wire_field(2, integers_feature({2})) + wire_field(1, "k");
  EXPECT_EQ(decoded({one}, wire_field(1, wire_field(1, entry))), "f=2");
}

TEST(ExampleDecoder, SkipsWhatItDoesNotKnow) {
  const std::string unknown =
      tag(9, 0) + varint(5) + tag(10, 5) + "abcd" + tag(11, 1) + "abcdefgh" + wire_field(12, "x");
  const std::string list = wire_field(3, unknown + wire_field(1, varint(6)) + tag(1, 5) + "abcd" + unknown);
  const std::string entry = unknown + wire_field(1, "k") + wire_field(2, unknown + list + tag(3, 0) + varint(1));
  EXPECT_EQ(decoded({field(DType::i64)}, unknown + wire_field(1, unknown + wire_field(1, entry)) + wire_field(2, "y")),
            "f=6");
}

TEST(ExampleDecoder, OneFeatureMayBeSeveralFields) {
  ExampleField bytes = texts(), pixels = field(DType::u8, Shape{2}), other = field(DType::f32);
  pixels.spec.name = "pixels";
  other.spec.name = other.key = "x";
  EXPECT_EQ(decoded({bytes, pixels, other}, example_of({{"x", floats_feature({1})}, {"k", bytes_feature({"ab"})}})),
            "f=\"ab\" pixels=97,98 x=1");
}

TEST(ExampleDecoder, ADefaultStandsForAMissingFeature) {
  const auto with_default = [](ExampleField of, const Spec& value) {
    of.defaults = read_default_values(
        {.spec = value, .field = of.spec, .columns = static_cast<size_t>(of.spec.shape.elements())});
    return of;
  };
  const std::vector<ExampleField> fields = {
      with_default(field(DType::f32, Shape{2}), Spec::list({1, 2.5})), with_default(field(DType::i64), Spec::of(-1)),
      with_default(texts(), Spec::of("none")), with_default(ragged(field(DType::i32)), Spec::list({7, 8}))};
  const char* const expected[] = {"f=1,2.5", "f=-1", "f=\"none\"", "f=7,8"};
  for (size_t i = 0; i < fields.size(); ++i) {
    for (const std::string& example : {std::string(), example_of({}), example_of({{"other", floats_feature({1})}}),
                                       example_of({{"k", ""}}), wire_field(1, wire_field(1, wire_field(1, "k")))}) {
      EXPECT_EQ(decoded({fields[i]}, example), expected[i]) << quote(example);
    }
  }
  EXPECT_EQ(value(fields[0], floats_feature({})), "f=1,2.5") << "no values are as good as none";
  EXPECT_EQ(value(fields[3], integers_feature({})), "f=") << "but a list of any length may be empty";
  EXPECT_EQ(value(fields[0], floats_feature({1})), "feature \"k\" (f): expected 2 values, got 1");
  EXPECT_EQ(ExampleDecoder(fields).least_bytes(), 0u);
}

TEST(ExampleDecoder, SaysWhatIsWrong) {
  EXPECT_EQ(decoded({field(DType::f32)}, ""), "feature \"k\" (f): the record has no such feature; it has none at all");
  EXPECT_EQ(
      decoded({field(DType::f32)}, example_of({{"height", ""}, {"width", ""}})),
      "feature \"k\" (f): the record has no such feature; it has \"height\" and \"width\"; a default stands for a "
      "feature that is missing");
  ExampleField meant = field(DType::f32);
  meant.key = "widht";
  EXPECT_EQ(decoded({meant}, example_of({{"height", ""}, {"width", ""}})),
            "feature \"widht\" (f): the record has no such feature; did you mean \"width\"?");
  EXPECT_EQ(value(field(DType::f32), floats_feature({})),
            "feature \"k\" (f): it has no values; give the field a default");
  EXPECT_EQ(value(ragged(field(DType::f32)), ""), "feature \"k\" (f): it has no values; give the field a default");
  EXPECT_EQ(value(field(DType::f32, Shape{2}), floats_feature({1, 2, 3})),
            "feature \"k\" (f): expected 2 values, got 3");
  EXPECT_EQ(value(texts(), bytes_feature({"a", "b"})), "feature \"k\" (f): expected 1 value, got 2");
  EXPECT_EQ(value(field(DType::i32), integers_feature({2147483648})),
            "feature \"k\" (f): expected int32, got 2147483648");
  EXPECT_EQ(value(field(DType::u8), integers_feature({-1})), "feature \"k\" (f): expected uint8, got -1");
  EXPECT_EQ(value(field(DType::i64), floats_feature({1})), "feature \"k\" (f): expected int64, got floats");
  EXPECT_EQ(value(texts(), floats_feature({1})), "feature \"k\" (f): expected texts, got floats");
  EXPECT_EQ(value(texts(), integers_feature({1})), "feature \"k\" (f): expected texts, got integers");
}

TEST(ExampleDecoder, RefusesDamagedBytes) {
  const std::string good = example_of({{"k", integers_feature({300})}});
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_EQ(decoded({field(DType::i64)}, good.substr(0, size)), "the bytes are no tf.Example") << size;
  }
  const std::string damaged = "feature \"k\" (f): the bytes are no tf.Example";
  EXPECT_EQ(value(field(DType::i64), "\x1a\x05"), damaged);
  EXPECT_EQ(value(field(DType::i64), wire_field(3, "\x0a\x05")), damaged);
  EXPECT_EQ(value(field(DType::i64), wire_field(3, wire_field(1, "\xff"))), damaged);
  EXPECT_EQ(value(field(DType::f32), wire_field(2, wire_field(1, "abc"))), damaged);
  EXPECT_EQ(value(texts(), wire_field(1, "\x0a\x05")), damaged);
}

TEST(ExampleDecoder, KnowsTheLeastBytesOfARow) {
  ExampleField other = field(DType::f32, Shape{10});
  other.key = "other";
  EXPECT_EQ(ExampleDecoder({field(DType::u8, Shape{3, 4}), texts(), other, ragged(field(DType::i64))}).least_bytes(),
            22u);
}

}  // namespace
}  // namespace millrace

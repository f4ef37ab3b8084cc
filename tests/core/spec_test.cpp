#include "millrace/core/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "tests/support/host_mode.h"

namespace millrace {
namespace {

using testing::EndsWith;

const Place kPlace{"mlp.yaml", 3, 7};

Spec plain(std::string text) { return Spec::scalar(std::move(text), false, kPlace); }

template <class F>
std::string config_error(F call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Spec, ReadsIntegers) {
  EXPECT_EQ(plain("0").as_int(), 0);
  EXPECT_EQ(plain("-12").as_int(), -12);
  EXPECT_EQ(plain("+12").as_int(), 12);
  EXPECT_EQ(plain("9223372036854775807").as_int(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(plain("-9223372036854775808").as_int(), std::numeric_limits<int64_t>::min());
}

TEST(Spec, RejectsWhatIsNoInteger) {
  for (const char* text : {"", "+", "-", "0x10", "1_000", " 1", "1 ", "+-5", "++5", "abc"}) {
    EXPECT_EQ(config_error([&] { plain(text).as_int(); }),
              "mlp.yaml:3:7: expected an integer, got \"" + std::string(text) + "\"");
  }
  EXPECT_EQ(config_error([] { plain("1.0").as_int(); }), "mlp.yaml:3:7: expected an integer, got 1.0");
  EXPECT_EQ(config_error([] { plain("1e3").as_int(); }), "mlp.yaml:3:7: expected an integer, got 1e3");
  EXPECT_EQ(config_error([] { plain(std::string(61, '1')).as_int(); }),
            "mlp.yaml:3:7: expected an integer from -9223372036854775808 to 9223372036854775807, got \"" +
                std::string(60, '1') + "...\"");
  EXPECT_EQ(
      config_error([] { plain("9223372036854775808").as_int(); }),
      "mlp.yaml:3:7: expected an integer from -9223372036854775808 to 9223372036854775807, got 9223372036854775808");
  EXPECT_EQ(config_error([] { Spec::scalar("5", true, kPlace).as_int(); }),
            "mlp.yaml:3:7: expected an integer, got the text \"5\"");
}

TEST(Spec, ReadsNumbers) {
  EXPECT_EQ(plain("0.1").as_double(), 0.1);
  EXPECT_EQ(plain("-1e-3").as_double(), -1e-3);
  EXPECT_EQ(plain("+5").as_double(), 5);
  EXPECT_EQ(plain(".5").as_double(), 0.5);
  EXPECT_EQ(plain("5.").as_double(), 5);
  EXPECT_EQ(plain(".inf").as_double(), HUGE_VAL);
  EXPECT_EQ(plain("+.Inf").as_double(), HUGE_VAL);
  EXPECT_EQ(plain("-.INF").as_double(), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(plain(".NaN").as_double()));
}

TEST(Spec, RejectsWhatIsNoNumber) {
  for (const char* text : {"", "+", ".", "inf", "-inf", "nan", "-nan", "1e400", "0x1p3", "1,5", "+-5", "1 ", "true"}) {
    EXPECT_EQ(config_error([&] { plain(text).as_double(); }),
              "mlp.yaml:3:7: expected a number, got \"" + std::string(text) + "\"");
  }
}

TEST(Spec, ReadsTruthValues) {
  EXPECT_TRUE(plain("true").as_bool());
  EXPECT_TRUE(plain("True").as_bool());
  EXPECT_FALSE(plain("FALSE").as_bool());
  EXPECT_EQ(config_error([] { plain("yes").as_bool(); }), "mlp.yaml:3:7: expected true or false, got \"yes\"");
  EXPECT_EQ(config_error([] { Spec::scalar("true", true, kPlace).as_bool(); }),
            "mlp.yaml:3:7: expected true or false, got the text \"true\"");
}

TEST(Spec, ReadsAnyScalarAsText) {
  EXPECT_EQ(plain("12").as_string(), "12");
  EXPECT_EQ(Spec::scalar("", true, kPlace).as_string(), "");
  EXPECT_EQ(config_error([] { Spec::null(kPlace).as_string(); }),
            "mlp.yaml:3:7: expected a text, got nothing; null means no value: put it in quotes if a text is meant");
  EXPECT_EQ(config_error([] { Spec::list(kPlace).as_string(); }), "mlp.yaml:3:7: expected a text, got a list");
  EXPECT_EQ(config_error([] { Spec::map(kPlace).items(); }), "mlp.yaml:3:7: expected a list, got a map");
  EXPECT_EQ(config_error([] { plain("x").entries(); }), "mlp.yaml:3:7: expected a map, got \"x\"");
}

TEST(Spec, MadeInCodeKnowsWhere) {
  const Spec spec = Spec::map().set("units", 10).set("name", "head").set("rate", 0.5).set("bias", true);
  EXPECT_THAT(spec.place().file, EndsWith("spec_test.cpp"));
  EXPECT_GT(spec.find("units")->place().line, 0);
  EXPECT_EQ(spec.find("units")->as_int(), 10);
  EXPECT_EQ(spec.find("name")->as_string(), "head");
  EXPECT_EQ(spec.find("rate")->as_double(), 0.5);
  EXPECT_TRUE(spec.find("bias")->as_bool());
  EXPECT_THROW(spec.find("name")->as_int(), ConfigError);
}

TEST(Spec, NumbersMadeInCodeRoundTrip) {
  EXPECT_EQ(Spec::of(0.1f).as_double(), 0.1);
  EXPECT_EQ(Spec::of(std::numeric_limits<double>::denorm_min()).as_double(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(Spec::of(HUGE_VAL).as_double(), HUGE_VAL);
  EXPECT_EQ(Spec::of(-HUGE_VAL).as_double(), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(Spec::of(std::nan("")).as_double()));
  EXPECT_EQ(Spec::of(int16_t{-3}).as_int(), -3);
}

TEST(Spec, SetReplacesAndKeepsTheOrder) {
  Spec spec = Spec::map(kPlace);
  spec.set("a", 1).set("b", 2).set("a", 3);
  ASSERT_EQ(spec.size(), 2u);
  EXPECT_EQ(spec.entries()[0].first, "a");
  EXPECT_EQ(spec.entries()[0].second.as_int(), 3);
  spec.erase("a");
  EXPECT_EQ(spec.size(), 1u);
  EXPECT_EQ(spec.find("a"), nullptr);
  EXPECT_EQ(config_error([&] { plain("x").set("a", 1); }), "mlp.yaml:3:7: expected a map, got \"x\"");
  EXPECT_EQ(config_error([&] { spec.append(plain("x")); }), "mlp.yaml:3:7: expected a list, got a map");
}

TEST(Spec, PathsFollowTheTree) {
  Spec inner = Spec::map(kPlace);
  inner.set("units", plain("x"));
  Spec layer = Spec::map(kPlace);
  layer.set("dense", std::move(inner));
  Spec model = Spec::list(kPlace);
  model.append(Spec::null()).append(std::move(layer));
  Spec root = Spec::map(kPlace);
  root.set("model", std::move(model));
  const Spec& units = *root.find("model")->items()[1].find("dense")->find("units");
  EXPECT_EQ(units.path(), "model[1].dense.units");
  EXPECT_EQ(config_error([&] { units.as_int(); }),
            "mlp.yaml:3:7: model[1].dense.units: expected an integer, got \"x\"");
  EXPECT_EQ(root.path(), "");
}

TEST(Spec, NullBecomesWhatIsPutInto) {
  Spec map, list;
  map.set("a", 1);
  list.append(Spec::of(1));
  EXPECT_TRUE(map.is_map());
  EXPECT_TRUE(list.is_list());
  EXPECT_EQ(list.item(0)->as_int(), 1);
  EXPECT_EQ(list.item(1), nullptr);
  EXPECT_EQ(map.item(0), nullptr);
}

TEST(Spec, ListsAndMapsAreMadeInOneExpression) {
  const int line = __LINE__;
  const Spec model = Spec::list({{{"dense", {{"units", 10}, {"bias", false}, {"activation", "relu"}}}},
                                 "flatten",
                                 0.5,
                                 Spec::list({}),
                                 Spec::map({{"a", 1}, {"a", 2}})});
  ASSERT_TRUE(model.is_list());
  ASSERT_EQ(model.size(), 5u);
  EXPECT_EQ(model.place(), (Place{__FILE__, line + 1, model.place().column}));
  const Spec& dense = *model.items()[0].find("dense");
  EXPECT_EQ(dense.size(), 3u);
  EXPECT_EQ(dense.find("units")->as_int(), 10);
  EXPECT_EQ(dense.find("units")->path(), "[0].dense.units");
  EXPECT_FALSE(dense.find("bias")->as_bool());
  EXPECT_EQ(dense.find("activation")->place(), model.place());
  EXPECT_TRUE(dense.find("activation")->quoted());
  EXPECT_EQ(model.items()[1].as_string(), "flatten");
  EXPECT_EQ(model.items()[2].as_double(), 0.5);
  EXPECT_TRUE(model.items()[3].is_list());
  EXPECT_EQ(model.items()[4].find("a")->as_int(), 2);
  EXPECT_EQ(model.items()[4].find("a")->place().line, line + 5);
}

TEST(Spec, NullptrMadeInCodeIsNull) {
  Spec config = Spec::map({{"save", nullptr}, {"list", Spec::list({nullptr, 1})}});
  EXPECT_TRUE(config.find("save")->is_null());
  EXPECT_EQ(config.find("save")->place().line, __LINE__ - 2);
  EXPECT_TRUE(config.find("list")->items()[0].is_null());
  config.set("seed", 1).set("seed", nullptr);
  EXPECT_TRUE(config.find("seed")->is_null());
}

TEST(Spec, KeyPlaceIsThePlaceWhereUnknown) {
  Spec spec = plain("1");
  EXPECT_EQ(spec.key_place(), kPlace);
  spec.set_key_place({"mlp.yaml", 3, 1});
  EXPECT_EQ(spec.key_place(), (Place{"mlp.yaml", 3, 1}));
}

TEST(KindAndOptions, ReadsBothForms) {
  const KindAndOptions name = kind_and_options(plain("relu"), "a layer");
  EXPECT_EQ(name.kind, "relu");
  EXPECT_TRUE(name.options.is_map());
  EXPECT_EQ(name.options.size(), 0u);
  EXPECT_EQ(name.options.place(), kPlace);

  Spec dense = Spec::map(kPlace);
  dense.set("dense", Spec::map(kPlace).set("units", 10));
  const KindAndOptions full = kind_and_options(dense, "a layer");
  EXPECT_EQ(full.kind, "dense");
  EXPECT_EQ(full.options.find("units")->as_int(), 10);

  Spec empty = Spec::map(kPlace);
  empty.set("relu", Spec::null(kPlace));
  EXPECT_TRUE(kind_and_options(empty, "a layer").options.is_map());
}

TEST(Spec, ReadsTheSameNumberInEveryFloatingPointMode) {
  for (const int rounding : test::HostMode::roundings()) {
    const test::HostMode host(rounding, true);
    EXPECT_EQ(plain("0.1").as_double(), 0.1) << rounding;
    EXPECT_EQ(plain("-0.3").as_double(), -0.3) << rounding;
    EXPECT_EQ(plain("123456789.123456789e-30").as_double(), 123456789.123456789e-30) << rounding;
    const double subnormal = plain("1e-310").as_double();
    EXPECT_EQ(std::bit_cast<uint64_t>(subnormal), std::bit_cast<uint64_t>(1e-310)) << rounding;
    EXPECT_EQ(std::fegetround(), rounding);
  }
}

template <class T>
concept HasSpec = requires(Spec map, const T& value) {
  Spec::of(value);
  map.set("key", value);
};

TEST(Spec, HoldsNumbersOfEverySizeAndNoOthers) {
  EXPECT_EQ(Spec::of(uint8_t{255}).as_int(), 255);
  EXPECT_EQ(Spec::of(int8_t{-128}).as_int(), -128);
  EXPECT_EQ(Spec().set("key", std::numeric_limits<uint64_t>::max()).find("key")->as_string(), "18446744073709551615");
  EXPECT_EQ(Spec::of(0.1F).as_string(), "0.1");
  EXPECT_TRUE(Spec::of(true).as_bool());
  EXPECT_FALSE(HasSpec<long double>);
  EXPECT_FALSE(HasSpec<wchar_t>);
  EXPECT_FALSE(HasSpec<char8_t>);
  EXPECT_FALSE(HasSpec<char32_t>);
  EXPECT_FALSE(HasSpec<const int*>);
}

TEST(Spec, TakesACharacterAsText) {
  const Spec map = Spec().set("delimiter", ';').set("digit", '7');
  EXPECT_EQ(map.find("delimiter")->as_string(), ";");
  EXPECT_TRUE(map.find("digit")->quoted());
  EXPECT_EQ(Spec::of(',').as_string(), ",");
}

TEST(KindAndOptions, RejectsOtherForms) {
  const std::string hint = "; write `name` or `name: {option: value}`; check the indentation of the options";
  EXPECT_EQ(config_error([] { kind_and_options(Spec::list(kPlace), "a layer"); }),
            "mlp.yaml:3:7: expected a layer as a name or as one name with its options, got a list" + hint);
  Spec two = Spec::map(kPlace);
  two.set("dense", Spec::null()).set("units", 10);
  EXPECT_EQ(config_error([&] { kind_and_options(two, "a layer"); }),
            "mlp.yaml:3:7: expected a layer as a name or as one name with its options, got a map of 2 keys" + hint);
  Spec scalar = Spec::map(kPlace);
  scalar.set("dense", plain("10"));
  EXPECT_EQ(config_error([&] { kind_and_options(scalar, "a layer"); }),
            "mlp.yaml:3:7: dense: expected the options of dense as a map, got 10; write `dense: {option: value}`");
}

TEST(KindAndOptions, TakesAValueForTheOptionThatStandsAlone) {
  Spec item = Spec::map(kPlace);
  Spec sizes = Spec::list(Place{"mlp.yaml", 3, 16});
  item.set("reshape", sizes.append(Spec::scalar("x", false, {"mlp.yaml", 3, 17})));
  Spec model = Spec::list(kPlace);
  model.append(std::move(item));
  model.set_path("model");
  const auto shape = [](const std::string& kind) { return kind == "reshape" ? std::string("shape") : std::string(); };
  const KindAndOptions read = kind_and_options(model.items()[0], "a layer", shape);
  EXPECT_EQ(read.kind, "reshape");
  ASSERT_TRUE(read.options.is_map());
  EXPECT_EQ(read.options.path(), "model[0].reshape");
  EXPECT_EQ(read.options.place(), (Place{"mlp.yaml", 3, 16}));
  ASSERT_EQ(read.options.size(), 1u);
  // The path is the one that is written.
  EXPECT_EQ(config_error([&] { read.options.find("shape")->items()[0].as_int(); }),
            "mlp.yaml:3:17: model[0].reshape[0]: expected an integer, got \"x\"");

  Spec other = Spec::map(kPlace);
  other.set("dense", plain("10"));
  EXPECT_EQ(config_error([&] { kind_and_options(other, "a layer", shape); }),
            "mlp.yaml:3:7: dense: expected the options of dense as a map, got 10; write `dense: {option: value}`");
  // A map is always the options.
  other.set("reshape", Spec::map(kPlace).set("name", "r"));
  other.erase("dense");
  EXPECT_NE(kind_and_options(other, "a layer", shape).options.find("name"), nullptr);
  EXPECT_EQ(kind_and_options(plain("reshape"), "a layer", shape).options.size(), 0u);
}

TEST(Spec, DescribesWhatIsWritten) {
  const auto plain = [](const char* text) { return Spec::scalar(text, false, {}).describe(); };
  EXPECT_EQ(plain("3"), "3");
  EXPECT_EQ(plain("abc"), "\"abc\"");
  for (const char* special : {".nan", ".NaN", ".inf", "+.inf", "-.inf"}) EXPECT_EQ(plain(special), special);
  EXPECT_EQ(plain("nan"), "\"nan\"");
  EXPECT_EQ(Spec::scalar(".nan", true, {}).describe(), "the text \".nan\"");
}

}  // namespace
}  // namespace millrace

#include "millrace/cli/text/json_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "millrace/trainer/files/yaml.h"

namespace millrace::cli {
namespace {

std::string one(double value) { return JsonText().value(value).text(); }

TEST(JsonTextTest, PutsCommasBetweenValuesAndKeys) {
  JsonText json;
  json.open('{').key("a").value(1).key("b").open('[').value("x").value(true).null().open('[').close(']').close(']');
  json.key("c").open('{').close('}').key("d").value(2.5).close('}');
  EXPECT_EQ(json.text(), R"({"a":1,"b":["x",true,null,[]],"c":{},"d":2.5})");
}

TEST(JsonTextTest, NumbersAreShortestAndReadBackEqual) {
  EXPECT_EQ(one(0.1), "0.1");
  EXPECT_EQ(one(1), "1");
  EXPECT_EQ(one(-0.0), "-0");
  EXPECT_EQ(JsonText().value(0.1f).text(), "0.1");
  EXPECT_EQ(JsonText().value(16777216.0f).text(), "16777216");
  EXPECT_EQ(JsonText().value(std::numeric_limits<int64_t>::min()).text(), "-9223372036854775808");
  EXPECT_EQ(JsonText().value(std::numeric_limits<uint64_t>::max()).text(), "18446744073709551615");
  for (const double value : {5e-324, 1.7976931348623157e308, 1e22, 1.0 / 3, 9007199254740993.0}) {
    EXPECT_EQ(nlohmann::json::parse(one(value)).get<double>(), value);
  }
}

TEST(JsonTextTest, WhatJsonHasNoNumberForIsAText) {
  EXPECT_EQ(one(std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
  EXPECT_EQ(one(-std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
  EXPECT_EQ(one(std::numeric_limits<double>::infinity()), "\"Infinity\"");
  EXPECT_EQ(JsonText().value(-std::numeric_limits<float>::infinity()).text(), "\"-Infinity\"");
}

TEST(JsonTextTest, TextsAreEscapedAndInvalidUtf8IsReplaced) {
  EXPECT_EQ(JsonText().value("a\"b\\c\n\x01").text(), "\"a\\\"b\\\\c\\n\\u0001\"");
  EXPECT_EQ(JsonText()
                .value("a\xff"
                       "b\xc3")
                .text(),
            "\"a\xef\xbf\xbd"
            "b\xef\xbf\xbd\"");
  EXPECT_EQ(JsonText().value("\xc3\xa9").text(), "\"\xc3\xa9\"");
}

TEST(JsonTextTest, AbsentValuesAreNull) {
  EXPECT_EQ(JsonText().value(std::optional<int64_t>()).text(), "null");
  EXPECT_EQ(JsonText().value(std::optional<int64_t>(7)).text(), "7");
}

TEST(JsonTextTest, AnEventIsALine) {
  const std::vector<std::pair<std::string, double>> metrics = {{"accuracy", 0.5}, {"auc", 1}};
  EXPECT_EQ(JsonText::event("step").key("metrics").value(metrics).line(),
            "{\"v\":1,\"event\":\"step\",\"metrics\":{\"accuracy\":0.5,\"auc\":1}}\n");
  EXPECT_EQ(JsonText::event("log").key("a").text_or_null("x").key("b").text_or_null("").line(),
            "{\"v\":1,\"event\":\"log\",\"a\":\"x\",\"b\":null}\n");
}

TEST(JsonTextTest, OfASpecTypesAreThoseOfYaml) {
  const Spec spec = parse_yaml("{a: 1, b: 0.5, c: true, d: text, e: \"1\", f: null, g: [1, x], h: {}}", "test.yaml");
  EXPECT_EQ(JsonText().value(spec).text(),
            R"({"a":1,"b":0.5,"c":true,"d":"text","e":"1","f":null,"g":[1,"x"],"h":{}})");
}

TEST(JsonTextTest, ClearBeginsAnew) {
  JsonText json;
  json.value(1);
  json.clear();
  json.value(2);
  EXPECT_EQ(json.text(), "2");
}

TEST(JsonTextTest, TextsAreAList) {
  JsonText json;
  json.value(std::vector<std::string>{"a", "\""});
  EXPECT_EQ(json.text(), "[\"a\",\"\\\"\"]");
  json.clear();
  json.value(std::vector<std::string>{});
  EXPECT_EQ(json.text(), "[]");
}

}  // namespace
}  // namespace millrace::cli

#include "millrace/cli/text/spec_json.h"

#include <gtest/gtest.h>

#include "millrace/trainer/files/yaml.h"

namespace millrace::cli {
namespace {

std::string json_of(const std::string& yaml) {
  JsonText json;
  append_spec(json, parse_yaml(yaml, "test.yaml"));
  return json.text();
}

TEST(SpecJsonTest, TypesAreThoseOfYaml) {
  EXPECT_EQ(json_of("{a: 1, b: 0.5, c: true, d: text, e: \"1\", f: null, g: [1, x], h: {}}"),
            R"({"a":1,"b":0.5,"c":true,"d":"text","e":"1","f":null,"g":[1,"x"],"h":{}})");
}

}  // namespace
}  // namespace millrace::cli

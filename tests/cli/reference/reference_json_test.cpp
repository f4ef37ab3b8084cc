#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "millrace/cli/reference/reference.h"
#include "millrace/trainer/config/config.h"
#include "tests/trainer/fake_kinds.h"

namespace millrace::cli {
namespace {

TEST(ReferenceJsonTest, Kinds) {
  const std::string text = kinds_json(describe_layers(fake_catalog()));
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const nlohmann::json json = nlohmann::json::parse(text);
  EXPECT_EQ(json["v"], 1);
  const nlohmann::json& dense = json["kinds"][0];
  EXPECT_EQ(dense["sort"], "layer");
  EXPECT_EQ(dense["kind"], "dense");
  EXPECT_EQ(dense["example"], "model:\n  - dense: {units: 10}");
  EXPECT_EQ(dense["options"][0], nlohmann::json::parse(R"({"name":"units","type":"integer; at least 1",
      "required":true,"default":null,"doc":"outputs of a row","only_speed":false,"stands_alone":false,
      "forms":[{"is":"integer","min":1}]})"));
  EXPECT_EQ(dense["options"][1]["forms"], nlohmann::json::parse(R"([{"is":"name","names":["none","relu"]}])"));
  EXPECT_EQ(dense["common"][1]["name"], "name");
  EXPECT_FALSE(dense.contains("ports"));
}

TEST(ReferenceJsonTest, OpsHavePortsAndNestedOptions) {
  const nlohmann::json json = nlohmann::json::parse(kinds_json(describe_ops(Catalog::builtin())));
  EXPECT_GT(json["kinds"].size(), 3u);
  for (const nlohmann::json& op : json["kinds"]) {
    EXPECT_TRUE(op["ports"].is_string());
    if (op["kind"] == "normalize") {
      EXPECT_EQ(op["options"][2]["forms"][0], nlohmann::json::parse(R"({"is":"number","more_than":0})"));
    }
    if (op["kind"] != "decode_csv") continue;
    const nlohmann::json& fields = op["options"][0];
    EXPECT_EQ(fields["name"], "fields");
    EXPECT_EQ(fields["forms"][0]["is"], "map");
    EXPECT_EQ(fields["forms"][0]["items"][0]["options"][1]["name"], "type");
  }
}

TEST(ReferenceJsonTest, KeysHaveTheirPath) {
  const std::vector<OptionInfo> options = describe_config();
  const nlohmann::json json = nlohmann::json::parse(keys_json(flatten(options)));
  bool found = false;
  for (const nlohmann::json& key : json["keys"]) {
    if (key["name"] != "train.clip_norm") continue;
    found = true;
    EXPECT_EQ(key["forms"], nlohmann::json::parse(R"([{"is":"number","min":1e-30}])"));
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace millrace::cli

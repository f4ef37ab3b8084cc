#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "millrace/cli/reference/reference.h"
#include "millrace/cli/text/json_text.h"
#include "millrace/core/text.h"
#include "millrace/input/graph/graph_list.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/yaml.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/fake_kinds.h"

namespace millrace::cli {
namespace {

using nlohmann::json;

// The part of JSON Schema that config_schema() writes; any other keyword fails the test.
class Validator {
 public:
  explicit Validator(const std::string& schema) : root_(json::parse(schema)) {}

  // What is wrong first, or an empty text.
  std::string judge(const json& value) const { return judge(root_, value, "$"); }

 private:
  static bool has_type(const std::string& type, const json& value) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    EXPECT_EQ(type, "null");
    return value.is_null();
  }

  std::string judge(const json& schema, const json& value, const std::string& path) const {
    for (const auto& [keyword, wanted] : schema.items()) {
      const std::string wrong = judge(keyword, wanted, schema, value, path);
      if (!wrong.empty()) return wrong;
    }
    return {};
  }

  std::string judge(const std::string& keyword, const json& wanted, const json& schema, const json& value,
                    const std::string& path) const {
    static const std::set<std::string> kSilent = {"$schema", "$defs", "title", "description", "default", "properties"};
    const std::string wrong = path + ": " + keyword;
    if (keyword == "properties") {
      for (const auto& [key, below] : wanted.items()) {
        if (!value.is_object() || !value.contains(key)) continue;
        if (std::string what = judge(below, value[key], path + '.' + key); !what.empty()) return what;
      }
      return {};
    }
    if (kSilent.contains(keyword)) return {};
    if (keyword == "$ref") return judge(root_["$defs"][wanted.get<std::string>().substr(8)], value, path);
    if (keyword == "type") {
      const json types = wanted.is_array() ? wanted : json::array({wanted});
      const bool fits =
          std::any_of(types.begin(), types.end(), [&](const json& type) { return has_type(type, value); });
      return fits ? std::string() : wrong;
    }
    if (keyword == "anyOf") {
      std::string first;
      for (const json& below : wanted) {
        const std::string what = judge(below, value, path);
        if (what.empty()) return {};
        // The form that fits best says most.
        if (what.size() > first.size()) first = what;
      }
      return first;
    }
    if (keyword == "enum") return std::find(wanted.begin(), wanted.end(), value) != wanted.end() ? "" : wrong;
    if (keyword == "const") return value == wanted ? "" : wrong;
    if (keyword == "required") {
      for (const json& key : wanted) {
        if (value.is_object() && !value.contains(key.get<std::string>())) return wrong + ' ' + key.get<std::string>();
      }
      return {};
    }
    if (keyword == "dependentRequired") {
      for (const auto& [key, others] : wanted.items()) {
        if (!value.is_object() || !value.contains(key)) continue;
        for (const json& other : others) {
          if (!value.contains(other.get<std::string>())) return wrong + ' ' + other.get<std::string>();
        }
      }
      return {};
    }
    if (keyword == "additionalProperties") {
      if (!value.is_object()) return {};
      for (const auto& [key, below] : value.items()) {
        if (schema.contains("properties") && schema["properties"].contains(key)) continue;
        if (wanted.is_boolean()) {
          if (!wanted) return wrong + ' ' + key;
        } else if (std::string what = judge(wanted, below, path + '.' + key); !what.empty()) {
          return what;
        }
      }
      return {};
    }
    if (keyword == "items") {
      for (const json& item : value.is_array() ? value : json::array()) {
        if (std::string what = judge(wanted, item, path + "[]"); !what.empty()) return what;
      }
      return {};
    }
    const size_t size = value.is_object() || value.is_array() ? value.size() : 1;
    if (keyword == "minItems" || keyword == "minProperties") return size >= wanted ? "" : wrong;
    if (keyword == "maxProperties") return size <= wanted ? "" : wrong;
    if (keyword == "pattern") {
      const bool fits =
          !value.is_string() || std::regex_search(value.get<std::string>(), std::regex(wanted.get<std::string>()));
      return fits ? "" : wrong;
    }
    if (!value.is_number() && (keyword.ends_with("imum"))) return {};
    if (keyword == "minimum") return value >= wanted ? "" : wrong;
    if (keyword == "maximum") return value <= wanted ? "" : wrong;
    if (keyword == "exclusiveMinimum") return value > wanted ? "" : wrong;
    if (keyword == "exclusiveMaximum") return value < wanted ? "" : wrong;
    ADD_FAILURE() << "the validator does not know " << keyword;
    return wrong;
  }

  const json root_;
};

json to_json(const Spec& spec) {
  JsonText text;
  text.value(spec);
  return json::parse(text.text());
}

const Validator& validator() {
  static const Validator built_in(config_schema(Catalog::builtin()));
  return built_in;
}

std::string judge(const std::string& yaml) { return validator().judge(to_json(parse_yaml(yaml, "f.yaml"))); }

std::vector<std::filesystem::path> yaml_files(const std::string& folder) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() + '/' + folder)) {
    if (entry.path().extension() == ".yaml") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(SchemaTest, AcceptsEveryConfigurationThatIsShipped) {
  for (const auto& path : yaml_files("configs")) {
    EXPECT_EQ(validator().judge(to_json(read_yaml_file(path.string()))), "") << path;
  }
}

// Whether the reader takes the configuration, as far as nothing is opened or built.
bool is_read(const Spec& spec) {
  const Catalog catalog = Catalog::builtin();
  try {
    const Config config = read_config(spec, catalog);
    Spec resolved;
    read_graph_list(config.input, catalog.ops, resolved);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

// The configurations of the error texts: the schema refuses those that the reader refuses, and no others.
TEST(SchemaTest, JudgesAsTheReaderDoes) {
  // Rules between keys and inside texts, which a declaration does not tell.
  const std::set<std::string> too_much_for_it = {"capacity_too_small", "format_without_year",
                                                 "validation_metric_misspelt", "validation_without_input"};
  size_t refused = 0;
  for (const auto& path : yaml_files("tests/errors")) {
    Spec spec;
    try {
      spec = read_yaml_file(path.string());
    } catch (const ConfigError&) {
      continue;  // no YAML at all
    }
    const std::string wrong = validator().judge(to_json(spec));
    if (is_read(spec) || too_much_for_it.contains(path.stem())) {
      EXPECT_EQ(wrong, "") << path;
    } else {
      EXPECT_NE(wrong, "") << path << " is refused by the reader alone";
      ++refused;
    }
  }
  EXPECT_GT(refused, 20u);
}

TEST(SchemaTest, SaysWhereAndWhat) {
  const std::string good = "input: [{synthetic: {rows: 10}}, {batch: {batch_size: 2}}]\n";
  EXPECT_EQ(judge(good), "");
  EXPECT_EQ(judge(good + "model: [relu]\nloss: sigmoid_cross_entropy\n"), "$: dependentRequired optimizer");
  EXPECT_EQ(judge("seed: 1\n"), "$: required input");
  EXPECT_EQ(judge("input: []\n"), "$.input: minItems");
  EXPECT_EQ(judge(good + "epochs: 3\n"), "$: additionalProperties epochs");
  EXPECT_EQ(judge(good + "train: {steps: -1}\n"), "$.train.steps: minimum");
  EXPECT_EQ(judge(good + "train: {clip_norm: 0}\n"), "$.train.clip_norm: minimum");
  EXPECT_NE(judge("input: [synthetic, {normalize: {fields: features, std: 0}}, {batch: {batch_size: 2}}]\n"), "");
  EXPECT_EQ(judge("input: [synthetic, {normalize: {fields: features, std: 1e-30}}, {batch: {batch_size: 2}}]\n"), "");
  EXPECT_EQ(judge(good + "train: {on_nonfinite: wran}\n"), "$.train.on_nonfinite: enum");
  EXPECT_EQ(judge(good + "delivery: {kind: feed}\nthreads: auto\ndevice: \"cuda:1\"\nsave: m.safetensors\n"), "");
  EXPECT_NE(judge(good + "threads: 0\n"), "");
  EXPECT_NE(judge(good + "device: gpu\n"), "");
  EXPECT_NE(judge(good + "save: {optimizer: true}\n"), "");
  EXPECT_NE(judge("input: [{batch: {batch_size: 2}, synthetic: {}}]\n"), "");
  EXPECT_NE(judge("input: [batch]\n"), "") << "batch_size is required";
  EXPECT_EQ(judge("input: [{csv_reader: }]\n"), "") << "no option is required";
  const std::string model = "loss: mse\noptimizer: {sgd: {learning_rate: 0.1}}\nmodel: ";
  EXPECT_EQ(
      judge(good + model + "[reshape: [1, 28, 28], reshape: 784, reshape: {shape: [-1]}, dropout: 0.3, dropout: ]"),
      "");
  EXPECT_NE(judge(good + model + "[reshape: [1, x]]"), "");
  EXPECT_NE(judge(good + model + "[reshape: ]"), "");
  EXPECT_NE(judge(good + model + "[dropout: 1]"), "");
  EXPECT_NE(judge(good + model + "[dense: 3]"), "");
}

TEST(SchemaTest, AcceptsTheExampleOfEveryKind) {
  const Catalog catalog = Catalog::builtin();
  std::vector<KindReference> kinds = describe_ops(catalog);
  for (KindReference& kind : describe_layers(catalog)) kinds.push_back(std::move(kind));
  for (const KindReference& kind : kinds) {
    Spec config = parse_yaml(
        "{input: [synthetic], model: [relu], loss: sigmoid_cross_entropy, optimizer: {sgd: "
        "{learning_rate: 0.1}}}",
        "f.yaml");
    const Spec example = parse_yaml(placed_example(kind), "f.yaml");
    config.set(example.entries().front().first, example.entries().front().second);
    EXPECT_EQ(validator().judge(to_json(config)), "") << placed_example(kind);
  }
}

TEST(SchemaTest, IsOfTheKindsThatAreThere) {
  const json schema = json::parse(config_schema(fake_catalog()));
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["additionalProperties"], false);
  const json& dense = schema["$defs"]["layer"]["anyOf"].back()["properties"]["dense"];
  EXPECT_EQ(dense["description"], "outputs = activation(inputs * weight + bias)");
  EXPECT_EQ(dense["required"], json::array({"units"}));
  EXPECT_EQ(dense["properties"]["activation"]["enum"], json::array({"none", "relu"}));
  EXPECT_EQ(dense["properties"]["activation"]["default"], "none");
  EXPECT_EQ(dense["properties"]["units"]["minimum"], 1);
  EXPECT_TRUE(dense["properties"].contains("from"));
  EXPECT_EQ(schema["$defs"]["layer"]["anyOf"][0]["const"], "relu");
  EXPECT_EQ(config_schema(fake_catalog()), config_schema(fake_catalog()));
}

}  // namespace
}  // namespace millrace::cli

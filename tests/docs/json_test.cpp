// docs/json.md names every key that the program writes, and the program writes every key that the page names.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "millrace/core/text.h"
#include "tests/support/paths.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

using Keys = std::set<std::string>;

// The keys that the tables of the page name, by section.
std::map<std::string, Keys> documented() {
  std::map<std::string, Keys> out;
  std::istringstream page(TempFolder::read(test::source_dir() + "/docs/json.md"));
  std::string line, section;
  static const std::regex key("`([a-z_]+)`");
  while (std::getline(page, line)) {
    if (line.starts_with("## ")) section = line.substr(3);
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(0, line.find('|', 1));
    for (std::sregex_iterator at(cell.begin(), cell.end(), key), end; at != end; ++at) {
      out[section].insert((*at)[1].str());
    }
  }
  return out;
}

class JsonPage : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("rows.csv", "0.5,1,0\n1,x,1\n2,1,1\n3,4,0\n5,6,1\n7,8,0\n");
    folder_.write("c.yaml",
                  "input:\n"
                  "  - filename_queue: {files: rows.csv, epochs: 2}\n"
                  "  - csv_reader\n"
                  "  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}, on_bad_row: skip}\n"
                  "  - batch: {batch_size: 2}\n"
                  "model:\n"
                  "  - dense: {units: 1}\n"
                  "loss: sigmoid_cross_entropy\n"
                  "metrics: [accuracy]\n"
                  "optimizer: {sgd: {learning_rate: 0.1}}\n"
                  "train: {log_every: 1}\n"
                  "validation:\n"
                  "  every: 2\n"
                  "  keep_best: true\n"
                  "  input:\n"
                  "    - filename_queue: {files: good.csv, epochs: 1}\n"
                  "    - csv_reader\n"
                  "    - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n"
                  "    - batch: {batch_size: 2}\n"
                  "save: model.safetensors\n");
    folder_.write("good.csv", "1,2,0\n3,4,1\n");
    folder_.write("kinds.yaml",
                  changed_label("type: string", "{vocabulary: {field: text, texts: [\"0\", \"1\"], as: label}}",
                                "sigmoid_cross_entropy", "kinds"));
    folder_.write("amounts.yaml",
                  changed_label("type: float32", "{map: {field: text, scale: 2, as: label}}", "mse", "amounts"));
  }

  static std::string changed_label(const std::string& type, const std::string& op, const std::string& loss,
                                   const std::string& name) {
    return cat(
        "device: cpu\ninput: [{filename_queue: {files: good.csv, epochs: 1}}, csv_reader, {decode_csv: {fields: "
        "{features: {columns: 0-1}, text: {columns: 2, ",
        type, "}}}}, ", op, ", {batch: {batch_size: 2}}]\nmodel: [{dense: {units: 1}}]\nloss: ",
        loss == "mse" ? "{mse: {weight: label}}" : loss, "\nmetrics: [", loss == "mse" ? "mae" : "accuracy",
        "]\noptimizer: {sgd: {learning_rate: 0.1}}\nsave: ", name, ".safetensors\n");
  }

  // Adds the keys of what the command writes to those of the section of each event, of `other` where it is no event.
  void run(std::vector<std::string> words, const std::string& other = {}) {
    words.insert(words.begin(), test::binary_dir() + "/trainer");
    const auto result = testing::run_command(words, {.folder = folder_.path()});
    std::istringstream lines(result.out);
    std::string line;
    int objects = 0;
    while (std::getline(lines, line)) {
      const nlohmann::json object = nlohmann::json::parse(line);
      ++objects;
      EXPECT_EQ(object.value("v", 0), 1) << line;
      const std::string section =
          object.contains("event") && other.empty() ? object["event"].get<std::string>() : other;
      for (const auto& [key, value] : object.items()) {
        if (key != "v" && key != "event") written_[section].insert(key);
      }
    }
    EXPECT_GT(objects, 0) << result.err;
  }

  const TempFolder folder_;
  std::map<std::string, Keys> written_;
};

TEST_F(JsonPage, NamesEveryKeyAndNoOther) {
  run({"--config", "c.yaml", "--json"});
  run({"--config", "c.yaml", "--json", "--set", "train.momentum=1"});
  run({"check", "--config", "c.yaml", "--json", "--print"});
  run({"evaluate", "--model", "model.safetensors", "--data", "good.csv", "--json"});
  run({"input", "--config", "c.yaml", "--explain", "2", "--json"});
  run({"convert", "--config", "c.yaml", "--to", "csv", "--out", "converted.csv", "--json"});
  run({"speed", "c.yaml", "--rounds", "1", "--json", "--quiet"}, "speed");
  run({"verify-resume", "c.yaml", "--kills", "1", "--json", "--quiet"});
  run({"compare", "c.yaml", "--set", "compare.rounds=1", "--set", "compare.warm_up=1", "--json", "-", "--quiet"},
      "compare");
  run({"input", "--config", "c.yaml", "--json"}, "Batches");
  run({"predict", "--model", "model.safetensors", "--data", "good.csv", "--format", "jsonl"}, "Predictions");
  run({"predict", "--model", "model.safetensors", "--data", "good.csv", "--format", "jsonl", "--raw"}, "Predictions");
  run({"predict", "--model", "model.safetensors", "--data", "rows.csv", "--format", "jsonl", "--bad-rows", "blank"},
      "Predictions");
  run({"--config", "kinds.yaml", "--json"});
  run({"predict", "--model", "kinds.safetensors", "--data", "good.csv", "--format", "jsonl"}, "Predictions");
  run({"--config", "amounts.yaml", "--json"});
  run({"evaluate", "--model", "amounts.safetensors", "--data", "good.csv", "--json"});
  run({"doctor", "--json"});
  run({"c.yaml", "--json", "--set", "checkpoint={dir: runs, every: 1}", "--set", "train.steps=2"});
  run({"c.yaml", "--json", "--set", "checkpoint={dir: runs, every: 1}", "--resume"});
  run({"checkpoints", "runs", "--json"});
  const std::map<std::string, Keys> pages = documented();
  for (const auto& [section, keys] : written_) {
    const auto found = pages.find(section);
    ASSERT_NE(found, pages.end()) << "the page has no section " << section;
    EXPECT_EQ(found->second, keys) << section;
  }
  EXPECT_EQ(pages.size(), written_.size());
}

}  // namespace
}  // namespace millrace

#include "millrace/trainer/config/log_options.h"

#include <filesystem>

#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

LogOptions read(const std::string& text) {
  Spec node = parse_yaml(text, "f.yaml");
  node.set_path("log");
  return OptionType<LogOptions>::read(node);
}
std::string rejects(const std::string& text) {
  return error_of<ConfigError>([&] { read(text); });
}

TEST(LogOptions, ReadsEveryKey) {
  EXPECT_EQ(read("{json: a.jsonl}").json, "a.jsonl");
  EXPECT_EQ(read("{}").json, std::nullopt);
  EXPECT_EQ(to_yaml(OptionType<LogOptions>::write(read("{json: a.jsonl}"))), "json: a.jsonl\n");
}

TEST(LogOptions, RejectsWhatMakesNoSense) {
  EXPECT_EQ(rejects("{json: \"\"}"), "f.yaml:1:8: log.json: expected the path of a file, got an empty text");
  EXPECT_EQ(rejects("{jsn: a}"), "f.yaml:1:2: log: unknown key jsn; did you mean json?");
  EXPECT_EQ(rejects("a.jsonl"), "f.yaml:1:1: log: expected a map, got \"a.jsonl\"");
}

// The library writes no log, and a model file does not say where one was.
TEST(LogOptions, AreNotForTheLibraryItself) {
  const TempFolder folder;
  Trainer trainer = Trainer::from_string(
      "device: cpu\n"
      "input: [synthetic: {features: 4, rows: 20}, batch: {batch_size: 4}]\n"
      "model: [dense: {units: 1}]\n"
      "loss: sigmoid_cross_entropy\n"
      "optimizer: {sgd: {learning_rate: 0.1}}\n",
      "f.yaml", {"log.json=" + folder.path("hidden.jsonl")});
  ASSERT_TRUE(trainer.config().log.has_value());
  EXPECT_EQ(trainer.config().log->json, folder.path("hidden.jsonl"));
  trainer.run();
  EXPECT_FALSE(std::filesystem::exists(folder.path("hidden.jsonl")));
  trainer.save(folder.path("m.safetensors"));
  EXPECT_EQ(TempFolder::read(folder.path("m.safetensors")).find("hidden"), std::string::npos);
}

}  // namespace
}  // namespace millrace

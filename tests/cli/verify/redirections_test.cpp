#include "millrace/cli/verify/redirections.h"

#include <gtest/gtest.h>

#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace::cli {
namespace {

constexpr const char* kConfig =
    "input:\n"
    "  - filename_queue: {files: a.csv, epochs: 1}\n"
    "  - csv_reader\n"
    "  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}, on_bad_row: skip, bad_rows_file: bad}\n"
    "  - batch: {batch_size: 2}\n"
    "model: [{dense: {units: 1}}]\n"
    "loss: mse\n"
    "optimizer: {sgd: {learning_rate: 0.1}}\n"
    "save: mine.safetensors\n"
    "checkpoint: {dir: mine, minutes: 3}\n";

Config changed(Spec config, const Redirections& files) {
  apply_overrides(config, files.settings);
  return read_config(config, Catalog::builtin());
}

TEST(Redirections, LeadEveryFileIntoTheFolder) {
  const Spec config = parse_yaml(kConfig, "c.yaml");
  const Redirections files = redirected_to("/tmp/a \"b\"", config, Catalog::builtin(), 7);
  const Config out = changed(config, files);
  EXPECT_EQ(out.save->file, "/tmp/a \"b\"/model.safetensors");
  EXPECT_TRUE(out.save->optimizer);
  EXPECT_EQ(out.checkpoint->dir, "/tmp/a \"b\"/checkpoints");
  EXPECT_EQ(out.checkpoint->every, 7);
  EXPECT_EQ(out.checkpoint->minutes, std::nullopt);
  EXPECT_EQ(out.checkpoint->keep, 2);
  EXPECT_EQ(out.train.log_every, 1);
  EXPECT_EQ(out.input.items()[2].find("decode_csv")->find("bad_rows_file")->as_string(),
            "/tmp/a \"b\"/input-2-bad_rows_file.jsonl");
  EXPECT_EQ(files.line_files.front(),
            out.resolved.find("log") == nullptr ? "input-2-bad_rows_file.jsonl" : "log.jsonl");
  EXPECT_EQ(files.line_files.back(), "input-2-bad_rows_file.jsonl");
}

TEST(Redirections, WithoutCheckpointsThereAreNone) {
  const Spec config = parse_yaml(kConfig, "c.yaml");
  EXPECT_EQ(changed(config, redirected_to("/tmp/a", config, Catalog::builtin(), {})).checkpoint, std::nullopt);
}

TEST(Redirections, AreNotMadeForFilesThatNobodyWrites) {
  Spec config = parse_yaml(kConfig, "c.yaml");
  apply_override(config, "input.decode_csv.bad_rows_file=null");
  for (const std::string& name : redirected_to("/tmp/a", config, Catalog::builtin(), 1).line_files) {
    EXPECT_EQ(name, "log.jsonl");
  }
}

TEST(Redirections, MakeWindowsOfSeveralSteps) {
  Spec config = parse_yaml(kConfig, "c.yaml");
  apply_override(config, "train={log_every: 100, report_over: window}");
  EXPECT_EQ(changed(config, redirected_to("/tmp/a", config, Catalog::builtin(), 1)).train.log_every, 3);
}

TEST(Redirections, ReportLessOfVeryManySteps) {
  Spec config = parse_yaml(kConfig, "c.yaml");
  apply_override(config, "train.steps=99999");
  EXPECT_EQ(changed(config, redirected_to("/tmp/a", config, Catalog::builtin(), 1)).train.log_every, 1);
  apply_override(config, "train.steps=1000000");
  EXPECT_EQ(changed(config, redirected_to("/tmp/a", config, Catalog::builtin(), 1)).train.log_every, 10);
}

}  // namespace
}  // namespace millrace::cli

#include "millrace/cli/arguments/configuration.h"

#include <gtest/gtest.h>

#include <chrono>

#include "millrace/cli/process/exit_code.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

TEST(ConfigurationTest, SettingsAndSaveChangeTheFile) {
  const TempFolder folder;
  ConfigArguments arguments;
  arguments.config = folder.write("c.yaml", "seed: 1\nsave: a\n");
  EXPECT_EQ(to_yaml(read_configuration(arguments, Catalog::builtin())), "seed: 1\nsave: a\n");
  arguments.overrides = {"seed=2", "save=b"};
  EXPECT_EQ(to_yaml(read_configuration(arguments, Catalog::builtin())), "seed: 2\nsave: b\n");
  const Spec config = with_save(read_configuration(arguments, Catalog::builtin()), "50");
  EXPECT_EQ(to_yaml(config), "seed: 2\nsave: \"50\"\n");
  EXPECT_EQ(config.find("save")->place().text(), "--save 50");
}

TEST(ConfigurationTest, ASettingThatTheCommandDoesNotHeedIsAnError) {
  const TempFolder folder;
  ConfigArguments arguments;
  arguments.config = folder.write("c.yaml", "seed: 1\nsave: {file: a}\n");
  arguments.overrides = {"save.file=b"};
  const auto with_own_file = [](const Spec& config) { return with_save(config, "c"); };
  EXPECT_EQ(error_of<ConfigError>([&] { read_configuration(arguments, Catalog::builtin(), with_own_file); }),
            "--set save.file=b: the setting changes nothing here; leave it out: this command does not heed it");
  arguments.overrides = {"save.optimizer=true"};
  EXPECT_NO_THROW(read_configuration(arguments, Catalog::builtin(), with_own_file));
}

TEST(ConfigurationTest, ManySettingsTakeNoLongTimeIfAllAreHeeded) {
  const TempFolder folder;
  ConfigArguments arguments;
  arguments.config = folder.write("c.yaml", "input: [{decode_csv: {fields: {}}}]\n");
  // If each were compared with the configuration before it, these would take more than a minute.
  for (int i = 0; i < 6000; ++i) arguments.overrides.push_back(cat("input.decode_csv.fields.f", i, "={columns: 1}"));
  const auto start = std::chrono::steady_clock::now();
  const Spec config = read_configuration(arguments, Catalog::builtin());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(40));
  EXPECT_EQ(config.find("input")->items()[0].find("decode_csv")->find("fields")->size(), 6000u);
}

TEST(ConfigurationTest, WhatIsNoMapIsLeftToItsReader) {
  const TempFolder folder;
  ConfigArguments arguments;
  arguments.config = folder.write("c.yaml", "- a\n");
  EXPECT_TRUE(with_save(read_configuration(arguments, Catalog::builtin()), "m").is_list());
  arguments.config = folder.path("none.yaml");
  EXPECT_THROW(read_configuration(arguments, Catalog::builtin()), MissingError);
}

TEST(CheckOutTest, RefusesWhatTheRunNeeds) {
  const TempFolder folder;
  InputFiles files;
  files.read = {folder.write("a.csv", "")};
  files.written = {folder.path("bad.jsonl")};
  const std::string source = folder.write("m.safetensors", "");
  const auto refused = [&](const std::string& out) {
    return error_of<UsageError>([&] { check_out("--out", out, files, source); });
  };
  const std::string beside = folder.path("./");
  EXPECT_EQ(refused(beside + "a.csv"), "--out \"" + beside + "a.csv\" would overwrite \"" + folder.path("a.csv") +
                                           "\", which this run reads; give it another name");
  EXPECT_TRUE(refused(beside + "bad.jsonl").ends_with("which this run writes; give it another name"));
  EXPECT_TRUE(refused(beside + "m.safetensors").ends_with("which this run reads; give it another name"));
}

TEST(CheckOutTest, AnotherFileOrNoneIsFine) {
  const TempFolder folder;
  InputFiles files;
  files.read = {folder.write("a.csv", "")};
  EXPECT_NO_THROW(check_out("--out", "", files, "config.yaml"));
  EXPECT_NO_THROW(check_out("--out", folder.path("b.csv"), files, "config.yaml"));
}

}  // namespace
}  // namespace millrace::cli

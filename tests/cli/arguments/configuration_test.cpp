#include "millrace/cli/arguments/configuration.h"

#include <gtest/gtest.h>

#include "millrace/trainer/files/yaml_writer.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

TEST(ConfigurationTest, SettingsAndSaveChangeTheFile) {
  const TempFolder folder;
  Arguments arguments;
  arguments.config = folder.write("c.yaml", "seed: 1\nsave: a\n");
  EXPECT_EQ(to_yaml(read_configuration(arguments)), "seed: 1\nsave: a\n");
  arguments.overrides = {"seed=2", "save=b"};
  EXPECT_EQ(to_yaml(read_configuration(arguments)), "seed: 2\nsave: b\n");
  arguments.save = "50";
  const Spec config = read_configuration(arguments);
  EXPECT_EQ(to_yaml(config), "seed: 2\nsave: \"50\"\n");
  EXPECT_EQ(config.find("save")->place().text(), "--save 50");
}

TEST(ConfigurationTest, WhatIsNoMapIsLeftToItsReader) {
  const TempFolder folder;
  Arguments arguments;
  arguments.config = folder.write("c.yaml", "- a\n");
  arguments.save = "m";
  EXPECT_TRUE(read_configuration(arguments).is_list());
  arguments.config = folder.path("none.yaml");
  EXPECT_THROW(read_configuration(arguments), MissingError);
}

}  // namespace
}  // namespace millrace::cli

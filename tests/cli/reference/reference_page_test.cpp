#include "millrace/cli/reference/reference.h"

#include <gtest/gtest.h>

#include <sstream>

#include "millrace/cli/text/text_layout.h"
#include "millrace/trainer/config/config.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/fake_kinds.h"

namespace millrace::cli {
namespace {

TEST(ReferencePageTest, AKindAsAWhole) {
  const std::vector<KindReference> kinds = describe_layers(fake_catalog());
  EXPECT_EQ(kind_page(kinds[0]),
            "dense\n"
            "  outputs = activation(inputs * weight + bias)\n"
            "  A layer: an item of the list `model`.\n"
            "\n"
            "OPTIONS:\n"
            "  units: integer; at least 1; required\n"
            "      outputs of a row\n"
            "  activation: none|relu; default none\n"
            "      applied to the result\n"
            "\n"
            "COMMON KEYS:\n"
            "  from: text or list; absent by default\n"
            "      the layers or fields that it reads; by default the layer before it\n"
            "  name: text; absent by default\n"
            "      its name for other layers; by default the kind\n"
            "\n"
            "EXAMPLE:\n"
            "  model:\n"
            "    - dense: {units: 10}\n");
}

TEST(ReferencePageTest, SaysWhichValueMayStandAlone) {
  for (const KindReference& kind : describe_layers(Catalog::builtin())) {
    if (kind.info.kind != "reshape") continue;
    const std::string page = kind_page(kind);
    EXPECT_NE(page.find("  shape: integer or list; required\n"), std::string::npos) << page;
    EXPECT_NE(page.find("what the others leave;\n      its value may stand in place of the options\n"),
              std::string::npos)
        << page;
    EXPECT_NE(page.find("EXAMPLE:\n  model:\n    - reshape: [1, 28, 28]\n"), std::string::npos) << page;
  }
}

TEST(ReferencePageTest, SortsSayWhereTheyStand) {
  const std::vector<KindReference> kinds = describe_layers(fake_catalog());
  EXPECT_NE(kind_page(kinds[2]).find("\n  A loss: the value of the key `loss`.\n"), std::string::npos);
  EXPECT_NE(kind_page(kinds[3]).find("\n  A metric: an item of the list `metrics`.\n"), std::string::npos);
  EXPECT_NE(kind_page(kinds[4]).find("\n  An optimizer: the value of the key `optimizer`.\n"), std::string::npos);
  const KindReference op{"input op", {"every", "lets one in n through", {}}, {}, "rows -> rows"};
  EXPECT_NE(kind_page(op).find("\n  An input op, rows -> rows: an item of the list `input`.\n"), std::string::npos);
}

TEST(ReferencePageTest, AllKindsBySort) {
  const std::string text = kinds_text(describe_layers(fake_catalog()));
  EXPECT_TRUE(text.starts_with("layers:\n\ndense\n  outputs = ")) << text;
  EXPECT_NE(text.find("\n\nrelu\n  max(x, 0)\n\nkeys of every layer:\n    from: text or list; "), std::string::npos)
      << text;
  EXPECT_NE(text.find("\n\nlosses:\n\nmse\n"), std::string::npos) << text;
  EXPECT_EQ(kinds_text({}), "");
}

TEST(ReferencePageTest, KeysHaveTheirPath) {
  const std::vector<OptionInfo> keys = describe_config();
  const std::string text = keys_text(flatten(keys));
  for (const char* part :
       {"seed: integer; at least 0; default 0\n    the key of every random number\n",
        "threads: auto|integer; at least 1 and at most 4096; default auto\n", "input: list of input ops; required\n",
        "`trainer ops` lists the input ops\n", "train: {steps, log_every, ",
        "\ntrain.clip_norm: number; at least 1e-30; absent by default\n",
        "\ndelivery.kind: auto|native|staging|queue|feed|constant; required\n",
        "\nsave.optimizer: true|false; default false\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }
}

TEST(ReferencePageTest, EverythingFitsATerminal) {
  const Catalog catalog = Catalog::builtin();
  const std::vector<OptionInfo> keys = describe_config();
  std::string all = keys_text(flatten(keys)) + kinds_text(describe_ops(catalog)) + kinds_text(describe_layers(catalog));
  for (const KindReference& kind : describe_ops(catalog)) all += kind_page(kind);
  for (const KindReference& kind : describe_layers(catalog)) all += kind_page(kind);
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kPageWidth) << line;
}

TEST(ReferencePageTest, TablesOfKeysAndKinds) {
  const std::string page = config_markdown(fake_catalog());
  for (const char* part :
       {"# The configuration\n",
        "\n## Keys\n\n| key | type | default | meaning |\n|---|---|---|---|\n| `seed` | integer; at least 0 | `0` |",
        "\n| `input` | list of input ops | required |", "\n| `train.steps` | integer; at least 0 |  | the most steps",
        "\n## Layers\n\nKeys of every layer:\n\n| key |",
        "\n### dense\n\nOutputs = activation(inputs * weight + bias).\n\n| key",
        "| `activation` | none\\|relu | `none` | applied to the result |\n",
        "\n```yaml\nmodel:\n  - dense: {units: 10}\n```\n", "\n### relu\n\nMax(x, 0).\n\nNo options.\n"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << "\nis not in\n" << page;
  }
}

TEST(ReferencePageTest, ThePageInDocsIsOfTheseDeclarations) {
  EXPECT_TRUE(TempFolder::read(test::source_dir() + "/docs/config.md") == config_markdown(Catalog::builtin()))
      << "docs/config.md is stale; make it again: " << test::binary_dir()
      << "/trainer config --markdown > docs/config.md";
}

}  // namespace
}  // namespace millrace::cli

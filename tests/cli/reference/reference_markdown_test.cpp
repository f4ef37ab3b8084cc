#include <gtest/gtest.h>

#include "millrace/cli/reference/reference_page.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/fake_kinds.h"

namespace millrace::cli {
namespace {

TEST(ReferenceMarkdownTest, TablesOfKeysAndKinds) {
  const std::string page = config_markdown(fake_catalog());
  for (const char* part :
       {"# The configuration\n",
        "\n## Keys\n\n| key | type | default | meaning |\n|---|---|---|---|\n| `seed` | integer; at least 0 | `0` |",
        "\n| `input` | list of input ops | required |", "\n| `train.steps` | integer; at least 1 |  | the most steps",
        "\n## Layers\n\nKeys of every layer:\n\n| key |",
        "\n### dense\n\nOutputs = activation(inputs * weight + bias).\n\n| key",
        "| `activation` | none\\|relu | `none` | applied to the result |\n",
        "\n```yaml\nmodel:\n  - dense: {units: 10}\n```\n", "\n### relu\n\nMax(x, 0).\n\nNo options.\n"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << "\nis not in\n" << page;
  }
}

TEST(ReferenceMarkdownTest, ThePageInDocsIsOfTheseDeclarations) {
  EXPECT_TRUE(TempFolder::read(test::source_dir() + "/docs/config.md") == config_markdown(Catalog::builtin()))
      << "docs/config.md is stale; make it again: " << test::binary_dir()
      << "/trainer config --markdown > docs/config.md";
}

}  // namespace
}  // namespace millrace::cli

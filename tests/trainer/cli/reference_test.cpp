#include "millrace/trainer/cli/reference.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

KindReference dense() {
  return {"layer",
          "dense",
          "units weighted sums of the inputs",
          {{"units", "integer", "", true, "outputs of a row"},
           {"activation", "relu|none", "none", false, "what follows"},
           {"name", "text", "", false, "its name"}}};
}

TEST(ReferenceTest, OneKind) {
  const std::vector<KindReference> kinds = {dense()};
  EXPECT_EQ(reference_text(kinds),
            "dense\n"
            "  units weighted sums of the inputs\n"
            "    units       integer    required  outputs of a row\n"
            "    activation  relu|none  none      what follows\n"
            "    name        text       absent    its name\n");
}

TEST(ReferenceTest, HeadingsTellSortsApart) {
  const std::vector<KindReference> kinds = {
      dense(), {"layer", "relu", "max(0, x)", {}}, {"loss", "mse", "squares", {}}};
  const std::string text = reference_text(kinds);
  EXPECT_TRUE(text.starts_with("layers:\n\ndense\n")) << text;
  EXPECT_TRUE(text.ends_with("\n\nrelu\n  max(0, x)\n\nlosses:\n\nmse\n  squares\n")) << text;
}

TEST(ReferenceTest, NothingIsNothing) { EXPECT_EQ(reference_text({}), ""); }

}  // namespace
}  // namespace millrace::cli

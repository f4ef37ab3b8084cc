#include "millrace/cli/init/init_text.h"

#include <gtest/gtest.h>

#include <regex>

#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

TEST(ShellWordTest, IsOneWordOfAShell) {
  EXPECT_EQ(shell_word("data/iris-2.yaml"), "data/iris-2.yaml");
  EXPECT_EQ(shell_word("my data.yaml"), "'my data.yaml'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a\nb"), "$'a\\012b'");
  EXPECT_EQ(next_command("- #.yaml"), "trainer --config '- #.yaml'");
  EXPECT_EQ(then_command("a b.safetensors"), "trainer evaluate --model 'a b.safetensors' --held-out");
  for (const std::string text :
       {"a b", "$HOME", "`x`", "a\nb", "it's \"so\"", "\x1b[31m", "\xe2\x80\xae'\\", "*", "~"}) {
    const auto result = testing::run_command({"/bin/bash", "-c", "printf %s " + shell_word(text)});
    EXPECT_EQ(result.out, text);
  }
}

TEST(InitTextTest, SaysWhatWasSeenAndAssumed) {
  const TempFolder folder;
  std::string text = "id,width,kind,when,y\n";
  for (int i = 0; i < 100; ++i) {
    text += std::to_string(i) + ',' + (i % 9 == 0 ? "" : std::to_string(i * 7 % 31) + ".5") + ',' +
            (i % 3 == 0 ? "oak" : "fir") + ',' + (i == 7 ? "2024-02-30" : "2024-01-0" + std::to_string(1 + i % 9)) +
            ',' +
            (i % 10 == 0  ? ""
             : i % 2 == 0 ? "no"
                          : "yes") +
            '\n';
    if (i == 50) text += "1,2\n";
  }
  const std::string path = folder.write("a.csv", text);
  const DataLook look = look_at_data({.files = {path}, .label = "y"});
  // However the lines are wrapped.
  const std::string wrapped = init_text({.look = look, .plan = plan_training({.look = look}), .config = "a.yaml"});
  const std::string said = std::regex_replace(wrapped, std::regex("\n {12}"), " ");
  for (const char* part :
       {"100 rows of 5 columns\n", "the first line names the columns, \",\" between fields\n",
        "label       y: 2 classes: no (40), yes (50); its values are texts; 10 without a label, left out\n",
        "numbers     1, normalised: width\n", "categories  1, with the number of texts in each: kind (2)\n",
        "dates       1, as what the calendar says of them: when (ISO 8601)\n",
        "left out    id (an identifier, by its name)\n", "missing     2 columns with gaps",
        "when: \"2024-02-30\" counts as missing", "bad rows    1 have another number of fields",
        ":53:1: expected 5 fields, got 2", "held out    about 20% of the rows", "\nwrote       a.yaml\n"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
  }
}

TEST(InitTextTest, SaysWhereAClassHasFewRows) {
  const TempFolder folder;
  std::string text = "x,y\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i * 7 % 31) + (i % 50 == 0 ? ",rare\n" : ",usual\n");
  const DataLook look = look_at_data({.files = {folder.write("a.csv", text)}, .label = "y"});
  const std::string said =
      std::regex_replace(init_text({.look = look, .plan = plan_training({.look = look})}), std::regex("\n {12}"), " ");
  EXPECT_NE(said.find("the rarest class has 2 rows, which is little to learn from"), std::string::npos) << said;
}

}  // namespace
}  // namespace millrace::cli

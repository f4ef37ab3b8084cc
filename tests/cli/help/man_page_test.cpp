#include <gtest/gtest.h>

#include <regex>

#include <sstream>

#include "millrace/cli/commands/commands.h"
#include "millrace/cli/help/help.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

TEST(ManPageTest, HasEveryCommandAndOption) {
  const Command all = program();
  const std::string page = man_page(all);
  EXPECT_TRUE(page.starts_with(".TH TRAINER 1 "));
  for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SUBCOMMANDS", "EXIT STATUS", "SEE ALSO"}) {
    EXPECT_NE(page.find(std::string("\n.SH ") + section + "\n"), std::string::npos) << section;
  }
  for (const Command* command : all_commands(all)) {
    if (command != &all) {
      const std::string line = std::regex_replace(command->line(), std::regex("-"), "\\-");
      EXPECT_NE(page.find("\n.SS " + line + "\n"), std::string::npos) << line;
    }
  }
  EXPECT_NE(page.find("\n\\fB\\-\\-resume\\fR[=\\fIFILE\\fR]\n"), std::string::npos);
  for (const char* option : {"\\-\\-label", "\\-\\-held\\-out", "\\-\\-min_after_dequeue"}) {
    EXPECT_EQ(page.find(option) != std::string::npos, std::string(option).find("min_after") == std::string::npos)
        << option;
  }
}

TEST(ManPageTest, IsPrintableAndEveryRequestIsKnown) {
  std::istringstream lines(man_page(program()));
  int inside = 0;
  std::string before;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(line.empty());
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c < 0x7f) << line;
    EXPECT_NE(line[0], '\'') << line;
    if (line[0] == '.') {
      const std::string request = line.substr(0, line.find(' '));
      const bool known = std::string(".TH.SH.SS.PP.TP.RS.RE.nf.fi.br.nh.ad").find(request) != std::string::npos;
      EXPECT_TRUE(known) << line;
    }
    EXPECT_FALSE(line == ".PP" && before == ".PP");
    inside += line == ".nf" ? 1 : line == ".fi" ? -1 : 0;
    EXPECT_TRUE(inside == 0 || inside == 1) << line;
    before = line;
  }
  EXPECT_EQ(inside, 0);
}

// Where there are the tools: neither has anything to say about it.
TEST(ManPageTest, FormattersTakeItWithoutAWarning) {
  const TempFolder folder;
  folder.write("trainer.1", man_page(program()));
  for (const char* command : {"groff -man -Tascii -ww -z trainer.1", "mandoc -Tlint -W warning trainer.1"}) {
    const std::string tool = std::string(command).substr(0, std::string(command).find(' '));
    if (testing::run_command({"/bin/sh", "-c", "command -v " + tool}).exit_code != 0) continue;
    const auto result = testing::run_command({"/bin/sh", "-c", command}, {.folder = folder.path()});
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_EQ(result.out + result.err, "") << command;
  }
}

}  // namespace
}  // namespace millrace::cli

// What people see of a training on a terminal, wide or narrow.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <regex>
#include <sstream>

#include "millrace/core/descriptor.h"
#include "millrace/core/text.h"
#include "tests/support/screen.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::Command;
using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::millrace::testing::Screen;
using ::millrace::testing::trainer_words;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr int kWidths[] = {40, 60, 80};

std::vector<std::string> split(const std::string& text, const std::string& at) {
  std::vector<std::string> out;
  for (size_t begin = 0;;) {
    const size_t end = text.find(at, begin);
    out.push_back(text.substr(begin, end - begin));
    if (end == text.npos) return out;
    begin = end + at.size();
  }
}

// The live lines, in the order in which they were shown.
std::vector<std::string> live_lines(const std::string& written) {
  std::vector<std::string> out;
  for (const std::string& piece : split(written, "\r")) {
    const size_t end = piece.find("\x1b[K");
    if (end != piece.npos && end > 0) out.push_back(piece.substr(0, end));
  }
  return out;
}

class LiveLineTest : public ::testing::Test {
 protected:
  LiveLineTest() {
    millrace::testing::write_small_data(folder_);
    folder_.write("endless.yaml", millrace::testing::endless_config());
  }
  millrace::testing::CommandOptions terminal(int columns) {
    return {.folder = folder_.path(), .terminal = true, .out_terminal = true, .columns = columns};
  }
  // Trains until `seen` is on the terminal, then interrupts.
  CommandResult interrupted(std::vector<std::string> words, const std::string& seen, int columns) {
    Command command(trainer_words(std::move(words)), terminal(columns));
    EXPECT_TRUE(command.wait_for_err(seen)) << "the training ended";
    command.send(SIGINT);
    return command.finish();
  }
  TempFolder folder_;
};

TEST_F(LiveLineTest, IsOneLineOfWholePartsAtAnyWidth) {
  // Four files of 10 rows: the share of the epochs is known by their sizes. It is small for a long time.
  const std::vector<std::string> words = {"small.yaml", "--set", "input.filename_queue.epochs=100000000", "--set",
                                          "train.log_every=100000"};
  for (const int columns : kWidths) {
    const CommandResult result = interrupted(words, "\x1b[K\r<1%  ", columns);
    EXPECT_EQ(result.exit_code, 130);
    const Screen screen(static_cast<size_t>(columns), result.err);
    EXPECT_EQ(screen.wraps(), 0);
    EXPECT_EQ(screen.rows(), std::vector<std::string>{""}) << "one line, which is wiped at the end";
    const std::vector<std::string> lines = live_lines(result.err);
    ASSERT_GE(lines.size(), 2u);
    for (const std::string& line : lines) {
      EXPECT_LT(line.size(), static_cast<size_t>(columns)) << line;
      // A machine that is busy shows lines of long steps, too.
      if (line.starts_with("stopping") || line.find(" step for ") != line.npos) continue;
      const std::vector<std::string> parts = split(line, "  ");
      ASSERT_GE(parts.size(), 2u) << line;
      EXPECT_THAT(parts[0], MatchesRegex("<1%|[0-9]+%"));
      EXPECT_THAT(parts[1], MatchesRegex("([0-9]+ h [0-9]+ min|[0-9]+ min [0-9]+ s|(<1|[0-9.e+]+) s) left"));
      for (size_t i = 2; i < parts.size(); ++i) {
        EXPECT_THAT(parts[i], MatchesRegex("loss [0-9a-z.+-]+|step [0-9]+|accuracy [0-9.]+|epoch [0-9]+|[0-9]+ rows/s|"
                                           "input wait <?[0-9]+%"));
      }
    }
  }
}

TEST_F(LiveLineTest, StepsOfAKnownNumberAreCounted) {
  const CommandResult result =
      interrupted({"endless.yaml", "--set", "train.steps=1000000000"}, "/1000000000  accuracy ", 80);
  EXPECT_THAT(live_lines(result.err),
              Contains(MatchesRegex("<1%  .* left  (.*  )?loss .*  step [0-9]+/1000000000  accuracy .*")));
}

TEST_F(LiveLineTest, QuietShowsNothing) {
  const CommandResult result = run_trainer({"small.yaml", "--quiet"}, terminal(80));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
}

// Validations and warnings have lines of their own. The live line never writes over them.
TEST_F(LiveLineTest, StaysBelowTheLog) {
  folder_.write("judged.yaml",
                millrace::testing::endless_config() +
                    std::string("validation: {input: [synthetic: {task: sum, features: 8, rows: 64}, batch: "
                                "{batch_size: 64}], every: 20000}\n"));
  for (const int columns : kWidths) {
    const CommandResult result = interrupted({"judged.yaml"}, "step 60000  validation", columns);
    std::vector<std::string> rows = Screen(static_cast<size_t>(columns), result.err).rows();
    ASSERT_GE(rows.size(), 4u) << result.err;
    EXPECT_EQ(rows.back(), "") << "the live line is wiped";
    std::string words;
    for (const std::string& row : rows) words += row + ' ';
    words = std::regex_replace(words, std::regex(" +"), " ");
    EXPECT_THAT(words, HasSubstr("warning: the data of synthetic never end, and neither does the training: say how "
                                 "much it gives (epochs, rows), or set train.steps step 20000 validation loss 0."))
        << "between words";
    EXPECT_THAT(words, ::testing::ContainsRegex("step 40000 validation loss [0-9.]+ accuracy [0-9.]+ 64 rows"));
    EXPECT_THAT(words, ::testing::Not(HasSubstr("rows/s")));
  }
}

// The rows come when the test writes them. A line about a long step comes after a second, so the next step ends late
// enough to be shown.
TEST_F(LiveLineTest, ALongStepShowsThatSomethingGoesOn) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  Command command(trainer_words({"small.yaml", "--set", "input.filename_queue.files=pipe", "--set",
                                 "input.filename_queue.epochs=1", "--set", "train.steps=2"}),
                  terminal(40));
  const Descriptor writer(::open(pipe.c_str(), O_WRONLY | O_CLOEXEC));
  const auto write_rows = [&writer](int count) {
    std::string rows;
    for (int row = 0; row < count; ++row) rows += row % 2 == 0 ? "1,2,0\n" : "2,3,1\n";
    EXPECT_EQ(::write(writer.get(), rows.data(), rows.size()), std::ssize(rows));
  };
  write_rows(3);  // of a batch of 7
  EXPECT_TRUE(command.wait_for_err(" s\x1b[K\r")) << "a line about the first step, and another one";
  write_rows(7);
  EXPECT_TRUE(command.wait_for_err("\r50%  "));
  EXPECT_TRUE(command.wait_for_err("  long step for "));
  write_rows(7);
  const CommandResult result = command.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> lines = live_lines(result.err);
  ASSERT_GE(lines.size(), 5u) << result.err;
  EXPECT_THAT(lines[0], MatchesRegex("[a-z]+ step for [0-9.]+ s"));
  EXPECT_THAT(lines[1], MatchesRegex("[a-z]+ step for [0-9.]+ s"));
  EXPECT_THAT(lines, Contains(MatchesRegex("100%  loss .*")));
  EXPECT_EQ(Screen(40, result.err).wraps(), 0);
}

TEST_F(LiveLineTest, ALongValidationShowsHowFarItIs) {
  folder_.write("judged.yaml",
                millrace::testing::endless_config() +
                    std::string("validation: {input: [synthetic: {task: sum, features: 8, rows: 100000000000}, batch: "
                                "{batch_size: 64}], every: 10}\n"));
  const CommandResult result = interrupted({"judged.yaml", "--set", "train.steps=20"}, "validation <1%", 40);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(Screen(40, result.err).wraps(), 0);
}

TEST_F(LiveLineTest, ClosingLinesBreakBetweenWords) {
  const CommandResult plain = run_trainer({"small.yaml", "--quiet"}, {.folder = folder_.path()});
  const size_t hash = plain.out.find("weights: ") + 9;
  const std::string weights = plain.out.substr(hash, 64);
  for (const int columns : kWidths) {
    const CommandResult result = run_trainer({"small.yaml", "--quiet"}, terminal(columns));
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr(weights)) << "what is one word stays one";
    size_t lines = 0;
    for (const std::string& line : split(result.out, "\r\n")) {
      const std::string word = line.substr(std::min(line.find_first_not_of(' '), line.size()));
      EXPECT_TRUE(line.size() <= static_cast<size_t>(columns) || word.find(' ') == word.npos) << line;
      ++lines;
    }
    EXPECT_GT(lines, 6u);
  }
}

}  // namespace
}  // namespace millrace::cli

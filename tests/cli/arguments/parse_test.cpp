#include "millrace/cli/arguments/parse.h"

#include "millrace/cli/process/exit_code.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

using Words = std::vector<std::string>;

// A program with one of each sort of option, and what its options were given.
class ParseTest : public ::testing::Test {
 protected:
  ParseTest() {
    program_.flag("-q,--quiet", quiet_, "say nothing");
    program_.optional_text("--resume", resume_, "FILE", "go on");
    program_.text("FILE", file_, "FILE", "what to read");
    program_.add("-h,--help", {}, "help", {});
    Command below({.path = "sum", .summary = {}, .usage = {}, .details = {}, .see_also = {}});
    below.text("--out", out_, "FILE", "what to write");
    below.number("--rows", rows_, {.least = 1, .most = 9}, "how many");
    below.texts("DATA", data_, "DATA", "what to add");
    program_.commands.push_back(std::move(below));
  }

  // The command's line.
  std::string take(const Words& words) { return parse(words, program_).command.line(); }
  std::string refused(const Words& words) {
    return error_of<UsageError>([&] { take(words); });
  }

  Command program_{CommandText{}};
  bool quiet_ = false;
  std::optional<std::string> resume_;
  std::string file_, out_;
  int64_t rows_ = 3;
  Words data_;
};

TEST_F(ParseTest, ValuesGoWhereTheyWereDeclaredTo) {
  EXPECT_EQ(take({"sum", "a", "--out=x=y", "--rows", "9", "b"}), "trainer sum");
  EXPECT_EQ(out_, "x=y");
  EXPECT_EQ(rows_, 9);
  EXPECT_EQ(data_, (Words{"a", "b"}));
  EXPECT_TRUE(program_.below("sum")->option("--out")->given);
  EXPECT_FALSE(program_.option("--quiet")->given);
}

TEST_F(ParseTest, AValueMayLookLikeAnything) {
  EXPECT_EQ(take({"sum", "--out", "--rows", "--", "--out"}), "trainer sum");
  EXPECT_EQ(out_, "--rows");
  EXPECT_EQ(data_, Words{"--out"}) << "after -- nothing is an option";
}

TEST_F(ParseTest, FlagsAndFiles) {
  EXPECT_EQ(take({"-q", "a.yaml"}), "trainer");
  EXPECT_TRUE(quiet_);
  EXPECT_EQ(file_, "a.yaml");
}

TEST_F(ParseTest, AnOptionalValueFollowsAnEqualsSign) {
  take({"a.yaml"});
  EXPECT_EQ(resume_, std::nullopt);
  EXPECT_FALSE(program_.option("--resume")->given);
  EXPECT_EQ(take({"--resume", "a.yaml"}), "trainer");
  EXPECT_EQ(resume_, "") << "the next word is no value";
  EXPECT_EQ(file_, "a.yaml");
  EXPECT_TRUE(program_.option("--resume")->given);
  take({"a.yaml", "--resume=b=c"});
  EXPECT_EQ(resume_, "b=c");
  take({"--resume"});
  EXPECT_EQ(resume_, "");
  EXPECT_EQ(refused({"--resume="}), "--resume needs a value; trainer --help shows the usage");
  for (const Words& twice :
       {Words{"--resume", "--resume"}, Words{"--resume", "--resume=a"}, Words{"--resume=a", "--resume"}}) {
    EXPECT_EQ(refused(twice), "--resume is given twice; trainer --help shows the usage");
  }
}

TEST_F(ParseTest, TheFirstMistakeIsTold) {
  EXPECT_EQ(refused({"sum", "--otu", "--rows", "x"}),
            "unknown option --otu; did you mean --out? (trainer sum --help shows the usage)");
  EXPECT_EQ(refused({"sum", "--rows", "0"}),
            "--rows: expected a whole number from 1 to 9, got \"0\"; trainer sum --help shows the usage");
  EXPECT_EQ(refused({"sum", "--out"}), "--out needs a value; trainer sum --help shows the usage");
  EXPECT_EQ(refused({"-q", "sum"}),
            "--quiet stands before sum, where it means nothing; put it after the subcommand: trainer sum --quiet ... "
            "(trainer sum "
            "--help shows the usage)");
  EXPECT_EQ(refused({"-q", "sum", "--rows", "2"}), refused({"-q", "sum"})) << "whatever comes behind it";
  EXPECT_EQ(refused({"-q", "--quiet"}), "--quiet is given twice; trainer --help shows the usage");
  EXPECT_EQ(refused({"-qx"}), "unknown option -x; trainer --help shows the usage");
  EXPECT_EQ(refused({"--" + std::string(100000, 'x')}),
            "unknown option --" + std::string(58, 'x') + "...; trainer --help shows the usage");
  EXPECT_EQ(refused({"-qq"}), "--quiet is given twice; trainer --help shows the usage");
  EXPECT_EQ(refused({"smu"}), "unknown subcommand \"smu\"; did you mean sum? (trainer --help shows the usage)");
}

TEST_F(ParseTest, HelpIsGivenWhateverElseIsWrong) {
  EXPECT_TRUE(parse(Words{"--bogus", "-h"}, program_).help);
  EXPECT_TRUE(parse(Words{"help", "sum"}, program_).help);
  EXPECT_TRUE(parse(Words{"-qh"}, program_).help);
  EXPECT_TRUE(parse(Words{"-" + std::string(200000, 'h')}, program_).help) << "and no stack is that deep";
  EXPECT_TRUE(parse(Words{"--help=x"}, program_).help);
  EXPECT_FALSE(parse(Words{"sum"}, program_).help);
}

TEST_F(ParseTest, TheCheckHasTheLastWord) {
  program_.check = [this](const Command& c) {
    if (file_.empty()) throw UsageError("no file", {}, c.line() + " FILE");
  };
  EXPECT_EQ(refused({"-q"}), "no file; trainer FILE (trainer --help shows the usage)");
  EXPECT_EQ(take({"./a"}), "trainer");
}

}  // namespace
}  // namespace millrace::cli

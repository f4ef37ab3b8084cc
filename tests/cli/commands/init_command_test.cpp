// `trainer init` and what follows, from outside: check, training, evaluation and prediction on new data.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::Command;
using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::millrace::testing::trainer_words;

class InitCommandTest : public ::testing::Test {
 protected:
  CommandResult run(std::vector<std::string> arguments) {
    return run_trainer(std::move(arguments), {.folder = folder_.path()});
  }
  void write_rows(const std::string& name, const std::string& header, int count,
                  const std::function<std::string(int)>& row) {
    std::string text = header.empty() ? "" : header + '\n';
    for (int i = 0; i < count; ++i) text += row(i) + '\n';
    folder_.write(name, text);
  }
  // init, check and a training all work; returns what init said.
  std::string train(const std::string& data, const std::string& label, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"init", data, "--label", label, "--out", "c.yaml", "--force"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult made = run(words);
    EXPECT_EQ(made.exit_code, 0) << made.err;
    const bool held_out = made.out.find("\nheld out    about ") != std::string::npos;
    EXPECT_TRUE(made.out.ends_with(cat("\nnext: trainer --config c.yaml\n",
                                       held_out ? "then: trainer evaluate --model c.safetensors --held-out\n" : "")))
        << made.out;
    const CommandResult checked = run({"check", "--config", "c.yaml"});
    EXPECT_EQ(checked.exit_code, 0) << checked.err << checked.out;
    if (made.out.find("\nbad rows ") == std::string::npos) {
      EXPECT_EQ(checked.out.find("warning"), std::string::npos) << checked.out;
    }
    const CommandResult trained = run({"--config", "c.yaml", "--quiet", "--set", "device=cpu"});
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    return made.out;
  }
  std::string predict(const std::string& data, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"predict", "--model", "c.safetensors", "--data", data};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) out.push_back(line);
    return out;
  }
  TempFolder folder_;
};

TEST_F(InitCommandTest, ClassesOfNumbersAndTextsWithNewData) {
  write_rows("d.csv", "width,colour,kind", 200, [](int i) {
    return cat(i % 2 == 0 ? 10 + i % 7 : 30 + i % 7, ".5,", i % 3 == 0 ? "red" : "blue", ',',
               i % 2 == 0 ? "small" : "large");
  });
  train("d.csv", "kind");
  // Without the label, in another order, with a gap and a colour that nobody has seen.
  folder_.write("new.csv", "colour,width\nblue,12.5\ngreen,33\n,NA\n");
  const std::vector<std::string> lines = lines_of(predict("new.csv"));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "row,class,name,probability");
  EXPECT_TRUE(lines[1].starts_with("new.csv:2,1,small,")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("new.csv:3,0,large,")) << lines[2];
  const nlohmann::json event = nlohmann::json::parse(lines_of(predict("new.csv", {"--format", "jsonl"})).front());
  EXPECT_EQ(event["name"], "small");
  EXPECT_EQ(lines_of(predict("new.csv", {"--raw"}))[0], "row,prediction");
  const CommandResult judged = run({"evaluate", "--model", "c.safetensors", "--held-out", "--json"});
  ASSERT_EQ(judged.exit_code, 0) << judged.err;
  const nlohmann::json evaluation = nlohmann::json::parse(judged.out);
  EXPECT_EQ(evaluation["metrics"]["accuracy"], 1);
  EXPECT_GT(evaluation["rows"], 20);
  EXPECT_LT(evaluation["rows"], 60);
  const auto with_other_seed = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--model", "c.safetensors", "--set", "input.hold_out.seed=9"});
    return run(words).exit_code;
  };
  EXPECT_EQ(with_other_seed({"evaluate", "--held-out"}), 0);
  EXPECT_EQ(with_other_seed({"evaluate", "--data", "d.csv"}), 78) << "no row is held out, so nothing heeds it";
  EXPECT_EQ(with_other_seed({"predict", "--data", "new.csv"}), 78);
}

TEST_F(InitCommandTest, AmountsAreGivenInTheirOwnUnit) {
  write_rows("d.csv", "area,rooms,price", 300,
             [](int i) { return cat(30 + i * 37 % 101, ',', 1 + i % 5, ',', 100000 + 3000 * (30 + i * 37 % 101)); });
  train("d.csv", "price");
  folder_.write("new.csv", "area,rooms\n80,3\n");
  const std::string line = lines_of(predict("new.csv"))[1];
  EXPECT_NEAR(std::stod(line.substr(line.rfind(',') + 1)), 340000, 20000) << line;
  const std::string raw = lines_of(predict("new.csv", {"--raw"}))[1];
  EXPECT_LT(std::abs(std::stod(raw.substr(raw.rfind(',') + 1))), 3) << raw;
  const CommandResult judged = run({"evaluate", "--model", "c.safetensors", "--data", "d.csv"});
  EXPECT_NE(judged.out.find("\nin the label's own unit: mae "), std::string::npos) << judged.out;
}

TEST_F(InitCommandTest, LabelsBeyondFloat32AndTextsThatLookLikeNothing) {
  write_rows("d.csv", "x,y", 100, [](int i) { return cat(i % 2 * 5 + i % 3, ',', 16777216 + i % 2); });
  train("d.csv", "y");
  EXPECT_NE(predict("d.csv").find(",16777217,"), std::string::npos);
  write_rows("d.csv", "x,y", 100, [](int i) { return cat(i % 2 * 5 + i % 3, ',', i % 2 == 0 ? "-" : "none"); });
  train("d.csv", "y");
  const std::string said = predict("d.csv");
  EXPECT_NE(said.find(",0,-,"), std::string::npos);
  EXPECT_NE(said.find(",1,none,"), std::string::npos);
}

TEST_F(InitCommandTest, FilesAsProgramsWriteThem) {
  std::string pandas = ",a,b,y\n",
              excel =
                  "\xef\xbb\xbf"
                  "a;note;y\r\n",
              adult;
  for (int i = 0; i < 120; ++i) {
    pandas += cat(i, ',', i % 11, ".25,", i % 2 == 0 ? "True" : "False", ',', i % 3, ".0\n");
    excel += cat(i % 2 * 5 + i % 3, ".5;\"two\r\nlines; \"\"", i, "\"\"\";", i % 2 == 0 ? "ja" : "nein", "\r\n");
    adult += cat(20 + i % 40, ", ", i % 3 == 0 ? "?" : "Private", ", ", i % 2 == 0 ? "<=50K" : ">50K",
                 i == 119 ? "\n\n" : "\n");
  }
  folder_.write("pandas.csv", pandas);
  folder_.write("excel.csv", excel);
  folder_.write("adult.data", adult);
  EXPECT_NE(train("pandas.csv", "y").find("left out    column 0 (it counts the rows)"), std::string::npos);
  EXPECT_NE(predict("pandas.csv").find(",0.0,"), std::string::npos);
  train("excel.csv", "y");
  EXPECT_NE(predict("excel.csv").find(",ja,"), std::string::npos);
  EXPECT_NE(train("adult.data", "2").find("no header"), std::string::npos);
  EXPECT_NE(predict("adult.data").find(", <=50K,"), std::string::npos);
}

TEST_F(InitCommandTest, AHeaderWithoutANameForTheNamesOfRows) {
  const auto row = [](int i) {
    return cat('"', i * 7 + 3, "\"\t", i % 2 * 5 + i % 3, ".5\t\"", i % 3 == 0 ? "oak" : "fir", "\"\t", i % 2 + 1);
  };
  write_rows("d.tsv", "\"x\"\t\"tree\"\t\"y\"", 80, row);
  const std::string said = train("d.tsv", "y");
  EXPECT_NE(said.find("the header names all columns but the first"), std::string::npos) << said;
  EXPECT_NE(said.find("numbers     1, normalised: x\ncategories  1, with the number of texts in each: tree (2)\n"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("left out    column 0 (it has no name"), std::string::npos) << said;
  const std::vector<std::string> lines = lines_of(predict("d.tsv"));
  EXPECT_EQ(lines.size(), 81u);
  EXPECT_TRUE(lines[1].starts_with("d.tsv:2,0,1,")) << lines[1];
}

TEST_F(InitCommandTest, NewDataMustNotHaveAnotherColumnWhereOneIsSelectedByItsNumber) {
  const auto row = [](int i) { return cat(i % 7, ".5,", i % 5, ".25,", i % 2 == 0 ? "a" : "b", ',', i % 2); };
  write_rows("d.csv", "x,x,,y", 60, row);
  train("d.csv", "y");
  write_rows("same.csv", "x,x,,z", 5, row);
  predict("same.csv");
  write_rows("other.csv", "x,x,z,y", 5, row);
  const CommandResult refused = run({"predict", "--model", "c.safetensors", "--data", "other.csv"});
  EXPECT_EQ(refused.exit_code, 65);
  EXPECT_NE(refused.err.find("other.csv:1:5: expected column 2 to be called \"\", got \"z\""), std::string::npos)
      << refused.err;
  write_rows("fewer.csv", "x,,y", 5, [](int i) { return cat(i % 7, ".5,a,", i % 2); });
  EXPECT_EQ(run({"evaluate", "--model", "c.safetensors", "--data", "fewer.csv"}).exit_code, 65);
}

TEST_F(InitCommandTest, ATimeAloneIsEnough) {
  write_rows("load.csv", "time,load", 480, [](int i) {
    const int day = 1 + i / 24, hour = i % 24;
    return cat(day, ".3.2024 ", hour, ":00,", 100 + (hour - 12) * (hour - 12), '.', i % 7);
  });
  EXPECT_NE(
      train("load.csv", "load").find("\ndates       1, as what the calendar says of them: time (%d.%m.%Y %H:%M)\n"),
      std::string::npos);
  folder_.write("new.csv", "time\n1.4.2024 12:00\nNA\n2.4.2024 0:00\n");
  const std::vector<std::string> lines = lines_of(predict("new.csv"));
  ASSERT_EQ(lines.size(), 4u);
  const auto load = [&](size_t line) { return std::stod(lines[line].substr(lines[line].rfind(',') + 1)); };
  EXPECT_LT(load(1) + 20, load(3)) << "less at noon than at midnight";
  folder_.write("bad.csv", "time\n31.4.2024 12:00\n");
  const CommandResult bad = run({"predict", "--model", "c.safetensors", "--data", "bad.csv"});
  EXPECT_EQ(bad.exit_code, 65);
  EXPECT_EQ(bad.err,
            "error: bad.csv:2:1: column 0 \"time\" (time_seconds): expected timestamp as \"%d.%m.%Y %H:%M\", got "
            "\"31.4.2024 12:00\"\nhint: there is no such day\n");
}

TEST_F(InitCommandTest, BadRowsAreSkippedInTheTrainingAndAmongTheRowsHeldOut) {
  write_rows("d.csv", "x,z,y", 200,
             [](int i) { return i % 20 == 7 ? "1,2" : cat(i % 2 * 5 + i % 3, ".5,", i % 7, ',', i % 2); });
  const std::string said = train("d.csv", "y");
  EXPECT_NE(said.find("d.csv:9:1: expected"), std::string::npos) << said;
  const CommandResult judged = run({"evaluate", "--model", "c.safetensors", "--held-out"});
  EXPECT_EQ(judged.exit_code, 0) << judged.err;
  EXPECT_EQ(run({"evaluate", "--model", "c.safetensors", "--data", "d.csv"}).exit_code, 65);
}

TEST_F(InitCommandTest, ManyColumns) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += cat("column ", i, ',');
  text += "y\n";
  for (int row = 0; row < 60; ++row) {
    for (int i = 0; i < 2000; ++i) text += cat(row * (i + 3) % 97, ',');
    text += row % 2 == 0 ? "a\n" : "b\n";
  }
  folder_.write("d.csv", text);
  const CommandResult made = run({"init", "d.csv", "--label", "y"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(run({"check", "--config", "d.yaml"}).exit_code, 0);
}

TEST_F(InitCommandTest, NeverWritesOverDataAndOverOtherFilesWithForceAlone) {
  write_rows("d.csv", "x,y", 60, [](int i) { return cat(i % 7, ".5,", i % 2); });
  const std::string data = TempFolder::read(folder_.path("d.csv"));
  folder_.write("d.yaml", "mine");
  const CommandResult refused = run({"init", "d.csv", "--label", "y"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("\"d.yaml\" exists already"), std::string::npos) << refused.err;
  EXPECT_EQ(TempFolder::read(folder_.path("d.yaml")), "mine");
  std::filesystem::create_symlink("d.csv", folder_.path("link.yaml"));
  for (const char* out : {"d.csv", "./d.csv", "link.yaml"}) {
    const CommandResult result = run({"init", "d.csv", "--label", "y", "--out", out, "--force"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find("would overwrite"), std::string::npos) << result.err;
  }
  EXPECT_EQ(TempFolder::read(folder_.path("d.csv")), data);
  EXPECT_EQ(run({"init", "d.csv", "--label", "y", "--force"}).exit_code, 0);
  EXPECT_NE(TempFolder::read(folder_.path("d.yaml")).find("decode_csv"), std::string::npos);
  // The model's file is not the data either.
  std::filesystem::copy(folder_.path("d.csv"), folder_.path("e.safetensors"));
  EXPECT_EQ(run({"init", "e.safetensors", "--label", "y"}).exit_code, 0);
  EXPECT_NE(TempFolder::read(folder_.path("e.yaml")).find("save: e-model.safetensors"), std::string::npos);
}

TEST_F(InitCommandTest, WritesToStandardOutput) {
  write_rows("d.csv", "x,y", 60, [](int i) { return cat(i % 7, ".5,", i % 2); });
  const CommandResult result = run({"init", "d.csv", "--label", "y", "--out", "-"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.out.starts_with("# Made by `trainer init` of d.csv")) << result.out;
  EXPECT_NE(result.err.find("label       y: 2 classes"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.path("d.yaml")));
}

TEST_F(InitCommandTest, SaysWhatIsWrongWithTheCommandAndTheData) {
  write_rows("d.csv", "x,y", 60, [](int i) { return cat(i % 7, ".5,", i % 2); });
  const auto fails = [&](std::vector<std::string> words, int code, const std::string& message) {
    words.insert(words.begin(), "init");
    const CommandResult result = run(words);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
  };
  fails({}, 2, "no data are given");
  fails({"d.csv"}, 2, "init needs to know which column is to be predicted");
  fails({"d.csv", "--label", "Y2"}, 2, "--label \"Y2\": there is no such column");
  fails({"d.csv", "--label", "y", "--delimiter", "ab"}, 2, "expected one ASCII character");
  fails({"d.csv", "--label", "y", "--delimiter", "\xff"}, 2, "expected one ASCII character");
  std::filesystem::create_directories(folder_.path("pets/cat"));
  folder_.write("pets/cat/1.png", "\x89PNG\r\n\x1a\n");
  fails({"pets"}, 66,
        "pets/cat/1.png is a PNG image: image_folder reads pictures, and decode_image decodes them; docs/formats.md");
  fails({"none.csv", "--label", "y"}, 66, "no file matches \"none.csv\"");
  folder_.write("one.csv", "x,y\n1,a\n2,a\n");
  fails({"one.csv", "--label", "y"}, 65, "is \"a\" in every row: there is nothing to learn");
  folder_.write("head.csv", "x,y\n");
  fails({"head.csv", "--label", "y"}, 65, "head.csv:1:1: the file has a header but no rows");
  folder_.write("comma.csv", "x;y\n1,5;a\n2,5;b\n");
  fails({"comma.csv", "--label", "y"}, 65, "numbers with decimal commas");
}

TEST_F(InitCommandTest, ASignalEndsTheLookAtOnceAndWritesNothing) {
  std::string block;
  for (int i = 0; i < 20000; ++i)
    block += cat(i * 7919 % 10007, ".25,", i * 31 % 977, ".5,text ", i % 5, ',', i % 2, '\n');
  std::string text = "a,b,c,y\n";
  while (text.size() < (size_t{60} << 20)) text += block;
  folder_.write("d.csv", text);
  for (const int signal : {SIGINT, SIGTERM}) {
    Command command(trainer_words({"init", "d.csv", "--label", "y"}), {.folder = folder_.path(), .terminal = true});
    ASSERT_TRUE(command.wait_for_err("looking at the data"));
    command.send(signal);
    const CommandResult result = command.finish();
    EXPECT_EQ(result.exit_code, 128 + signal) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder_.path("d.yaml")));
  }
}

}  // namespace
}  // namespace millrace::cli

// `trainer predict`, from outside.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::Command;
using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::millrace::testing::trainer_words;

class PredictCommandTest : public ::testing::Test {
 protected:
  PredictCommandTest() {
    millrace::testing::write_small_data(folder_);
    folder_.write("new.csv", "1,2\n-3,4\n5,-6\n");
    trained_ = run_trainer({"small.yaml", "--quiet", "--save", "m.safetensors"}, {.folder = folder_.path()}).exit_code;
  }

  CommandResult run(std::vector<std::string> arguments, const std::string& data = "new.csv") {
    const std::vector<std::string> head = {"predict", "--model", "m.safetensors", "--data", data};
    arguments.insert(arguments.begin(), head.begin(), head.end());
    return run_trainer(std::move(arguments), {.folder = folder_.path()});
  }
  static std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }

  TempFolder folder_;
  int trained_ = -1;
};

TEST_F(PredictCommandTest, GivesALineForEachRowInOrder) {
  ASSERT_EQ(trained_, 0);
  const CommandResult result = run({});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const std::vector<std::string> csv = lines(result.out);
  ASSERT_EQ(csv.size(), 4u) << result.out;
  EXPECT_EQ(csv[0], "row,class,probability");
  EXPECT_TRUE(csv[1].starts_with("new.csv:1,")) << csv[1];
  EXPECT_TRUE(csv[3].starts_with("new.csv:3,")) << csv[3];

  const std::vector<std::string> json = lines(run({"--format", "jsonl"}).out);
  const std::vector<std::string> raw = lines(run({"--format", "jsonl", "--raw"}).out);
  ASSERT_EQ(json.size(), 3u);
  ASSERT_EQ(raw.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const auto row = nlohmann::json::parse(json[i]), values = nlohmann::json::parse(raw[i]);
    EXPECT_EQ(row["v"], 1);
    EXPECT_EQ(row["row"], values["row"]);
    const double logit = values["prediction"];
    EXPECT_EQ(row["class"], logit > 0 ? 1 : 0);
    EXPECT_NEAR(row["probability"].get<double>(), 1 / (1 + std::exp(-logit)), 1e-6);
  }
}

TEST_F(PredictCommandTest, ClassesHaveAProbabilityEach) {
  std::string rows;
  for (int i = 0; i < 60; ++i) {
    rows += std::to_string(i % 3 == 0) + "," + std::to_string(i % 3 == 1) + "," + std::to_string(i % 3) + "\n";
  }
  folder_.write("classes.csv", rows);
  folder_.write("classes.yaml",
                "device: cpu\ninput:\n  - filename_queue: {files: classes.csv, epochs: 40}\n  - csv_reader\n"
                "  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2, type: int32}}}\n"
                "  - batch: {batch_size: 10}\nmodel: [{dense: {units: 3}}]\nloss: softmax_cross_entropy\n"
                "metrics: [accuracy]\noptimizer: {sgd: {learning_rate: 1}}\n");
  const CommandResult trained = run_trainer({"classes.yaml", "--save", "m.safetensors"}, {.folder = folder_.path()});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  folder_.write("new.csv", "0,0\n1,0\n0,1\n");
  const std::vector<std::string> csv = lines(run({}).out);
  ASSERT_EQ(csv.size(), 4u);
  EXPECT_EQ(csv[0], "row,class,probability_0,probability_1,probability_2");
  EXPECT_TRUE(csv[1].starts_with("new.csv:1,2,0.0")) << csv[1];
  EXPECT_TRUE(csv[2].starts_with("new.csv:2,0,0.")) << csv[2];
  EXPECT_TRUE(csv[3].starts_with("new.csv:3,1,0.0")) << csv[3];
  const auto json = nlohmann::json::parse(lines(run({"--format", "jsonl"}).out)[0]);
  EXPECT_EQ(json["class"], 2);
  const std::vector<double> probabilities = json["probability"];
  ASSERT_EQ(probabilities.size(), 3u);
  EXPECT_NEAR(probabilities[0] + probabilities[1] + probabilities[2], 1, 1e-6);
  EXPECT_EQ(lines(run({"--raw"}).out)[0], "row,prediction_0,prediction_1,prediction_2");
}

// The same rows give the same lines, however they are cut into batches and whatever stands behind them.
TEST_F(PredictCommandTest, NeitherBatchesNorTheLabelChangeAnything) {
  const std::string expected = run({}).out;
  EXPECT_EQ(run({"--set", "input.batch.batch_size=2", "--set", "threads=3"}).out, expected);
  folder_.write("new.csv", "1,2,0\n-3,4,?\n5,-6,\n");
  EXPECT_EQ(run({}).out, expected);
}

TEST_F(PredictCommandTest, TheFileAppearsWholeOrNotAtAll) {
  const CommandResult result = run({"--out", "p.csv"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(TempFolder::read(folder_.path("p.csv")), run({}).out);
  folder_.write("new.csv", "1,2\n-3,x\n");
  EXPECT_EQ(run({"--out", "q.csv"}).exit_code, 65);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("q.csv")));
  EXPECT_EQ(run({"--out", "p.csv"}).exit_code, 65);
  EXPECT_EQ(lines(TempFolder::read(folder_.path("p.csv"))).size(), 4u) << "the old one stays";
  EXPECT_EQ(run({"--out", "none/p.csv"}).exit_code, 74);
}

TEST_F(PredictCommandTest, PipesAndDevicesAreWrittenAsTheyAre) {
  EXPECT_EQ(run({"--out", "/dev/null"}).exit_code, 0);
  EXPECT_EQ(run({"--out", "/dev/stdout"}).out, run({}).out);
}

TEST_F(PredictCommandTest, InterruptedItLeavesNoFile) {
  std::string rows;
  for (int i = 0; i < 200000; ++i) rows += "1,2\n";
  folder_.write("many.csv", rows);
  std::vector<std::string> words = {"predict", "--model", "m.safetensors", "--out", "p.csv"};
  // More than a test waits for.
  for (int i = 0; i < 1000; ++i) words.insert(words.end(), {"--data", "many.csv"});
  const auto entries = [&] {
    const std::filesystem::directory_iterator all(folder_.path());
    return std::distance(begin(all), end(all));
  };
  const auto before = entries();
  for (const auto& [number, code] : {std::pair(SIGINT, 130), std::pair(SIGHUP, 129)}) {
    Command command(trainer_words(words), {.folder = folder_.path()});
    ASSERT_TRUE(command.wait_for_unfinished_file(folder_.path()));
    command.send(number);
    EXPECT_EQ(command.finish().exit_code, code);
    EXPECT_EQ(entries(), before);
  }
}

TEST_F(PredictCommandTest, ASignalEndsTheWaitForAReader) {
  std::string rows;
  for (int i = 0; i < 20000; ++i) rows += "1,2\n";
  folder_.write("many.csv", rows);
  Command command(trainer_words({"predict", "--model", "m.safetensors", "--data", "many.csv", "--format", "jsonl"}),
                  {.folder = folder_.path()});
  ASSERT_TRUE(command.wait_for_full_out());
  command.send(SIGTERM);
  const CommandResult result = command.finish_unread();
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_EQ(result.err, "");
}

TEST_F(PredictCommandTest, WritesOverNothingThatItReads) {
  EXPECT_EQ(
      run({"--out", "./new.csv"}).err,
      "error: --out \"./new.csv\" would overwrite \"new.csv\", which this run reads\nhint: give it another name\n");
  EXPECT_EQ(run({"--out", "./new.csv"}).exit_code, 2);
  EXPECT_EQ(run({"--out", "./m.safetensors"}).err,
            "error: --out \"./m.safetensors\" would overwrite \"m.safetensors\", which this run reads\n"
            "hint: give it another name\n");
  EXPECT_EQ(run({}).exit_code, 0);
}

TEST_F(PredictCommandTest, RowsOfAPipeAreAnsweredAsTheyCome) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::vector<std::string> expected = lines(run({}).out);
  Command command(trainer_words({"predict", "--model", "m.safetensors", "--data", "pipe"}), {.folder = folder_.path()});
  std::ofstream rows(pipe);
  const auto answered = [&](size_t line) {
    std::string text = expected[line];
    text.replace(text.find("new.csv"), 7, "pipe");
    return command.wait_for_out("\n" + text + "\n");
  };
  rows << "1,2\n" << std::flush;
  EXPECT_TRUE(answered(1)) << "while the pipe is open";
  rows << "-3,4\n5," << std::flush;
  EXPECT_TRUE(answered(2));
  rows << "-6\n" << std::flush;
  EXPECT_TRUE(answered(3));
  rows << "x,1\n" << std::flush;
  const CommandResult result = command.finish();
  EXPECT_EQ(result.exit_code, 65) << "an error does not wait for the end either";
  EXPECT_TRUE(result.err.starts_with("error: pipe:4:1: column 0 ")) << result.err;
  EXPECT_EQ(lines(result.out).size(), 4u);
}

TEST_F(PredictCommandTest, BlankLinesAndRowsThatAreLeftOutDoNotHoldUpAnswers) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Command command(
      trainer_words({"predict", "--model", "m.safetensors", "--data", "pipe", "--bad-rows", "skip", "--keep", "0"}),
      {.folder = folder_.path()});
  std::ofstream rows(pipe);
  for (int i = 0; i < 20; ++i) {
    rows << i << ",2\n" << std::flush << "\n\n" << std::flush << "x,y\n" << std::flush;
    EXPECT_TRUE(command.wait_for_out("," + std::to_string(i) + ","));
  }
  rows.close();
  const CommandResult result = command.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines(result.out).size(), 21u);
  EXPECT_EQ(result.err, "20 of 40 rows are bad, the first: pipe:4: column 0 (features): expected float32, got \"x\"\n");
}

TEST_F(PredictCommandTest, RepeatsColumnsOfTheData) {
  folder_.write("new.csv", "1,2,7\n-3,4,\"a, \"\"b\"\"\"\n");
  const std::vector<std::string> plain = lines(run({}).out), kept = lines(run({"--keep", "2,0"}).out);
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0], "row,2,0,class,probability");
  EXPECT_EQ(kept[1], "new.csv:1,7,1" + plain[1].substr(plain[1].find(',')));
  EXPECT_EQ(kept[2], "new.csv:2,\"a, \"\"b\"\"\",-3" + plain[2].substr(plain[2].find(',')));
  const auto json = nlohmann::json::parse(lines(run({"--keep", "2", "--keep", "0", "--format", "jsonl"}).out)[1]);
  EXPECT_EQ(json["2"], "a, \"b\"");
  EXPECT_EQ(json["0"], "-3");
  const CommandResult unknown = run({"--keep", "id"});
  EXPECT_EQ(unknown.exit_code, 78);
  EXPECT_EQ(unknown.err,
            "error: --keep: column \"id\" is a name, but the files are read without a header\n"
            "hint: set csv_reader: {header: true}, or select columns by index\n");
  EXPECT_EQ(run({"--keep", "0:1"}).err,
            "error: --keep: column \"0:1\" is a name, but the files are read without a header\n"
            "hint: write columns as 3 or 0-9, or as a list of these\n");
  EXPECT_EQ(lines(run({"--keep", "2,0-1"}).out)[0], "row,2,0,1,class,probability");
  EXPECT_EQ(run({"--keep", ""}).exit_code, 2);
}

TEST_F(PredictCommandTest, BadRowsAreLeftBlankOrLeftOut) {
  folder_.write("new.csv", "1,2,a\n1,x,b\n-3,4,c\n,,d\n");
  const CommandResult fails = run({"--bad-rows", "fail"});
  EXPECT_EQ(fails.exit_code, 65);
  EXPECT_EQ(fails.err, run({}).err);
  EXPECT_EQ(fails.err,
            "error: new.csv:2:3: column 1 (features): expected float32, got \"x\"\n"
            "hint: --bad-rows blank or skip goes on after a bad row\n");
  const std::string told =
      "2 of 4 rows are bad, the first: new.csv:2: column 1 (features): expected float32, got \"x\"\n";
  const CommandResult blank = run({"--bad-rows", "blank", "--keep", "2"});
  EXPECT_EQ(blank.exit_code, 0);
  EXPECT_EQ(blank.err, told);
  const std::vector<std::string> csv = lines(blank.out);
  ASSERT_EQ(csv.size(), 5u) << blank.out;
  EXPECT_TRUE(csv[1].starts_with("new.csv:1,a,"));
  EXPECT_EQ(csv[2], "new.csv:2,b,,");
  EXPECT_EQ(csv[4], "new.csv:4,d,,");
  const auto json = nlohmann::json::parse(lines(run({"--bad-rows", "blank", "--format", "jsonl"}).out)[1]);
  EXPECT_EQ(json["class"], nullptr);
  EXPECT_EQ(json["probability"], nullptr);
  EXPECT_EQ(json["error"], "column 1 (features): expected float32, got \"x\"");
  const CommandResult skip = run({"--bad-rows", "skip"});
  EXPECT_EQ(skip.exit_code, 0);
  EXPECT_EQ(skip.err, told);
  folder_.write("new.csv", "1,2\n-3,4\n");
  std::string good = run({}).out;
  good.replace(good.find("new.csv:2"), 9, "new.csv:3");
  EXPECT_EQ(skip.out, good);
  EXPECT_EQ(run({"--bad-rows", "skip"}).err, "");
  folder_.write("new.csv", "1,2\n1,x\n-3,4\n1,\"x\n");
  const CommandResult ends = run({"--bad-rows", "skip"});
  EXPECT_EQ(ends.exit_code, 65);
  EXPECT_TRUE(
      ends.err.starts_with("1 of 3 rows is bad: new.csv:2: column 1 (features): expected float32, got \"x\"\n"
                           "error: new.csv:4:3: unterminated quote"))
      << ends.err;
}

// A text that the vocabulary lacks, and a list that is too long for pad.
TEST_F(PredictCommandTest, RowsThatAnOpRefusesAreBadRows) {
  folder_.write("texts.csv", "a,1 2,0\nb,3,1\na,4 5,1\nb,0,0\n");
  folder_.write("texts.yaml",
                "device: cpu\ninput:\n  - filename_queue: {files: texts.csv, epochs: 2}\n  - csv_reader\n"
                "  - decode_csv: {fields: {t: {columns: 0, type: string}, list: {columns: 1, split: \" \"}, label: "
                "{columns: 2}}}\n  - vocabulary: {field: t, texts: [a, b], as: code}\n"
                "  - one_hot: {field: code, classes: 2, as: hot}\n  - pad: {fields: list, length: 2}\n"
                "  - batch: {batch_size: 2}\nmodel: [{concat: {from: [hot, list]}}, {dense: {units: 1}}]\n"
                "loss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n");
  const CommandResult trained = run_trainer({"texts.yaml", "--save", "m.safetensors"}, {.folder = folder_.path()});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  folder_.write("new.csv", "a,1\nb,2 3\n");
  const std::vector<std::string> good = lines(run({}).out);
  folder_.write("new.csv", "c,1\na,1\nb,1 2 3\nc,?\nd,2\nb,2 3\n");
  const CommandResult result = run({"--bad-rows", "blank", "--keep", "0"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> csv = lines(result.out);
  ASSERT_EQ(csv.size(), 7u);
  EXPECT_EQ(csv[1], "new.csv:1,c,,");
  EXPECT_EQ(csv[2], "new.csv:2,a" + good[1].substr(good[1].find(',')));
  EXPECT_EQ(csv[3], "new.csv:3,b,,");
  EXPECT_EQ(csv[4], "new.csv:4,c,,");
  EXPECT_EQ(csv[5], "new.csv:5,d,,");
  EXPECT_EQ(csv[6], "new.csv:6,b" + good[2].substr(good[2].find(',')));
  EXPECT_EQ(result.err,
            "4 of 6 rows are bad, the first: new.csv:1: the field t holds \"c\", which is none of its 2 texts\n");
}

TEST_F(PredictCommandTest, AThresholdDecidesTheClass) {
  const auto classes = [&](const std::vector<std::string>& options) {
    std::string out;
    const CommandResult result = run(options);
    for (const std::string& line : lines(result.out)) {
      const size_t comma = line.find(',');
      if (!line.starts_with("row")) out += line.substr(comma + 1, line.find(',', comma + 1) - comma - 1);
    }
    return out.empty() ? result.err : out;
  };
  EXPECT_EQ(classes({"--threshold", "0"}), "111");
  EXPECT_EQ(classes({"--threshold", "1"}), "000");
  EXPECT_EQ(classes({"--threshold", "0.5"}), classes({}));
  for (const char* wrong : {"1.5", "-0.1", "half", "nan"}) {
    const CommandResult result = run({"--threshold", wrong});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_TRUE(result.err.starts_with("error: --threshold: expected a number from 0 to 1, got \"")) << result.err;
  }
  EXPECT_EQ(run({"--threshold", "0.3", "--raw"}).exit_code, 2);
  ASSERT_EQ(run_trainer({"small.yaml", "--save", "m.safetensors", "--set", "loss=mse", "--set", "metrics=[mae]"},
                        {.folder = folder_.path()})
                .exit_code,
            0);
  const CommandResult numbers = run({"--threshold", "0.3"});
  EXPECT_EQ(numbers.exit_code, 2);
  EXPECT_EQ(numbers.err,
            "error: --threshold is for models that say yes or no, which this one does not\n"
            "hint: a loss such as sigmoid_cross_entropy trains them\n");
  ASSERT_EQ(::mkfifo(folder_.path("pipe").c_str(), 0600), 0);
  Command command(trainer_words({"predict", "--model", "m.safetensors", "--data", "new.csv", "--threshold", "0.3",
                                 "--out", "pipe"}),
                  {.folder = folder_.path()});
  EXPECT_EQ(command.finish_unread().err, numbers.err) << "before anybody reads the pipe";
}

TEST_F(PredictCommandTest, SeveralOutputsOfYesOrNoHaveAClassEach) {
  const CommandResult trained =
      run_trainer({"small.yaml", "--save", "m.safetensors", "--set", "input.decode_csv.fields.label.columns=[2, 2]",
                   "--set", "model[1].dense.units=2", "--set", "metrics=[]"},
                  {.folder = folder_.path()});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(lines(run({}).out)[0], "row,class_0,class_1,probability_0,probability_1");
  const auto json = nlohmann::json::parse(lines(run({"--format", "jsonl"}).out)[0]);
  const auto raw = nlohmann::json::parse(lines(run({"--format", "jsonl", "--raw"}).out)[0]);
  for (size_t i = 0; i < 2; ++i) {
    const double logit = raw["prediction"][i];
    EXPECT_EQ(json["class"][i], logit > 0 ? 1 : 0);
    EXPECT_NEAR(json["probability"][i].get<double>(), 1 / (1 + std::exp(-logit)), 1e-6);
  }
  EXPECT_EQ(nlohmann::json::parse(lines(run({"--format", "jsonl", "--threshold", "0"}).out)[0])["class"],
            nlohmann::json::parse("[1,1]"));
}

TEST_F(PredictCommandTest, SettingsThatAreNotHeededAreAnError) {
  const CommandResult result = run({"--set", "input.decode_csv.on_bad_row=skip"});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_EQ(result.err,
            "error: --set input.decode_csv.on_bad_row=skip: the setting changes nothing here\n"
            "hint: nothing is trained, the data are read once, in order, and for bad rows there is --bad-rows\n");
  for (const char* setting : {"train.steps=3", "save=n", "save.optimizer=true"}) {
    const CommandResult other = run({"--set", setting});
    EXPECT_EQ(other.exit_code, 78);
    EXPECT_NE(other.err.find(": the setting changes nothing here\nhint: nothing is trained"), std::string::npos)
        << other.err;
  }
}

TEST_F(PredictCommandTest, SaysWhatToDoWhereTheLabelStoodFirst) {
  const std::vector<std::string> first = {"--set",
                                          "input.decode_csv.fields={label: {columns: 0}, features: {columns: 1-2}}"};
  const CommandResult result = run(first);
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_NE(result.err.find("there is no column 2: the records of "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(" have 2 columns (0 to 1)\nhint: the columns that are not read (label)"), std::string::npos)
      << result.err;
  EXPECT_EQ(run({"--format", "xml"}).err,
            "error: --format: expected csv or jsonl, got \"xml\"\nhint: trainer predict --help shows the usage\n");
}

TEST_F(PredictCommandTest, ReaderThatGoesAwayIsNoFailure) {
  std::string rows;
  for (int i = 0; i < 200000; ++i) rows += "1,2\n";
  folder_.write("many.csv", rows);
  Command command(trainer_words({"predict", "--model", "m.safetensors", "--data", "many.csv"}),
                  {.folder = folder_.path()});
  ASSERT_TRUE(command.wait_for_out("\n"));
  command.close_out();
  const CommandResult result = command.finish();
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace millrace::cli

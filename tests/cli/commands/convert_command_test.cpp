// `trainer convert`, from outside.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::Command;
using ::millrace::testing::CommandOptions;
using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::millrace::testing::trainer_words;

class ConvertCommandTest : public ::testing::Test {
 protected:
  ConvertCommandTest() { millrace::testing::write_small_data(folder_); }

  CommandResult run(std::vector<std::string> arguments, CommandOptions options = {}) const {
    arguments.insert(arguments.begin(), "convert");
    options.folder = folder_.path();
    return run_trainer(std::move(arguments), options);
  }

  std::vector<std::string> entries() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      out.push_back(entry.path().filename().string());
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  // The fields of all batches that `trainer input` makes by a configuration.
  std::string rows_of(const std::string& config, std::vector<std::string> settings = {}) const {
    settings.insert(settings.begin(), {"input", config});
    const CommandResult result = run_trainer(settings, {.folder = folder_.path()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::istringstream lines(result.out);
    std::string out;
    for (std::string line; std::getline(lines, line);) out += nlohmann::json::parse(line)["fields"].dump() + '\n';
    return out;
  }

  // The rows that are read by the configuration which a conversion printed.
  std::string rows_read_by(const std::string& printed) const {
    const size_t begin = printed.find("\ninput:\n");
    EXPECT_NE(begin, std::string::npos) << printed;
    folder_.write("again.yaml",
                  printed.substr(begin) + "  - batch: {batch_size: 7, allow_smaller_final_batch: true}\n");
    return rows_of("again.yaml");
  }

  const TempFolder folder_;
  const std::vector<std::string> once_ = {"--set", "input.filename_queue.epochs=1"};
};

TEST_F(ConvertCommandTest, ThePrintedConfigurationReadsTheSameRows) {
  const std::string expected = rows_of("small.yaml", once_);
  const CommandResult one = run({"small.yaml", "--to", "csv", "--out", "rows.csv"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_TRUE(one.out.starts_with("end of data: 40 rows, 1 file in ")) << one.out;
  EXPECT_NE(one.out.find("\nleft out: nothing\n"), std::string::npos) << one.out;
  EXPECT_EQ(one.err, "") << "no progress in a log";
  EXPECT_TRUE(TempFolder::read(folder_.path("rows.csv")).starts_with("features_0,features_1,label\n0,20.25,1\n"));
  EXPECT_EQ(rows_read_by(one.out), expected);

  const CommandResult several = run({"--config", "small.yaml", "--to", "csv", "--out", "rows.csv", "--rows", "15"});
  ASSERT_EQ(several.exit_code, 0) << several.err;
  EXPECT_TRUE(several.out.starts_with("end of data: 40 rows, 3 files in ")) << several.out;
  EXPECT_TRUE(TempFolder::read(folder_.path("rows-00002.csv"))
                  .starts_with("features_0,features_1,label\n30,-10.25,1\n31,-11.25,0\n"));
  EXPECT_EQ(rows_read_by(several.out), expected);
}

// Shuffled, in several epochs, some rows held out: a conversion has every row once, in order.
TEST_F(ConvertCommandTest, EveryRowIsWrittenOnceAndInOrder) {
  folder_.write("train.yaml",
                "input:\n  - filename_queue: {files: \"part-*.csv\", epochs: 3, shard: {index: 0, count: 2}}\n  - "
                "csv_reader: {readers: 2}\n"
                "  - decode_csv: {fields: {x: {columns: 0}}}\n  - hold_out: {share: 0.3}\n"
                "  - map: {field: x, scale: 2}\n"
                "  - shuffle_batch: {batch_size: 4, capacity: 30, min_after_dequeue: 9}\n");
  const CommandResult all = run({"train.yaml", "--to", "csv", "--out", "all.csv"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  std::string expected = "x\n";
  for (int i = 0; i < 40; ++i) expected += cat(2 * i, '\n');
  EXPECT_EQ(TempFolder::read(folder_.path("all.csv")), expected);

  const CommandResult held = run({"train.yaml", "--to", "csv", "--out", "held.csv", "--held-out"});
  ASSERT_EQ(held.exit_code, 0) << held.err;
  const std::string some = TempFolder::read(folder_.path("held.csv"));
  const auto rows = std::count(some.begin(), some.end(), '\n') - 1;
  EXPECT_GT(rows, 3);
  EXPECT_LT(rows, 25);

  const CommandResult other = run({"train.yaml", "--to", "csv", "--out", "other.csv", "--data", "part-1.csv"});
  ASSERT_EQ(other.exit_code, 0) << other.err;
  EXPECT_TRUE(TempFolder::read(folder_.path("other.csv")).starts_with("x\n20\n22\n"));
  EXPECT_TRUE(other.out.starts_with("end of data: 10 rows, ")) << other.out;
}

TEST_F(ConvertCommandTest, ColumnsKeepTheNamesOfTheHeader) {
  folder_.write("named.csv", "id,\"height, cm\",city\n1,2.5,Rome\n2,3,\"a \"\"b\"\"\"\n");
  folder_.write("named.yaml",
                "input:\n  - filename_queue: {files: named.csv}\n  - csv_reader: {header: true}\n"
                "  - decode_csv: {fields: {x: {columns: [1, 0]}, city: {columns: city, type: string}}}\n"
                "  - batch: {batch_size: 2}\n");
  const CommandResult result = run({"named.yaml", "--to", "csv", "--out", "rows.csv"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(TempFolder::read(folder_.path("rows.csv")), "\"height, cm\",id,city\n2.5,1,Rome\n3,2,\"a \"\"b\"\"\"\n");
}

TEST_F(ConvertCommandTest, ArraysReadBack) {
  const CommandResult result = run({"small.yaml", "--to", "npz", "--out", "rows.npz"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("  - filename_queue: {files: rows.npz, epochs: 1}\n  - npz_reader:"), std::string::npos)
      << result.out;
  EXPECT_EQ(rows_read_by(result.out), rows_of("small.yaml", once_));
}

TEST_F(ConvertCommandTest, JsonHasTheSame) {
  const CommandResult result = run({"small.yaml", "--to", "csv", "--out", "rows.csv", "--rows", "30", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json event = nlohmann::json::parse(result.out);
  EXPECT_EQ(event["event"], "convert");
  EXPECT_EQ(event["reason"], "end of data");
  EXPECT_EQ(event["rows"], 40);
  EXPECT_EQ(event["files"], nlohmann::json({"rows-00000.csv", "rows-00001.csv"}));
  EXPECT_EQ(event["bad"], 0);
  EXPECT_EQ(event["input"][0]["filename_queue"]["shuffle"], false);
  EXPECT_EQ(event["input"][2]["decode_csv"]["fields"]["features"]["columns"], "0-1");
}

TEST_F(ConvertCommandTest, BadRowsFareAsTheConfigurationSays) {
  folder_.write("part-1.csv", "1,2,0\n1,x,0\n1,2\n3,4,1\n");
  const std::vector<std::string> before = entries();
  const CommandResult fails = run({"small.yaml", "--to", "csv", "--out", "rows.csv"});
  EXPECT_EQ(fails.exit_code, 65);
  EXPECT_TRUE(fails.err.starts_with("error: part-1.csv:2:3: ")) << fails.err;
  EXPECT_EQ(entries(), before);

  const std::vector<std::string> skip = {
      "small.yaml", "--to", "csv", "--out", "rows.csv", "--set", "input.decode_csv.on_bad_row=skip"};
  const CommandResult skips = run(skip);
  EXPECT_EQ(skips.exit_code, 0) << skips.err;
  EXPECT_NE(skips.out.find("\nleft out: 2 bad rows\n"), std::string::npos) << skips.out;
  EXPECT_TRUE(skips.err.starts_with("left out part-1.csv:2:3: ")) << skips.err;
  std::vector<std::string> quiet = skip;
  quiet.emplace_back("--quiet");
  EXPECT_EQ(run(quiet).err, "");
}

// Before the first row: the first one is bad.
TEST_F(ConvertCommandTest, FieldsThatTheFormatCannotHoldAreRefused) {
  folder_.write("words.csv", "x\n");
  folder_.write("words.yaml",
                "input:\n  - filename_queue: {files: words.csv}\n  - csv_reader\n"
                "  - decode_csv: {fields: {x: {columns: 0}, s: {columns: 0, type: string}}}\n"
                "  - batch: {batch_size: 2}\n");
  const std::vector<std::string> before = entries();
  const CommandResult result = run({"words.yaml", "--to", "npz", "--out", "words.npz"});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_EQ(result.err,
            "error: --to npz: an array cannot hold s, which is string (1)\n"
            "hint: make numbers of the texts with vocabulary, or of pictures with decode_image, or write csv\n");
  EXPECT_EQ(entries(), before);
}

TEST_F(ConvertCommandTest, DataThatNeverEndAreRefused) {
  folder_.write("endless.yaml", millrace::testing::endless_config());
  const CommandResult result = run({"endless.yaml", "--to", "npz", "--out", "rows.npz"});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_NE(result.err.find("the data of synthetic never end, but they are to be read once"), std::string::npos)
      << result.err;
}

TEST_F(ConvertCommandTest, SettingsThatAreNotHeededAreAnError) {
  for (const char* setting : {"train.steps=1", "input.filename_queue.epochs=5", "input.filename_queue.shuffle=true"}) {
    const CommandResult result = run({"small.yaml", "--to", "csv", "--out", "rows.csv", "--set", setting});
    EXPECT_EQ(result.exit_code, 78);
    EXPECT_TRUE(result.err.starts_with(cat("error: --set ", setting, ": the setting changes nothing here\n")))
        << result.err;
  }
}

TEST_F(ConvertCommandTest, RefusesToOverwriteWhatItReads) {
  for (const char* name : {"part-1.csv", "small.yaml"}) {
    const std::string before = TempFolder::read(folder_.path(name));
    const CommandResult result = run({"small.yaml", "--to", "csv", "--out", cat("./", name)});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.err, cat("error: --out \"./", name, "\" would overwrite \"", name,
                              "\", which this run reads\nhint: give it another name\n"));
    EXPECT_EQ(TempFolder::read(folder_.path(name)), before);
  }
}

TEST_F(ConvertCommandTest, NumberedFilesAreNotMixedWithOthers) {
  folder_.write("rows-00007.csv", "old");
  const std::vector<std::string> before = entries();
  const CommandResult result = run({"small.yaml", "--to", "csv", "--out", "rows.csv", "--rows", "10"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "error: --out \"rows.csv\": there is \"rows-00007.csv\" already, which would be read together with the new "
            "files\nhint: remove such files, or give it another name\n");
  EXPECT_EQ(entries(), before);
}

TEST_F(ConvertCommandTest, AFileThatIsThereStaysUntilTheNewOneIsWhole) {
  folder_.write("rows.npz", "old");
  folder_.write("part-3.csv", "1,2,x\n");
  EXPECT_EQ(run({"small.yaml", "--to", "npz", "--out", "rows.npz"}).exit_code, 65);
  EXPECT_EQ(TempFolder::read(folder_.path("rows.npz")), "old");
  folder_.write("part-3.csv", "1,2,0\n");
  EXPECT_EQ(run({"small.yaml", "--to", "npz", "--out", "rows.npz"}).exit_code, 0);
  EXPECT_TRUE(TempFolder::read(folder_.path("rows.npz")).starts_with("PK"));
}

TEST_F(ConvertCommandTest, AFullDiskLeavesNothing) {
  const std::vector<std::string> before = entries();
  for (const char* format : {"csv", "npz", "tfrecord"}) {
    const std::string line = cat("ulimit -f 0; exec \"$0\" convert small.yaml --to ", format, " --out rows");
    const CommandResult result = millrace::testing::run_command(
        {"/bin/bash", "-c", line, millrace::testing::trainer_program()}, {.folder = folder_.path()});
    EXPECT_EQ(result.exit_code, 74);
    EXPECT_EQ(result.err, "error: rows: cannot write: File too large\n");
    EXPECT_EQ(entries(), before);
  }
  const CommandResult folder = run({"small.yaml", "--to", "csv", "--out", "no/rows.csv"});
  EXPECT_EQ(folder.exit_code, 74);
  EXPECT_EQ(folder.err,
            "error: no/rows.csv: cannot write: No such file or directory\nhint: make the folder \"no\" first\n");
}

TEST_F(ConvertCommandTest, InterruptedItLeavesOnlyWholeFiles) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  folder_.write("pipe.yaml",
                "input:\n  - filename_queue: {files: pipe}\n  - csv_reader\n  - decode_csv: {fields: {x: {columns: "
                "0}}}\n  - batch: {batch_size: 1}\n");
  std::vector<std::string> expected = entries();
  for (const char* format : {"csv", "npz", "tfrecord"}) {
    Command command(trainer_words({"convert", "pipe.yaml", "--to", format, "--out", "rows"}),
                    {.folder = folder_.path()});
    std::ofstream rows(pipe);
    rows << "1\n2\n3\n" << std::flush;
    ASSERT_TRUE(command.wait_for_unfinished_file(folder_.path()));
    command.send(SIGINT);
    const CommandResult result = command.finish();
    EXPECT_EQ(result.exit_code, 130);
    EXPECT_TRUE(result.out.starts_with("stopped: 0 rows, 0 files in ")) << result.out;
    EXPECT_EQ(result.out.find("input:"), std::string::npos) << result.out;
    EXPECT_EQ(entries(), expected);
  }
}

TEST_F(ConvertCommandTest, ATerminalShowsHowFarItIs) {
  const CommandResult result = run({"small.yaml", "--to", "npz", "--out", "rows.npz"}, {.terminal = true});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.err.find("converting: "), std::string::npos) << result.err;
  EXPECT_TRUE(result.err.ends_with("\r\x1b[K")) << result.err;
  EXPECT_EQ(run({"small.yaml", "--to", "npz", "--out", "rows.npz", "-q"}, {.terminal = true}).err, "");
}

TEST_F(ConvertCommandTest, FormatAndFileAreNeeded) {
  const std::string usage = "hint: trainer convert --config FILE --to csv --out FILE";
  EXPECT_EQ(run({"small.yaml"}).exit_code, 2);
  EXPECT_TRUE(run({"small.yaml", "--out", "a"}).err.starts_with("error: no format is given\n" + usage));
  EXPECT_TRUE(run({"small.yaml", "--to", "csv"}).err.starts_with("error: no file to write is given\n" + usage));
  EXPECT_TRUE(run({"small.yaml", "--to", "csv", "--out", "-"}).err.starts_with("error: --out - names no file\n"));
  EXPECT_TRUE(run({"small.yaml", "--to", "xml", "--out", "a"})
                  .err.starts_with("error: --to: expected csv, npz or tfrecord, got \"xml\"\n"));
  EXPECT_TRUE(run({"small.yaml", "--to", "csv", "--out", "a", "--rows", "0"})
                  .err.starts_with("error: --rows: expected a whole number from 1, got \"0\"\n"));
}

TEST_F(ConvertCommandTest, RefusesTheEndingOfAnotherFormat) {
  for (const auto& [to, ending] :
       {std::pair("csv", "npz"), std::pair("npz", "csv"), std::pair("csv", "gz"), std::pair("npz", "tfrecord")}) {
    const CommandResult result = run({"small.yaml", "--to", to, "--out", cat("rows.", ending)});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_TRUE(result.err.starts_with(cat("error: --out \"rows.", ending, "\" ends in .", ending, ", but --to is ", to,
                                           "\nhint: give it the ending .", to)))
        << result.err;
  }
  EXPECT_EQ(run({"small.yaml", "--to", "csv", "--out", "rows.txt"}).exit_code, 0);
}

}  // namespace
}  // namespace millrace::cli

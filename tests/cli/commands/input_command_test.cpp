// `trainer input`, from outside.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "millrace/core/text.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::Command;
using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::millrace::testing::trainer_words;

class InputCommandTest : public ::testing::Test {
 protected:
  InputCommandTest() { millrace::testing::write_small_data(folder_); }

  CommandResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "input");
    return run_trainer(std::move(arguments), {.folder = folder_.path()});
  }

  size_t entries() const {
    const std::filesystem::directory_iterator all(folder_.path());
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

  static std::vector<nlohmann::json> lines(const std::string& text) {
    std::vector<nlohmann::json> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out.push_back(nlohmann::json::parse(line));
    return out;
  }

  TempFolder folder_;
};

TEST_F(InputCommandTest, BatchesHaveValuesAndOrigins) {
  const CommandResult result = run({"--config", "small.yaml", "--batches", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<nlohmann::json> batches = lines(result.out);
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0]["batch"], 0);
  EXPECT_EQ(batches[0]["size"], 7);
  EXPECT_EQ(batches[0]["fields"]["features"][2], nlohmann::json({2, 18.25}));
  EXPECT_EQ(batches[0]["fields"]["label"][3], nlohmann::json({1}));
  EXPECT_EQ(batches[0]["rows"][0], "part-0.csv:1");
  EXPECT_EQ(batches[1]["batch"], 1);
  EXPECT_EQ(batches[1]["rows"][6], "part-1.csv:4");
  EXPECT_TRUE(result.err.starts_with("batches: 2 batches, 14 rows, 1 epoch in ")) << result.err;
}

TEST_F(InputCommandTest, LastLineCountsExactly) {
  const CommandResult result =
      run({"small.yaml", "--format", "none", "--json", "--set", "input.batch.allow_smaller_final_batch=false"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json done = nlohmann::json::parse(result.out);
  EXPECT_EQ(done["v"], 1);
  EXPECT_EQ(done["event"], "done");
  EXPECT_EQ(done["reason"], "end of data");
  EXPECT_EQ(done["batches"], 11);
  EXPECT_EQ(done["rows"], 77);
  EXPECT_EQ(done["dropped"], 3);
  EXPECT_EQ(done["bad"], 0);
  EXPECT_EQ(done["epochs"], 2);
}

TEST_F(InputCommandTest, BadRowsAreToldAndCounted) {
  folder_.write("part-1.csv", "1,2,0\n1,x,0\n1,2\n3,4,1\n");
  const CommandResult result = run({"small.yaml", "--format", "none", "--json", "--set",
                                    "input.decode_csv.on_bad_row=skip", "--set", "input.filename_queue.epochs=1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json done = nlohmann::json::parse(result.out);
  EXPECT_EQ(done["rows"], 32);
  EXPECT_EQ(done["bad"], 2);
  EXPECT_EQ(done["dropped"], 0);
  EXPECT_TRUE(result.err.starts_with("left out part-1.csv:2:3: ")) << result.err;
  EXPECT_NE(result.err.find("\nleft out part-1.csv:3:1: "), std::string::npos) << result.err;
}

TEST_F(InputCommandTest, NeedsNoModel) {
  folder_.write("bare.yaml",
                "input:\n  - filename_queue: {files: part-0.csv, epochs: 1}\n  - csv_reader\n"
                "  - decode_csv: {fields: {x: {columns: 2, type: int32}}}\n  - batch: {batch_size: 10}\n");
  const CommandResult result = run({"bare.yaml"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines(result.out)[0]["fields"]["x"].size(), 10u);
}

TEST_F(InputCommandTest, CsvReadsBackToEqualBatches) {
  for (const char* columns : {"columns: 0-1", "columns: [1, 0]", "columns: 0-1, reshape: [1, 2, -1]"}) {
    const std::string field = std::string("input.decode_csv.fields.features={") + columns + "}";
    const CommandResult written = run({"small.yaml", "--set", field, "--format", "csv", "--out", "rows.csv"});
    ASSERT_EQ(written.exit_code, 0) << written.err;
    EXPECT_TRUE(written.out.starts_with("end of data: 12 batches, 80 rows")) << written.out;
    const auto fields = [&](const std::string& files, const std::string& epochs) {
      const CommandResult result = run({"small.yaml", "--set", field, "--set", "input.filename_queue.files=" + files,
                                        "--set", "input.filename_queue.epochs=" + epochs});
      EXPECT_EQ(result.exit_code, 0) << result.err;
      std::string out;
      for (const nlohmann::json& batch : lines(result.out)) out += batch["fields"].dump() + '\n';
      return out;
    };
    EXPECT_EQ(fields("rows.csv", "1"), fields("part-*.csv", "2"));
  }
}

TEST_F(InputCommandTest, CsvOfAddedFieldsReadsBack) {
  folder_.write("bare.yaml",
                "input:\n  - filename_queue: {files: part-0.csv, epochs: 1}\n  - csv_reader\n"
                "  - decode_csv: {missing: \"2\", fields: {x: {columns: 1}, y: {columns: 2, type: int32}}}\n"
                "  - map: {field: x, scale: 2, as: twice}\n  - one_hot: {field: y, classes: 2, as: z}\n"
                "  - batch: {batch_size: 4}\n");
  folder_.write("part-0.csv", "9,1.5,0\n9,2.0,1\n9,-1,1\n9,0,0\n");
  const CommandResult written = run({"bare.yaml", "--format", "csv", "--out", "rows.csv"});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(TempFolder::read(folder_.path("rows.csv")), ",1.5,0,3,1,0\n, 2,1,4,0,1\n,-1,1,-2,0,1\n,0,0,0,1,0\n");
  const CommandResult before = run({"bare.yaml"});
  const CommandResult after = run({"bare.yaml", "--set", "input.filename_queue.files=rows.csv"});
  ASSERT_EQ(after.exit_code, 0) << after.err;
  EXPECT_EQ(lines(after.out)[0]["fields"], lines(before.out)[0]["fields"]);
}

// Where the value is, and no file.
TEST_F(InputCommandTest, CsvThatWouldNotReadBackIsNotWritten) {
  folder_.write("bare.yaml",
                "input:\n  - filename_queue: {files: part-0.csv, epochs: 1}\n  - csv_reader: {quote: none}\n"
                "  - decode_csv: {fields: {s: {columns: 1, type: string, default: \"a,b\"}}, missing: [NA, \"\"]}\n"
                "  - filter: {field: s, op: \"!=\", value: x}\n  - batch: {batch_size: 1}\n");
  folder_.write("part-0.csv", "1,x\n2,y\n3,z\r");
  const CommandResult result = run({"bare.yaml", "--format", "csv", "--out", "rows.csv"});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_EQ(result.err,
            "error: part-0.csv:3: no text in column 1 of a CSV file is read as \"z\\r\" by s\n"
            "hint: csv_reader has quote: none; write --format jsonl\n");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("rows.csv")));
}

// A quoted text that looks like an index or a range is a name where the header has it.
TEST_F(InputCommandTest, CsvReadsBackWhateverTheColumnsAreCalled) {
  const std::pair<const char*, const char*> cases[] = {{"a,b,c,label", "\"0-1\""},
                                                       {"a,0,c,label", "\"0\""},
                                                       {"a,b,label,2", "[\"2\", 0]"},
                                                       {"\"#a\",\"b,c\",label,d", "[\"b,c\", \"#a\"]"}};
  for (const auto& [header, x] : cases) {
    folder_.write("named.csv", cat("note\n", header, "\n1,2,3,0\n-4.5,5,6,1\n"));
    folder_.write("named.yaml", cat("input:\n  - filename_queue: {files: named.csv, epochs: 1}\n"
                                    "  - csv_reader: {header: true, skip_lines: 1, comment: \"#\"}\n"
                                    "  - decode_csv: {fields: {x: {columns: ",
                                    x, "}, label: {columns: label}}}\n  - batch: {batch_size: 2}\n"));
    const auto fields = [&] {
      const CommandResult result = run({"named.yaml"});
      EXPECT_EQ(result.exit_code, 0) << result.err;
      const std::vector<nlohmann::json> batches = lines(result.out);
      return batches.empty() ? nlohmann::json() : batches[0]["fields"];
    };
    const nlohmann::json expected = fields();
    EXPECT_EQ(expected["x"].size(), 2u);
    const CommandResult written = run({"named.yaml", "--format", "csv"});
    ASSERT_EQ(written.exit_code, 0) << written.err;
    folder_.write("named.csv", written.out);
    EXPECT_EQ(fields(), expected) << written.out;
  }
}

TEST_F(InputCommandTest, BatchesBeforeAFailureAreGiven) {
  folder_.write("part-1.csv", "1,2,0\n1,x,0\n");
  const CommandResult result = run({"small.yaml"});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_EQ(lines(result.out).size(), 1u);
  EXPECT_TRUE(result.err.starts_with("error: part-1.csv:2:3: ")) << result.err;
  const CommandResult json = run({"small.yaml", "--json"});
  EXPECT_EQ(lines(json.out).size(), 2u);
  EXPECT_EQ(lines(json.out).back()["event"], "error");
}

TEST_F(InputCommandTest, TheFileAppearsWholeOrNotAtAll) {
  folder_.write("part-1.csv", "1,2,0\n1,x,0\n");
  const size_t before = entries();
  EXPECT_EQ(run({"small.yaml", "--out", "out.jsonl"}).exit_code, 65);
  EXPECT_EQ(entries(), before);
  folder_.write("out.jsonl", "old");
  EXPECT_EQ(run({"small.yaml", "--out", "out.jsonl"}).exit_code, 65);
  EXPECT_EQ(TempFolder::read(folder_.path("out.jsonl")), "old");
  EXPECT_EQ(run({"small.yaml", "--out", "out.jsonl", "--batches", "1"}).exit_code, 0);
  EXPECT_EQ(TempFolder::read(folder_.path("out.jsonl")), run({"small.yaml", "--batches", "1"}).out);
  EXPECT_EQ(entries(), before + 1);
}

TEST_F(InputCommandTest, SettingsThatAreNotHeededAreAnError) {
  const auto setting = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "small.yaml");
    const CommandResult result = run(std::move(words));
    return result.exit_code == 78 ? result.err.substr(0, result.err.find('\n')) : result.err;
  };
  EXPECT_EQ(setting({"--set", "train.steps=1"}), "error: --set train.steps=1: the setting changes nothing here");
  EXPECT_EQ(setting({"--set", "device=auto"}), "error: --set device=auto: the setting changes nothing here");
  const std::vector<std::string> report = {
      "--set", "input.decode_csv.on_bad_row=skip", "--set", "input.decode_csv.bad_rows_file=b.jsonl", "--explain", "1"};
  EXPECT_EQ(setting(report), "error: --set input.decode_csv.bad_rows_file=b.jsonl: the setting changes nothing here")
      << "--explain writes no files";
}

TEST_F(InputCommandTest, PipesAndDevicesAreWrittenAsTheyAre) {
  EXPECT_EQ(run({"small.yaml", "--out", "/dev/null"}).exit_code, 0);
  const std::string batches = run({"small.yaml"}).out;
  const CommandResult pipe = run({"small.yaml", "--out", "/dev/stdout"});
  EXPECT_TRUE(pipe.out.starts_with(batches)) << pipe.out;
  folder_.write("out.txt", "");
  const CommandResult file = run_trainer({"input", "small.yaml", "--out", "/dev/stdout"},
                                         {.folder = folder_.path(), .out_file = folder_.path("out.txt")});
  EXPECT_EQ(file.exit_code, 0) << file.err;
  const std::string text = TempFolder::read(folder_.path("out.txt"));
  EXPECT_TRUE(text.starts_with(batches)) << text;
  EXPECT_TRUE(text.substr(batches.size()).starts_with("end of data: 12 batches, ")) << text;
}

TEST_F(InputCommandTest, BatchesOfAPipeComeAsTheyAreMade) {
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  folder_.write("pipe.yaml",
                "input:\n  - filename_queue: {files: pipe}\n  - csv_reader\n  - decode_csv: {fields: {x: {columns: "
                "0}}}\n  - batch: {batch_size: 2, allow_smaller_final_batch: true}\n");
  Command command(trainer_words({"input", "pipe.yaml"}), {.folder = folder_.path()});
  std::ofstream rows(pipe);
  rows << "1\n2\n" << std::flush;
  EXPECT_TRUE(command.wait_for_out("\"rows\":[\"pipe:1\",\"pipe:2\"]}\n")) << "while the pipe is open";
  rows << "3\n";
  rows.close();
  const CommandResult result = command.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("\"rows\":[\"pipe:3\"]}\n"), std::string::npos) << result.out;
}

TEST_F(InputCommandTest, InterruptedItLeavesNoFile) {
  folder_.write("endless.yaml", millrace::testing::endless_config());
  const size_t before = entries();
  Command command(trainer_words({"input", "endless.yaml", "--out", "out.jsonl"}), {.folder = folder_.path()});
  ASSERT_TRUE(command.wait_for_unfinished_file(folder_.path()));
  command.send(SIGINT);
  const CommandResult result = command.finish();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_TRUE(result.out.starts_with("stopped: ")) << result.out;
  EXPECT_EQ(entries(), before);
}

TEST_F(InputCommandTest, RefusesToOverwriteWhatItUses) {
  const auto refused = [&](const std::string& out, const std::string& file, const std::string& use) {
    const std::string before = TempFolder::read(folder_.path(file));
    const CommandResult result = run({"small.yaml", "--out", out, "--set", "input.decode_csv.on_bad_row=skip", "--set",
                                      "input.decode_csv.bad_rows_file=bad.jsonl"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.err, "error: --out \"" + out + "\" would overwrite \"" + file + "\", which this run " + use +
                              "\nhint: give it another name\n");
    EXPECT_EQ(TempFolder::read(folder_.path(file)), before);
  };
  refused("./part-1.csv", "part-1.csv", "reads");
  refused("./small.yaml", "small.yaml", "reads");
  refused("./bad.jsonl", "bad.jsonl", "writes");
}

TEST_F(InputCommandTest, ExplainNamesEveryRowOfAStep) {
  const CommandResult result = run({"small.yaml", "--explain", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "part-0.csv:8\npart-0.csv:9\npart-0.csv:10\npart-1.csv:1\npart-1.csv:2\npart-1.csv:3\npart-1.csv:4\n");
  const CommandResult json = run({"small.yaml", "--explain", "12", "--json"});
  EXPECT_EQ(
      json.out,
      "{\"v\":1,\"event\":\"explain\",\"step\":12,\"rows\":[\"part-3.csv:8\",\"part-3.csv:9\",\"part-3.csv:10\"]}\n");
}

TEST_F(InputCommandTest, ExplainWritesNothingButItsAnswer) {
  folder_.write("part-1.csv", "1,2,0\n1,x,0\n3,4,1\n");
  folder_.write("bad.jsonl", "kept\n");
  folder_.write("loud.yaml",
                "input:\n  - filename_queue: {files: part-1.csv, epochs: 1}\n  - csv_reader\n"
                "  - decode_csv: {fields: {x: {columns: 0-1}}, on_bad_row: skip, bad_rows_file: bad.jsonl}\n"
                "  - print: {every: 1}\n"
                "  - shuffle_batch: {batch_size: 2, capacity: 2, min_after_dequeue: 1}\n");
  const CommandResult result = run({"loud.yaml", "--explain", "1"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2) << result.out;
  EXPECT_EQ(TempFolder::read(folder_.path("bad.jsonl")), "kept\n");
  EXPECT_EQ(run({"loud.yaml", "--set", "input.print.every=0", "--explain", "1"}).exit_code, 78);
}

// More than there are addresses, so that nothing is taken before it fails.
TEST_F(InputCommandTest, RowsBeyondMemoryNameTheirKey) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers end the process when memory runs out";
  const std::string start =
      "input:\n  - filename_queue: {files: part-0.csv, epochs: 1}\n  - csv_reader\n"
      "  - decode_csv: {fields: {x: {columns: 0}, y: {columns: 1}, z: {columns: 2}}}\n";
  folder_.write("many.yaml", start + "  - batch: {batch_size: 1000000000000}\n");
  const CommandResult batch = run({"many.yaml"});
  EXPECT_EQ(batch.exit_code, 70);
  EXPECT_EQ(batch.err,
            "error: many.yaml:5:5: input[3].batch.batch_size: a batch of 1000000000000 rows: out of memory: "
            "192000000000000 bytes on cpu\nhint: lower batch_size\n");
  folder_.write("wide.yaml", start +
                                 "  - shuffle_batch: {name: mixed, batch_size: 1, capacity: 1000000000000, "
                                 "min_after_dequeue: 999999999999}\n");
  const CommandResult window = run({"wide.yaml"});
  EXPECT_EQ(window.exit_code, 70);
  EXPECT_EQ(window.err,
            "error: wide.yaml:5:5: mixed: a window of 1000000000000 rows: out of memory: 192000000000000 bytes on cpu\n"
            "hint: lower min_after_dequeue\n");
}

TEST_F(InputCommandTest, ExplainOfAStepThatNeverComes) {
  const CommandResult result = run({"small.yaml", "--explain", "13"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "error: there is no step 13: the data ends after 12 steps\n");
}

TEST_F(InputCommandTest, ReaderThatGoesAwayIsNoFailure) {
  folder_.write("endless.yaml", millrace::testing::endless_config());
  Command command(trainer_words({"input", "endless.yaml"}), {.folder = folder_.path()});
  ASSERT_TRUE(command.wait_for_out("\n"));
  command.close_out();
  const CommandResult result = command.finish();
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
}

TEST_F(InputCommandTest, ASignalEndsTheWaitForAReader) {
  folder_.write("endless.yaml", millrace::testing::endless_config());
  Command command(trainer_words({"input", "endless.yaml"}), {.folder = folder_.path()});
  ASSERT_TRUE(command.wait_for_full_out());
  command.send(SIGTERM);
  EXPECT_EQ(command.finish_unread().exit_code, 143);
}

TEST_F(InputCommandTest, InterruptReportsWhatWasRead) {
  folder_.write("endless.yaml", millrace::testing::endless_config());
  Command command(trainer_words({"input", "endless.yaml", "--json"}), {.folder = folder_.path()});
  ASSERT_TRUE(command.wait_for_out("\n"));
  command.send(SIGINT);
  const CommandResult result = command.finish();
  EXPECT_EQ(result.exit_code, 130);
  const std::vector<nlohmann::json> all = lines(result.out);
  EXPECT_EQ(all.back()["reason"], "stopped");
  EXPECT_EQ(all.back()["batches"].get<size_t>(), all.size() - 1);
}

}  // namespace
}  // namespace millrace::cli

// One meaning, from outside: what the program checks, trains, predicts, judges, writes and finds out is the same,
// whatever format the rows are in. Batches, states and joins: tests/promises/formats_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/input/formats.h"
#include "tests/input/graph_check.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using nlohmann::json;
using testing_support::Format;
using testing_support::FormatRows;
using testing_support::FormatTable;
using testing_support::GraphCheck;
using testing_support::kFormatRows;
using testing_support::kRowsOfClass0;
using testing_support::Lines;
using testing_support::MemoryFiles;

class FormatsCommandTest : public ::testing::Test {
 protected:
  FormatsCommandTest() {
    for (const Format& format : formats_) {
      format.put(folder_);
      folder_.write(cat(format.name, ".yaml"), testing_support::training_on(format));
    }
  }

  // The standard output of a run that succeeds without a warning.
  std::string run(std::vector<std::string> words, const std::vector<std::string>& data = {}) const {
    for (const std::string& one : data) words.insert(words.end(), {"--data", one});
    const CommandResult result = run_trainer(std::move(words), {.folder = folder_.path()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ((result.out + result.err).find("warning"), std::string::npos) << result.out << result.err;
    return result.out;
  }

  // What a training of m.safetensors finds: the losses of its validations, the last one of its own, and the weights.
  json trained(const std::string& config, int threads) const {
    std::istringstream lines(run({config, "--json", "--save", "m.safetensors", "--set", cat("threads=", threads),
                                  "--set", cat("input.shuffle_batch.threads=", threads)}));
    json out;
    for (std::string line; std::getline(lines, line);) {
      const json event = json::parse(line);
      if (event["event"] == "validation") out.push_back({event["rows"], event["loss"], event["metrics"]});
      if (event["event"] == "done") out.push_back({event["rows"], event["loss"], event["weights"]});
    }
    return out;
  }

  // The answers for all rows.
  std::vector<std::string> predictions(const Format& format) const {
    std::istringstream lines(run({"predict", "--model", "m.safetensors", "--raw"}, format.data_files(false)));
    std::vector<std::string> out;
    for (std::string line; std::getline(lines, line);) {
      const size_t comma = line.find(',');
      if (!out.empty() && out.size() <= format.places.size()) {
        EXPECT_EQ(line.substr(0, comma), format.places[out.size() - 1]);
      }
      out.push_back(line.substr(comma));
    }
    EXPECT_EQ(out.size(), kFormatRows + 1u);
    return out;
  }

  // What is written, and the list of ops that reads it.
  std::pair<std::string, json> converted(const Format& format, const std::string& to) const {
    const json event = json::parse(
        run({"convert", cat(format.name, ".yaml"), "--to", to, "--out", cat("rows.", to), "--json", "--quiet"}));
    EXPECT_EQ(event["rows"], kFormatRows);
    return {TempFolder::read(folder_.path(cat("rows.", to))), event["input"]};
  }

  const std::vector<Format> formats_ = FormatTable(FormatRows(true)).formats;
  const TempFolder folder_;
};

TEST_F(FormatsCommandTest, ModelsAndAnswersAreTheSame) {
  json outcome;
  std::vector<std::string> answers;
  for (const Format& format : formats_) {
    SCOPED_TRACE(format.name);
    const std::string config = cat(format.name, ".yaml");
    run({"check", config});
    const json one = trained(config, 1), several = trained(config, 3);
    EXPECT_GE(one.size(), 3u) << "validations, and the end";
    EXPECT_EQ(one, several);
    const json judged = json::parse(run({"evaluate", "--model", "m.safetensors", "--json"}, format.data_files(true)));
    EXPECT_EQ(judged["rows"], kFormatRows);
    const json all = json::array({one, judged["loss"], judged["metrics"]});
    if (outcome.is_null()) {
      outcome = all;
      answers = predictions(format);
    }
    EXPECT_EQ(all, outcome);
    EXPECT_EQ(predictions(format), answers);
  }
}

TEST_F(FormatsCommandTest, ErrorsNameTheRow) {
  std::string expected;
  for (const Format& format : formats_) {
    std::string config = testing_support::training_on(format);
    const size_t ops = config.find("- hold_out"), model = config.find("model:"), end = config.find("validation:");
    folder_.write("wrong.yaml",
                  cat(config.substr(0, ops), "- map: {field: label, scale: 5}\n- batch: {batch_size: 9}\n",
                      config.substr(model, end - model)));
    const CommandResult result = run_trainer({"wrong.yaml", "--quiet"}, {.folder = folder_.path()});
    EXPECT_EQ(result.exit_code, 65) << format.name;
    const std::string place = cat("error: ", format.places[kRowsOfClass0], ": ");
    EXPECT_TRUE(result.err.starts_with(place)) << format.name << ' ' << result.err;
    const std::string message = result.err.substr(std::min(place.size(), result.err.size()));
    if (expected.empty()) expected = message;
    EXPECT_EQ(message, expected) << format.name;
  }
}

TEST_F(FormatsCommandTest, ConversionsAreTheSameAndHaveTheSameRows) {
  const std::string one_batch = cat("batch: {batch_size: ", kFormatRows, "}");
  MemoryFiles files;
  formats_.front().put(files);
  const auto rows = [&](const std::string& list) {
    Lines out = GraphCheck(files, list).check();
    for (std::string& line : out) line.erase(0, line.find(' '));
    return out;
  };
  const Lines expected = rows(cat(formats_.front().list("shuffle: false, epochs: 1"),
                                  "- normalize: {fields: image, mean: 0.5, std: 2}\n- ", one_batch));
  ASSERT_EQ(expected.size(), static_cast<size_t>(kFormatRows));
  for (const std::string to : {"csv", "npz", "tfrecord"}) {
    const bool readable = to != "tfrecord" || std::ranges::any_of(formats_, [](const Format& format) {
                            return format.name == "tfrecord";  // a build may lack it
                          });
    const auto [bytes, reading] = converted(formats_.front(), to);
    files.files[cat("rows.", to)] = bytes;
    json list = reading;
    list.push_back({{"batch", {{"batch_size", kFormatRows}}}});
    if (readable) {
      EXPECT_EQ(rows(list.dump()), expected) << to;
    }
    for (const Format& format : formats_) {
      const auto [same_bytes, same_reading] = converted(format, to);
      EXPECT_TRUE(same_bytes == bytes) << format.name << ' ' << to;
      EXPECT_EQ(same_reading, reading) << format.name << ' ' << to;
    }
  }
}

TEST_F(FormatsCommandTest, InitFindsTheSameInCompressedText) {
  std::string expected;
  for (const Format& format : formats_) {
    if (!format.is_text()) continue;
    std::vector<std::string> words = {"init", "--label", "label", "--out", "made.yaml", "--force"};
    for (const std::string& file : format.data_files(true)) words.push_back(file);
    run(words);
    std::string made = TempFolder::read(folder_.path("made.yaml"));
    for (const std::string& name : {format.name + "/", std::string(".gz"), std::string(".zst")}) {
      for (size_t at; (at = made.find(name)) != made.npos;) made.erase(at, name.size());
    }
    if (expected.empty()) expected = made;
    EXPECT_NE(made.find("a.csv"), made.npos) << made;
    EXPECT_EQ(made, expected) << format.name;
  }
}

}  // namespace
}  // namespace millrace::cli

// `trainer evaluate`, and a training with a validation, from outside.
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::Command;
using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::millrace::testing::trainer_words;

const std::string kValidation =
    "validation:\n  input:\n    - filename_queue: {files: test.csv}\n    - csv_reader\n"
    "    - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n    - batch: {batch_size: 7}\n"
    "  every: 5\n";

class EvaluateCommandTest : public ::testing::Test {
 protected:
  EvaluateCommandTest() {
    millrace::testing::write_small_data(folder_);
    folder_.write("test.csv", "1,2,0\n-3,4,1\n5,-6,1\n7,8,0\n0,1,1\n2,2,0\n3,1,0\n-4,0,1\n9,9,0\n1,1,1\n");
    folder_.write("validated.yaml", millrace::testing::small_config() + kValidation);
  }

  CommandResult run(std::vector<std::string> arguments) {
    return run_trainer(std::move(arguments), {.folder = folder_.path()});
  }
  static std::vector<nlohmann::json> events(const CommandResult& result, const std::string& kind) {
    std::vector<nlohmann::json> out;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
      const auto event = nlohmann::json::parse(line);
      if (event["event"] == kind) out.push_back(event);
    }
    return out;
  }

  TempFolder folder_;
};

TEST_F(EvaluateCommandTest, SaysTheSameAsTheTraining) {
  const CommandResult trained = run({"validated.yaml", "--json", "--save", "m.safetensors"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const std::vector<nlohmann::json> validations = events(trained, "validation");
  ASSERT_EQ(validations.size(), 3u) << "steps 5, 10 and 12";
  EXPECT_EQ(validations[2]["step"], 12);
  EXPECT_EQ(validations[2]["epoch"], 2);
  EXPECT_EQ(validations[2]["rows"], 10);
  EXPECT_TRUE(validations[0]["best"].get<bool>());
  EXPECT_TRUE(validations[0]["seconds"].is_number());
  EXPECT_FALSE(events(trained, "done")[0].contains("best"));
  const CommandResult evaluated = run({"evaluate", "--model", "m.safetensors", "--data", "test.csv", "--json"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const nlohmann::json event = nlohmann::json::parse(evaluated.out);
  EXPECT_EQ(event["v"], 1);
  EXPECT_EQ(event["event"], "evaluation");
  EXPECT_EQ(event["rows"], 10);
  EXPECT_EQ(event["loss"], validations[2]["loss"]);
  EXPECT_EQ(event["metrics"], validations[2]["metrics"]);
  const CommandResult text = run({"evaluate", "--model", "m.safetensors", "--data", "test.csv"});
  EXPECT_TRUE(text.out.starts_with("10 rows of 1 file in ")) << text.out;
  EXPECT_NE(text.out.find("\nloss "), std::string::npos) << text.out;
  EXPECT_EQ(text.err, "");
  EXPECT_NE(run({"evaluate", "--help"}).out.find("and mse in its square"), std::string::npos);
}

TEST_F(EvaluateCommandTest, TheLogOfATrainingHasItsValidations) {
  const CommandResult result = run(
      {"validated.yaml", "--set", "validation.keep_best={metric: loss, mode: max}", "--set", "validation.patience=2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("\nstep 5  validation loss "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("  10 rows  best\n"), std::string::npos) << result.err;
  EXPECT_NE(result.out.find("\nbest: step "), std::string::npos) << result.out;
  const CommandResult quiet = run({"validated.yaml", "--quiet"});
  EXPECT_EQ(quiet.err, "");
  const CommandResult events_of = run({"validated.yaml", "--json", "--set", "validation.keep_best={metric: accuracy}"});
  const nlohmann::json done = events(events_of, "done")[0];
  EXPECT_EQ(done["best"]["metric"], "accuracy");
  EXPECT_TRUE(done["best"]["value"].is_number());
  EXPECT_TRUE(done["best"]["step"].is_number());
}

// Rows of class 1 weigh three times as much as the others.
TEST_F(EvaluateCommandTest, SaysThatRowsAreWeightedAndHowTheyAreNot) {
  folder_.write("w.csv", "1,0,1\n2,0,1\n3,1,3\n4,1,3\n");
  folder_.write("w.yaml",
                "device: cpu\ninput:\n  - filename_queue: {files: w.csv, epochs: 1}\n  - csv_reader\n"
                "  - decode_csv: {fields: {features: {columns: 0}, label: {columns: 1}, w: {columns: 2}}}\n"
                "  - batch: {batch_size: 4}\nmodel: [{dense: {units: 1}}]\n"
                "loss: {sigmoid_cross_entropy: {weight: w}}\nmetrics: [accuracy]\n"
                "optimizer: {sgd: {learning_rate: 1.0e-30}}\nload: yes.safetensors\nvalidation: {files: w.csv}\n");
  // A model that always says yes.
  folder_.write("yes.csv", "1,1,1\n2,1,1\n3,1,1\n4,1,1\n");
  ASSERT_EQ(run({"w.yaml", "--quiet", "--save", "yes.safetensors", "--set", "load=null", "--set",
                 "optimizer.sgd.learning_rate=1", "--set", "input.filename_queue={files: yes.csv, epochs: 50}"})
                .exit_code,
            0);
  const CommandResult trained = run({"w.yaml", "--save", "m.safetensors"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.err.find("  accuracy 0.75  4 rows weighted by w  best\n"), std::string::npos) << trained.err;
  const CommandResult started = run({"w.yaml", "--json"});
  EXPECT_EQ(events(started, "start")[0]["weight"], "w");

  const std::vector<std::string> words = {"evaluate", "--model", "m.safetensors", "--data", "w.csv"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run(std::move(more));
  };
  const CommandResult weighted = with({});
  EXPECT_TRUE(
      weighted.out.ends_with("  accuracy 0.75\nrows are weighted by w; --set "
                             "loss.sigmoid_cross_entropy.weight=null counts all alike\n"))
      << weighted.out;
  EXPECT_EQ(nlohmann::json::parse(with({"--json"}).out)["weight"], "w");
  const CommandResult alike = with({"--set", "loss.sigmoid_cross_entropy.weight=null"});
  EXPECT_EQ(alike.exit_code, 0) << alike.err;
  EXPECT_NE(alike.out.find("  accuracy 0.5\n"), std::string::npos) << alike.out;
  EXPECT_EQ(alike.out.find("weighted"), std::string::npos) << alike.out;
  EXPECT_FALSE(nlohmann::json::parse(with({"--set", "loss.sigmoid_cross_entropy.weight=null", "--json"}).out)
                   .contains("weight"));
  EXPECT_EQ(alike.err, "");
  folder_.write("w.csv", "1,0,0\n2,0,0\n3,1,0\n4,1,0\n");
  const CommandResult none = with({});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_EQ(none.err, "warning: no row counts: w is 0 in all of them\n");
  EXPECT_NE(none.out.find("\nloss nan  accuracy nan\n"), std::string::npos) << none.out;
  EXPECT_EQ(with({"--quiet"}).err, "");
  EXPECT_EQ(with({"--set", "loss.sigmoid_cross_entropy.weight=null"}).err, "");
  folder_.write("w.csv", "1,0,0\n2,0,0\n3,1,0\n4,1,0\n1,0,0.5\n");
  EXPECT_EQ(with({}).err, "") << "a row of the second batch";
}

TEST_F(EvaluateCommandTest, SaysWherePlugInsKindsComeFrom) {
  ASSERT_EQ(run({"small.yaml", "--quiet", "--save", "m.safetensors"}).exit_code, 0);
  const CommandResult result =
      run({"evaluate", "--model", "m.safetensors", "--data", "test.csv", "--set", "loss=focal"});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_NE(result.err.find("unknown loss \"focal\"\nhint: known: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("; plug-ins (--plugin FILE) and programs add others\n"), std::string::npos) << result.err;
}

TEST_F(EvaluateCommandTest, CheckLooksAtTheValidationToo) {
  const CommandResult good = run({"check", "validated.yaml"});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  const CommandResult without = run({"check", "small.yaml", "--json"});
  const CommandResult with = run({"check", "validated.yaml", "--json"});
  EXPECT_GT(nlohmann::json::parse(with.out)["memory_bound"], nlohmann::json::parse(without.out)["memory_bound"]);
  const std::vector<std::string> header = {"check", "validated.yaml",
                                           "--set", "validation.input.csv_reader.header=true",
                                           "--set", "validation.input.filename_queue.files=[h.csv, test.csv]"};
  folder_.write("h.csv", "a,b,c\n1,2,1\n");
  EXPECT_TRUE(run(header).err.starts_with("error: test.csv:1:1: the header differs")) << run(header).err;
  EXPECT_EQ(run(header).exit_code, 65);
  const CommandResult missing =
      run({"check", "validated.yaml", "--set", "validation.input.filename_queue.files=no.csv"});
  EXPECT_EQ(missing.exit_code, 66);
}

TEST_F(EvaluateCommandTest, ExitCodesSayWhatWasWrong) {
  ASSERT_EQ(run({"small.yaml", "--quiet", "--save", "m.safetensors"}).exit_code, 0);
  const auto fails = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "evaluate");
    const CommandResult result = run(std::move(words));
    EXPECT_EQ(result.out, "");
    return "exit " + std::to_string(result.exit_code) + "\n" + result.err;
  };
  EXPECT_EQ(fails({"--model", "no.safetensors", "--data", "test.csv"}),
            "exit 66\nerror: no.safetensors: cannot read the model: No such file or directory\n");
  EXPECT_TRUE(fails({"--model", "m.safetensors", "--data", "no.csv"})
                  .starts_with("exit 66\nerror: --data: no file matches \"no.csv\"\n"));
  EXPECT_TRUE(
      fails({"--model", "test.csv", "--data", "test.csv"}).starts_with("exit 65\nerror: test.csv: not a model fil"));
  EXPECT_EQ(fails({"--model", "m.safetensors", "--data", "test.csv", "--set", "device=gpu"}),
            "exit 78\nerror: --set device=gpu: device: expected auto, cpu or cuda:0, got \"gpu\"\n");
  EXPECT_EQ(
      fails({"--data", "test.csv"}),
      "exit 2\nerror: no model is given\nhint: trainer evaluate --model FILE --data GLOB (trainer evaluate --help "
      "shows the usage)\n");
  EXPECT_EQ(
      fails({"--model", "m.safetensors"}),
      "exit 2\nerror: no data are given\nhint: trainer evaluate --model FILE --data GLOB (trainer evaluate --help "
      "shows the usage)\n");
  folder_.write("bad.csv", "1,2,0\n1,x,0\n");
  EXPECT_TRUE(fails({"--model", "m.safetensors", "--data", "test.csv", "--data", "bad.csv"})
                  .starts_with("exit 65\nerror: bad.csv:2:3: column 1 (featur"));
}

TEST_F(EvaluateCommandTest, SettingsThatAreNotHeededAreAnError) {
  ASSERT_EQ(run({"small.yaml", "--quiet", "--save", "m.safetensors"}).exit_code, 0);
  const auto evaluate = [&](const std::string& setting) {
    const CommandResult result =
        run({"evaluate", "--model", "m.safetensors", "--data", "test.csv", "--set", "threads=1", "--set", setting});
    return "exit " + std::to_string(result.exit_code) + "\n" + result.err;
  };
  const auto refused = [](const std::string& setting) {
    return "exit 78\nerror: --set " + setting +
           ": the setting changes nothing here\nhint: the data are read once, in order, and every row counts\n";
  };
  for (const char* setting : {"save=n", "save.optimizer=true", "train.steps=1", "input.filename_queue.epochs=3",
                              "input.filename_queue.files=x.csv", "input.decode_csv.on_bad_row=skip",
                              "input.batch.threads=3", "input.batch.allow_smaller_final_batch=false"}) {
    EXPECT_EQ(evaluate(setting), refused(setting));
  }
  for (const char* setting : {"metrics=[auc]", "input.batch.batch_size=3", "input.decode_csv.missing=[none]",
                              "precision=tf32", "device=auto", "input.filename_queue.epochs=2"}) {
    EXPECT_EQ(evaluate(setting), "exit 0\n") << "also if it is what the file says";
  }
}

TEST_F(EvaluateCommandTest, DataWithoutRowsAreAnError) {
  std::string config = millrace::testing::small_config();
  config.insert(config.find("  - batch:"), "  - hold_out: {share: 0.1}\n");
  folder_.write("held.yaml", config);
  ASSERT_EQ(run({"held.yaml", "--quiet", "--save", "m.safetensors"}).exit_code, 0);
  folder_.write("empty.csv", "");
  const auto evaluate = [&](const std::string& option) {
    return run({"evaluate", "--model", "m.safetensors", "--data", "empty.csv", option});
  };
  const std::string hint = "\nhint: check what the files hold and what is left out\n";
  EXPECT_EQ(evaluate("--quiet").err, "error: the data have no rows" + hint);
  EXPECT_EQ(evaluate("--held-out").err, "error: no row of the data was held out" + hint);
  const CommandResult result = evaluate("--json");
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_EQ(nlohmann::json::parse(result.out)["event"], "error") << result.out;
}

// A signal in the middle of a validation that would take hours.
TEST_F(EvaluateCommandTest, InterruptEndsAValidation) {
  std::string config = millrace::testing::endless_config();
  config +=
      "validation:\n  input: [{synthetic: {task: sum, features: 8, rows: 1000000000000}}, {batch: {batch_size: 16}}]\n"
      "  every: 1001\n";
  folder_.write("long.yaml", config);
  Command command(trainer_words({"long.yaml", "--json"}), {.folder = folder_.path()});
  ASSERT_TRUE(command.wait_for_out("\"step\":1000,"));
  command.send(SIGINT);
  const CommandResult result = command.finish();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_TRUE(events(result, "validation").empty());
  const nlohmann::json done = events(result, "done").at(0);
  EXPECT_EQ(done["reason"], "stopped");
  EXPECT_LE(done["steps"], 1001);
}

}  // namespace
}  // namespace millrace::cli

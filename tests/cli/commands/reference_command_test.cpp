// `trainer ops` and `trainer layers`, from outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;

TEST(ReferenceCommandTest, ListsEveryOp) {
  const CommandResult result = run_trainer({"ops"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* op : {"filename_queue\n", "csv_reader\n", "decode_csv\n", "shuffle_batch\n", "batch\n"}) {
    EXPECT_NE(("\n" + result.out).find(std::string("\n") + op), std::string::npos) << op;
  }
}

TEST(ReferenceCommandTest, OneOpWithItsOptions) {
  const CommandResult result = run_trainer({"ops", "shuffle_batch"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.out.starts_with("shuffle_batch\n  ")) << result.out;
  EXPECT_NE(result.out.find("\n  min_after_dequeue: integer; at least 0 and at most 1000000000000; required\n"),
            std::string::npos)
      << result.out;
  EXPECT_EQ(result.out.find("decode_csv\n"), std::string::npos) << result.out;
}

TEST(ReferenceCommandTest, LayersAreSortedBySort) {
  const CommandResult result = run_trainer({"layers"});
  EXPECT_EQ(result.exit_code, 0);
  const size_t layers = result.out.find("layers:\n\n"), losses = result.out.find("\nlosses:\n\n");
  const size_t metrics = result.out.find("\nmetrics:\n\n"), optimizers = result.out.find("\noptimizers:\n\n");
  EXPECT_LT(layers, losses);
  EXPECT_LT(losses, metrics);
  EXPECT_LT(metrics, optimizers);
  EXPECT_LT(optimizers, result.out.find("\nschedules:\n\n"));
  EXPECT_NE(result.out.find("\nschedules:\n\nconstant\n"), std::string::npos);
  EXPECT_EQ(run_trainer({"layers", "sgd"}).out.substr(0, 4), "sgd\n");
}

TEST(ReferenceCommandTest, KindsOfASort) {
  for (const char* name : {"metrics", "metric"}) {
    const CommandResult result = run_trainer({"layers", name});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(result.out.starts_with("metrics:\n\naccuracy\n")) << result.out;
    EXPECT_EQ(result.out.find("optimizers:"), std::string::npos) << result.out;
    EXPECT_EQ(result.out.find("\ndense\n"), std::string::npos) << result.out;
  }
  for (const auto& [one, all] : {std::pair("layer", "layers"), std::pair("loss", "losses"),
                                 std::pair("optimizer", "optimizers"), std::pair("schedule", "schedules")}) {
    const std::string group = run_trainer({"layers", all}).out;
    EXPECT_TRUE(group.starts_with(std::string(all) + ":\n\n")) << group;
    EXPECT_EQ(run_trainer({"layers", one}).out, group);
  }
  EXPECT_EQ(run_trainer({"layers", "metrcis"}).err,
            "error: unknown layer, loss, metric, optimizer or schedule \"metrcis\"\n"
            "hint: did you mean metrics? (trainer layers lists all)\n");
}

TEST(ReferenceCommandTest, KeysThatKindsHave) {
  const auto hint = [](const std::string& name) {
    const CommandResult result = run_trainer({"config", name});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_TRUE(result.err.starts_with("error: unknown key \"" + name + "\"\n")) << result.err;
    return result.err.substr(result.err.find('\n') + 1);
  };
  EXPECT_EQ(hint("optimizer.adam"), "hint: trainer layers adam says what adam takes\n");
  EXPECT_EQ(hint("optimizer.adam.learning_rate"), "hint: trainer layers adam says what adam takes\n");
  EXPECT_EQ(hint("input.shuffle_batch.batch_size"), "hint: trainer ops shuffle_batch says what shuffle_batch takes\n");
  EXPECT_EQ(hint("learning_rate"),
            "hint: learning_rate is an option of adagrad, adam, adamw, rmsprop and sgd: trainer layers\n");
  EXPECT_EQ(hint("nesterov"), "hint: nesterov is an option of sgd: trainer layers sgd\n");
  EXPECT_EQ(hint("batch_size"), "hint: batch_size is an option of batch and shuffle_batch: trainer ops\n");
  EXPECT_EQ(hint("steps"), "hint: did you mean train.steps?\n") << "though schedules have steps, too";
}

TEST(ReferenceCommandTest, UnknownNamesTheNearest) {
  const CommandResult op = run_trainer({"ops", "shufle_batch"});
  EXPECT_EQ(op.exit_code, 2);
  EXPECT_EQ(op.err,
            "error: unknown input op \"shufle_batch\"\nhint: did you mean shuffle_batch? (trainer ops lists all)\n");
  const CommandResult layer = run_trainer({"layers", "dens"});
  EXPECT_EQ(layer.exit_code, 2);
  EXPECT_EQ(layer.err,
            "error: unknown layer, loss, metric, optimizer or schedule \"dens\"\nhint: did you mean dense? (trainer "
            "layers lists all)\n");
}

TEST(ReferenceCommandTest, KeysOfAConfiguration) {
  const CommandResult all = run_trainer({"config"});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_TRUE(all.out.starts_with("seed: integer; at least 0; default 0\n")) << all.out;
  const CommandResult train = run_trainer({"config", "train"});
  EXPECT_TRUE(train.out.starts_with("train: {steps, ")) << train.out;
  EXPECT_NE(train.out.find("\ntrain.log_every: integer; at least 1; default 100\n"), std::string::npos) << train.out;
  EXPECT_EQ(train.out.find("seed"), std::string::npos) << train.out;
  EXPECT_TRUE(run_trainer({"config", "train.steps"}).out.starts_with("train.steps: integer; at least 0; absent"));

  const CommandResult typo = run_trainer({"config", "optimiser"});
  EXPECT_EQ(typo.exit_code, 2);
  EXPECT_EQ(typo.err, "error: unknown key \"optimiser\"\nhint: did you mean optimizer? (trainer config lists all)\n");
}

TEST(ReferenceCommandTest, MarkdownAndSchema) {
  EXPECT_TRUE(run_trainer({"config", "--markdown"}).out.starts_with("# The configuration\n"));
  const CommandResult schema = run_trainer({"schema"});
  EXPECT_EQ(schema.exit_code, 0);
  EXPECT_TRUE(schema.out.starts_with("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",")) << schema.out;
}

// As its first lines say.
TEST(ReferenceCommandTest, TheExampleTrainsAndPredicts) {
  const TempFolder folder;
  const auto run = [&](std::vector<std::string> words) {
    const std::string command = words.front();
    const CommandResult result = run_trainer(std::move(words), {.folder = folder.path()});
    EXPECT_EQ(result.exit_code, 0) << command << ": " << result.err;
    return result.out;
  };
  const std::string printed = run({"config", "--example"});
  folder.write("mlp.yaml", printed);
  run({"generate", "sum", "--features", "8", "--out", "data/sum"});
  EXPECT_EQ(run({"check", "mlp.yaml"}).find("warning"), std::string::npos);
  const std::string events = run({"mlp.yaml", "--save", "model.safetensors", "--json", "--quiet"});
  const nlohmann::json done = nlohmann::json::parse(events.substr(events.rfind('\n', events.size() - 2) + 1));
  EXPECT_GT(done["metrics"]["accuracy"], 0.9) << done;
  const std::string rows = run({"predict", "--model", "model.safetensors", "--data", "data/sum/*.csv"});
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 2001);
}

}  // namespace
}  // namespace millrace::cli

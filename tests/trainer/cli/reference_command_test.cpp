// `trainer ops` and `trainer layers`, from outside.
#include <gtest/gtest.h>

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
  EXPECT_NE(result.out.find("\n    min_after_dequeue "), std::string::npos) << result.out;
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

TEST(ReferenceCommandTest, UnknownNamesTheNearest) {
  const CommandResult op = run_trainer({"ops", "shufle_batch"});
  EXPECT_EQ(op.exit_code, 2);
  EXPECT_EQ(op.err, "error: unknown input op \"shufle_batch\"\nhint: did you mean shuffle_batch?\n");
  const CommandResult layer = run_trainer({"layers", "dens"});
  EXPECT_EQ(layer.exit_code, 2);
  EXPECT_EQ(layer.err,
            "error: unknown layer, loss, metric, optimizer or schedule \"dens\"\nhint: did you mean dense?\n");
}

}  // namespace
}  // namespace millrace::cli

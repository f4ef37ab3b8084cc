#include <gtest/gtest.h>

#include "millrace/core/options.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/input/workers.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/remote/remote_testing.h"

namespace millrace {
namespace {

TEST(LocalWorkers, DecodeForATraining) {
  SKIP_WITHOUT_ZMQ();
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 500; ++i) text += cat(i % 7, ',', i % 2, '\n');
  Spec config = parse_yaml(cat("input: [filename_queue: {files: ", folder.write("a.csv", text),
                               ", epochs: 2}, csv_reader: {chunk_bytes: 100}, decode_csv: {fields: {features: "
                               "{columns: 0}, label: {columns: 1}}}, batch: {batch_size: 10}]\n"
                               "model: [dense: {units: 1}]\nloss: sigmoid_cross_entropy\n"
                               "optimizer: {sgd: {learning_rate: 0.1}}\n"),
                           "f.yaml");
  const Catalog catalog = Catalog::builtin();
  const auto weights = [&] { return Trainer::from_spec(config, catalog).run().weights; };
  const std::string expected = weights();
  const auto workers = start_local_workers(2, catalog);
  EXPECT_EQ(workers->options().connect.size(), 2u);
  config.set("workers", write_options(workers->options()));
  EXPECT_EQ(weights(), expected);
}

}  // namespace
}  // namespace millrace

#include "millrace/trainer/trainer.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <thread>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/files/model_file.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/predict/network.h"
#include "tests/layers/lookup_layer.h"
#include "tests/support/cuda.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/fake_kinds.h"

namespace millrace {
namespace {

constexpr std::string_view kConfig =
    "seed: 11\ndevice: cpu\nthreads: 2\ninput:\n  - synthetic: {task: sum, features: 20, rows: 500}\n"
    "  - batch: {batch_size: 16, allow_smaller_final_batch: true}\nmodel:\n  - dense: {units: 30, activation: relu}\n"
    "  - dense: {units: 1}\nloss: sigmoid_cross_entropy\nmetrics: [accuracy]\n"
    "optimizer: {sgd: {learning_rate: 0.1}}\n";

Trainer make(std::string_view more = {}) {
  return Trainer::from_spec(parse_yaml(std::string(kConfig) + std::string(more), "t.yaml"));
}

TEST(Trainer, SavesWhatItTrained) {
  const TempFolder folder;
  Trainer trainer = make();
  trainer.run();
  trainer.save(folder.path("m.safetensors"));
  const ModelFile file = ModelFile::read(folder.path("m.safetensors"));
  ASSERT_EQ(file.entries().size(), 4u);
  EXPECT_EQ(file.entries()[2].name, "dense_2.weight");
  // The configuration inside trains the same model.
  Trainer again = Trainer::from_spec(parse_yaml(file.metadata().at("config"), "saved"));
  EXPECT_EQ(again.run().weights, make().run().weights);
}

TEST(Trainer, ReadsAFileWithOverrides) {
  const TempFolder folder;
  const std::string path = folder.write("c.yaml", kConfig);
  const std::vector<std::string> overrides = {"train.steps=3", "input.batch.batch_size=5"};
  const TrainResult result = Trainer::from_file(path, overrides).run();
  EXPECT_EQ(result.steps, 3);
  EXPECT_EQ(result.rows, 15u);
}

TEST(Trainer, ReadsAFileWithKindsOfTheProgram) {
  const TempFolder folder;
  std::string config(kConfig);
  config.insert(config.find("  - dense: {units: 1}"), "  - my_relu\n");
  const std::string path = folder.write("c.yaml", config);
  Catalog catalog = Catalog::builtin();
  catalog.layers.layers.add<FakeRelu>("my_relu");
  EXPECT_EQ(Trainer::from_file(path, {}, catalog).model().nodes().size(), 3u);
  EXPECT_THROW(Trainer::from_file(path), ConfigError);
  EXPECT_EQ(Trainer::from_file(path, {"seed=7"}, catalog).config().seed, 7u);
}

TEST(Trainer, NamesBothSidesWhenTheLossDoesNotFit) {
  std::string config(kConfig);
  config.replace(config.find("dense: {units: 1}"), 17, "dense: {units: 2}");
  try {
    Trainer::from_spec(parse_yaml(config, "t.yaml"));
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.place().file, "t.yaml");
    EXPECT_EQ(error.place().line, 10);
    EXPECT_NE(error.message().find("(2)"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("(1)"), std::string::npos) << error.message();
  }
}

// A layer that reads ids asks for whole numbers, whatever the type in which the input decodes them.
TEST(Trainer, ConvertsFieldsToWhatTheirLayersRead) {
  const TempFolder folder;
  std::string rows;
  for (int i = 0; i < 40; ++i) rows += cat(i % 4, ',', i % 3, ',', i % 4 == 2 ? "1\n" : "0\n");
  folder.write("ids.csv", rows);
  Catalog catalog = Catalog::builtin();
  catalog.layers.layers.add<testing::LookupLayer>("lookup");
  const auto train = [&](std::string_view type) {
    return Trainer::from_spec(parse_yaml(cat("seed: 2\ndevice: cpu\nthreads: 2\ninput:\n  - filename_queue: {files: \"",
                                             folder.path("ids.csv"), "\", epochs: 5}\n  - csv_reader\n",
                                             "  - decode_csv: {fields: {ids: {columns: 0-1, type: ", type,
                                             "}, label: {columns: 2}}}\n  - batch: {batch_size: 8}\nmodel:\n",
                                             "  - lookup: {from: ids, rows: 4, width: 3}\n  - dense: {units: 1}\n",
                                             "loss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.5}}\n"),
                                         "t.yaml"),
                              catalog)
        .run();
  };
  const TrainResult result = train("int64");
  EXPECT_EQ(result.steps, 25);
  EXPECT_LT(result.loss, 0.4);
  EXPECT_EQ(train("float32").weights, result.weights);
  EXPECT_EQ(train("int32").weights, result.weights);
}

// Whatever reads rows refuses an id that the layer does not know before it comes there, at its row.
struct IdTraining {
  IdTraining() {
    folder_.write("good.csv", "0,1\n3,0\n1,1\n2,0\n");
    folder_.write("bad.csv", "0,1\n3,0\n4,1\n2,0\n");
    catalog_.layers.layers.add<testing::LookupLayer>("lookup");
  }
  Trainer make(const std::string& file, std::string_view type, std::string_view more = {}) {
    return Trainer::from_spec(
        parse_yaml(cat("threads: 2\ninput:\n  - filename_queue: {files: ", quote(folder_.path(file), 4096),
                       ", epochs: 1}\n  - csv_reader\n", "  - decode_csv: {fields: {ids: {columns: 0, type: ", type,
                       "}, label: {columns: 1}}}\n  - batch: {batch_size: 4}\nmodel:\n",
                       "  - lookup: {from: ids, rows: 4, width: 3}\n  - dense: {units: 1}\n",
                       "loss: mse\noptimizer: {sgd: {learning_rate: 0.1}}\n", more),
                   "t.yaml"),
        catalog_);
  }
  std::string refusal() const {
    return folder_.path("bad.csv") +
           ":3: the field ids holds 4, expected at least 0 and at most 3; "
           "ids are counted from 0, and the table needs a row for each";
  }

  TempFolder folder_;
  Catalog catalog_ = Catalog::builtin();
};
class TrainerIds : public ::testing::Test, protected IdTraining {};

TEST_F(TrainerIds, AreRefusedByATraining) {
  for (const char* type : {"int32", "int64", "float32"}) {
    Trainer trainer = make("bad.csv", type, "device: cpu\n");
    EXPECT_EQ(error_of<DataError>([&] { trainer.run(); }), refusal()) << type;
    EXPECT_EQ(trainer.steps(), 0);
  }
}

TEST_F(TrainerIds, AreRefusedByAValidation) {
  Trainer trainer =
      make("good.csv", "int32", cat("device: cpu\nvalidation: {files: ", quote(folder_.path("bad.csv"), 4096), "}\n"));
  EXPECT_EQ(error_of<DataError>([&] { trainer.run(); }), refusal());
  EXPECT_EQ(trainer.steps(), 1);
}

TEST_F(TrainerIds, AreRefusedByAPrediction) {
  Trainer trainer = make("good.csv", "int32", "device: cpu\n");
  trainer.run();
  trainer.save(folder_.path("m.safetensors"));
  Predictor predictor({.model = folder_.path("m.safetensors"), .data = {folder_.path("bad.csv")}}, catalog_);
  EXPECT_EQ(error_of<DataError>([&] { predictor.next(); }), refusal());
  const Network network = trainer.network();
  RowBlock rows = network.make_rows(3);
  for (int64_t row = 0; row < 3; ++row) rows.row<int32_t>(0, row)[0] = row == 1 ? -1 : 0;
  std::vector<float> outputs(3);
  const std::string error = error_of<DataError>([&] { network.predict(rows, outputs); });
  EXPECT_EQ(error.rfind("row 1: the field ids holds -1, expected at least 0 and at most 3", 0), 0U) << error;
}

class CudaTrainerIds : public test::CudaTest, protected IdTraining {};

// The layer itself is for the CPU alone.
TEST_F(CudaTrainerIds, AreRefusedBeforeTheyComeToTheDevice) {
  for (const char* type : {"int32", "float32"}) {
    Trainer trainer = make("bad.csv", type, cat("device: ", context().device().text(), '\n'));
    EXPECT_EQ(error_of<DataError>([&] { trainer.run(); }), refusal()) << type;
  }
}

// An input that reads ahead has long begun another pass.
TEST(Trainer, CountsTheEpochsOfTheRowsThatItTrainedOn) {
  const TempFolder folder;
  std::string rows;
  for (int i = 0; i < 40; ++i) rows += cat(i, ',', i % 2, '\n');
  folder.write("rows.csv", rows);
  const auto epochs = [&](std::string_view batch, int steps) {
    const TrainResult result =
        Trainer::from_spec(parse_yaml(cat("device: cpu\nthreads: 2\ninput:\n  - filename_queue: {files: \"",
                                          folder.path("rows.csv"), "\", epochs: 9}\n  - csv_reader: {chunk_bytes: 16}",
                                          "\n  - decode_csv: {fields: {features: {columns: 0}, label: {columns: 1}}}\n",
                                          "  - ", batch, "\nmodel:\n  - dense: {units: 1}\nloss: mse\n",
                                          "optimizer: {sgd: {learning_rate: 1e-6}}\ntrain: {steps: ", steps, "}\n"),
                                      "t.yaml"))
            .run();
    EXPECT_EQ(result.rows, 4u * static_cast<uint64_t>(steps));
    return result.epochs;
  };
  const std::string in_order = "batch: {batch_size: 4, capacity: 100}";
  EXPECT_EQ(epochs(in_order, 10), 1u);
  EXPECT_EQ(epochs(in_order, 11), 2u);
  EXPECT_EQ(epochs("shuffle_batch: {batch_size: 4, min_after_dequeue: 40, capacity: 100}", 10), 2u);
}

TEST(Trainer, WarnsOfFieldsThatNothingReads) {
  const TempFolder folder;
  folder.write("rows.csv", "1,2,0,0.5\n3,4,1,2\n");
  const auto warnings = [&](std::string_view loss) {
    return Trainer::from_spec(
               parse_yaml(cat("device: cpu\nthreads: 1\ninput:\n  - filename_queue: {files: \"",
                              folder.path("rows.csv"), "\", epochs: 1}\n  - csv_reader\n",
                              "  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}",
                              ", w: {columns: 3}}}\n  - batch: {batch_size: 2}\nmodel:\n",
                              "  - dense: {units: 1}\nloss: ", loss, "\noptimizer: {sgd: {learning_rate: 0.5}}\n"),
                          "t.yaml"))
        .warnings();
  };
  EXPECT_EQ(warnings("mse"), std::vector<std::string>{"input: nothing reads the field w: leave out what is not needed, "
                                                      "or name it where it is to be read (from, weight)"});
  EXPECT_TRUE(warnings("{mse: {weight: w}}").empty());
}

TEST(Trainer, BoundsItsMemory) {
  Trainer trainer = make();
  const uint64_t bound = trainer.memory_bound();
  EXPECT_GT(bound, 20u * 30u * 4u);
  EXPECT_LT(bound, 64u << 20);
  // The last batch has 4 rows of 16.
  EXPECT_EQ(trainer.run().last_batch, 4);
  EXPECT_EQ(trainer.memory_bound(), bound);
}

// Bytes that malloc has given out and not got back.
uint64_t allocated() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(Trainer, HoldsNoMoreThanItsBoundWhereBatchesAreMostOfIt) {
  if (allocated() == 0) GTEST_SKIP() << "the malloc of a sanitizer does not tell";
  // What is there whatever the configuration: threads, libraries, names.
  constexpr uint64_t kFixed = 4u << 20;
  constexpr int64_t kBatch = 100000;
  for (const std::string delivery : {"native", "feed"}) {
    const uint64_t before = allocated();
    Trainer trainer = Trainer::from_spec(parse_yaml(
        cat("device: cpu\nthreads: 2\ninput:\n  - synthetic: {task: sum, features: 40}\n  - batch: {capacity: 1, "
            "batch_size: ",
            kBatch, "}\nmodel:\n  - dense: {units: 1}\nloss: sigmoid_cross_entropy\n",
            "optimizer: {sgd: {learning_rate: 0.1}}\ntrain: {steps: 2, log_every: 1}\ndelivery: ", delivery, '\n'),
        "t.yaml"));
    const uint64_t bound = trainer.memory_bound();
    uint64_t held = 0;
    TrainCallbacks callbacks;
    callbacks.on_step = [&](const StepReport&) { held = std::max(held, allocated() - before); };
    trainer.run(callbacks);
    EXPECT_LE(held, bound + kFixed) << delivery;
    const uint64_t slot = kBatch * (trainer.input().output().rows.row_bytes() + sizeof(RowId));
    EXPECT_GT(held, slot) << "the test measures nothing";
    EXPECT_GT(slot, 2 * kFixed);
  }
}

TEST(Trainer, MovesAndServesSeveralAtOnce) {
  std::vector<Trainer> trainers;
  for (int i = 0; i < 3; ++i) trainers.push_back(make());
  std::vector<std::string> hashes(3);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 3; ++i) threads.emplace_back([&, i] { hashes[i] = trainers[i].run().weights; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
}

}  // namespace
}  // namespace millrace

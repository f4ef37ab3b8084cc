// Whole trainings on a GPU: as PyTorch's numbers say, with the same weights however batches come, and with the CPU's
// errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/cuda.h"
#include "tests/support/paths.h"
#include "tests/support/temp_folder.h"

#if defined(MILLRACE_CUDA_EMULATED)
#include "tests/emulated_gpu/emulated_gpu.h"
#endif

namespace millrace {
namespace {

struct Training {
  std::vector<double> losses;
  std::vector<std::vector<double>> metrics;
  TrainResult result;
  std::string error;
};

class CudaTraining : public test::CudaTest {
 protected:
  // A training of tests/golden/trainings on the device, unless the overrides say otherwise.
  Training train(const std::string& name, std::vector<std::string> overrides = {}) {
    Training run = attempt(name, std::move(overrides));
    EXPECT_EQ(run.error, "") << name;
    return run;
  }

  // The same, which may end with an error.
  Training attempt(const std::string& name, std::vector<std::string> overrides) {
    const bool images = name == "lenet" || name == "mobile" || name == "residual_cnn";
    std::vector<std::string> all = {
        cat("input.filename_queue.files=", quote(golden(images ? "images.csv" : "rows.csv"), 4096)),
        "train.log_every=1", cat("device=", context().device().text())};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return train_on(Trainer::from_file(golden(name + ".yaml"), all));
  }

  static Training train_on(Trainer trainer) {
    Training run;
    TrainCallbacks callbacks;
    callbacks.on_step = [&](const StepReport& report) {
      run.losses.push_back(report.loss);
      run.metrics.emplace_back();
      for (const auto& metric : report.metrics) run.metrics.back().push_back(metric.second);
    };
    try {
      run.result = trainer.run(callbacks);
    } catch (const Error& error) {
      run.error = error.what();
    }
    return run;
  }

  // The trainings of images take long on an emulated GPU; one test there has them all.
  static std::vector<std::string> also_of_images(std::vector<std::string> names, std::vector<std::string> images) {
    if (!test::kEmulated) names.insert(names.end(), images.begin(), images.end());
    return names;
  }

  static std::string golden(const std::string& file) { return test::source_dir() + "/tests/golden/trainings/" + file; }

  static void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance,
                          const std::string& what) {
    ASSERT_EQ(actual.size(), expected.size()) << what;
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_NEAR(actual[i], expected[i], tolerance * std::max(std::abs(expected[i]), 5e-2)) << what << ", step " << i;
    }
  }
};

TEST_F(CudaTraining, GoesAsInPyTorch) {
  for (const char* name : {"accumulated", "adamw_cosine", "classifier", "one_cycle", "residual", "weighted", "lenet",
                           "mobile", "residual_cnn"}) {
    std::ifstream file(golden(cat(name, ".json")));
    const nlohmann::json expected = nlohmann::json::parse(file);
    expect_near(train(name).losses, expected["losses"].get<std::vector<double>>(), 1e-4, name);
  }
}

TEST_F(CudaTraining, DropsAsOnTheCpu) {
  expect_near(train("dropout").losses, train("dropout", {"device=cpu"}).losses, 1e-5, "dropout");
}

// However a batch comes to the device, and however many are on their way.
TEST_F(CudaTraining, EndsWithTheSameWeightsForEveryDelivery) {
  for (const std::string& name : also_of_images({"weighted", "accumulated"}, {"residual_cnn"})) {
    const Training first = train(name);
    EXPECT_EQ(first.result.weights, train(name).result.weights) << name << " again";
    for (const char* delivery : {"queue", "staging", "feed", "{kind: staging, capacity: 1}"}) {
      for (const char* threads : {"1", "3"}) {
        const Training other = train(name, {cat("delivery=", delivery), cat("threads=", threads)});
        EXPECT_EQ(other.result.weights, first.result.weights) << name << ' ' << delivery << ' ' << threads;
        EXPECT_EQ(other.losses, first.losses) << name << ' ' << delivery << ' ' << threads;
      }
    }
  }
}

// Each place on the device takes the batch once.
TEST_F(CudaTraining, OnOneBatchGoesAsOnTheCpu) {
  for (const char* name : {"weighted", "classifier"}) {
    const std::vector<std::string> overrides = {"delivery=constant", "train.steps=30"};
    std::vector<std::string> on_cpu = overrides;
    on_cpu.emplace_back("device=cpu");
    const Training gpu = train(name, overrides), cpu = train(name, on_cpu);
    EXPECT_EQ(gpu.losses.size(), 30U);
    expect_near(gpu.losses, cpu.losses, 1e-4, name);
  }
}

// Nobody looks at a step, so that several are under way; the last batch is smaller.
TEST_F(CudaTraining, EndsWithTheSameWeightsWithBatchesUnderWay) {
  for (const std::string& name : also_of_images({"weighted", "accumulated"}, {"residual_cnn"})) {
    const std::vector<std::string> uneven = {"input.batch.batch_size=7", "input.batch.allow_smaller_final_batch=true"};
    const Training looked_at = train(name, uneven);
    EXPECT_LT(looked_at.result.last_batch, 7) << name;
    for (const char* delivery : {"native", "staging", "queue", "feed"}) {
      std::vector<std::string> quiet = uneven;
      quiet.insert(quiet.end(), {cat("delivery=", delivery), "train.log_every=1000000"});
      const Training run = train(name, quiet);
      EXPECT_EQ(run.result.weights, looked_at.result.weights) << name << ' ' << delivery;
      EXPECT_EQ(run.result.loss, looked_at.result.loss) << name << ' ' << delivery;
    }
  }
}

// A label that makes no sense is found when its batch is loaded, while others are under way.
TEST_F(CudaTraining, ABadLabelComesAtItsStep) {
  for (const char* delivery : {"native", "staging", "feed"}) {
    const Training gpu =
        attempt("classifier", {"model.dense_2.units=3", cat("delivery=", delivery), "train.log_every=1000000"});
    const Training cpu = attempt("classifier", {"model.dense_2.units=3", "device=cpu", "train.log_every=1000000"});
    EXPECT_THAT(cpu.error, ::testing::HasSubstr("the field label holds 3, expected at least 0 and at most 2"));
    EXPECT_EQ(gpu.error, cpu.error) << delivery;
  }
}

TEST_F(CudaTraining, ReportsOverWindowsAsTheCpu) {
  for (const char* every : {"1", "3", "1000"}) {
    const std::vector<std::string> overrides = {"metrics=[mae, rmse]", "train.report_over=window",
                                                "input.batch.batch_size=7", cat("train.log_every=", every)};
    std::vector<std::string> on_cpu = overrides;
    on_cpu.emplace_back("device=cpu");
    const Training gpu = train("residual", overrides), cpu = train("residual", on_cpu);
    expect_near(gpu.losses, cpu.losses, 1e-4, every);
    ASSERT_EQ(gpu.metrics.size(), cpu.metrics.size());
    for (size_t i = 0; i < gpu.metrics.size(); ++i) expect_near(gpu.metrics[i], cpu.metrics[i], 1e-4, every);
    expect_near({gpu.result.loss}, {cpu.result.loss}, 1e-4, every);
    for (size_t i = 0; i < gpu.result.metrics.size(); ++i) {
      expect_near({gpu.result.metrics[i].second}, {cpu.result.metrics[i].second}, 1e-4, every);
    }
  }
}

TEST_F(CudaTraining, LooksAtEveryStepWhereItMust) {
  for (const char* rule : {"fail", "skip"}) {
    const std::vector<std::string> overrides = {cat("train.on_nonfinite=", rule)};
    std::vector<std::string> on_cpu = overrides;
    on_cpu.emplace_back("device=cpu");
    for (const std::string& name : also_of_images({"accumulated", "weighted"}, {"lenet"})) {
      expect_near(train(name, overrides).losses, train(name, on_cpu).losses, 1e-4, cat(name, ' ', rule));
    }
  }
}

// Bytes are copied while other batches are trained on, and become numbers on the device.
TEST_F(CudaTraining, OfBytesEndsWithTheWeightsOfTheirNumbers) {
  const TempFolder folder;
  std::string text;
  for (int row = 0; row < 100; ++row) {
    for (int i = 0; i < 70; ++i) text += cat((row * 31 + i * 57) % 256, ',');
    text += cat(row % 3, '\n');
  }
  const std::string data = folder.write("bytes.csv", text);
  const auto run = [&](const char* features, const char* label, const char* delivery, const char* every) {
    return train_on(Trainer::from_spec(parse_yaml(
        cat("seed: 3\ndevice: ", context().device().text(), "\ndelivery: ", delivery,
            "\ninput:\n  - filename_queue: {files: ", quote(data, 4096), ", epochs: 3}\n  - csv_reader\n",
            "  - decode_csv: {fields: {features: {columns: 0-69, type: ", features, "}, label: {columns: 70, type: ",
            label, "}}}\n  - batch: {batch_size: 7, allow_smaller_final_batch: true}\n",
            "model:\n  - dense: {units: 8, activation: relu}\n  - dense: {units: 3}\nloss: softmax_cross_entropy\n",
            "optimizer: {adam: {learning_rate: 0.001}}\ntrain: {steps: 43, log_every: ", every, "}\n"),
        "bytes.yaml")));
  };
  for (const char* delivery : {"native", "staging", "queue", "feed", "constant"}) {
    for (const char* every : {"1", "1000000"}) {
      const Training numbers = run("float32", "int32", delivery, every), bytes = run("uint8", "uint8", delivery, every);
      EXPECT_EQ(bytes.error, "");
      EXPECT_EQ(bytes.result.steps, 43);
      EXPECT_EQ(bytes.result.weights, numbers.result.weights) << delivery << ' ' << every;
      EXPECT_EQ(bytes.losses, numbers.losses) << delivery << ' ' << every;
    }
  }
}

// A rectifier, a layer with one output and a loss, wherever the gradients go.
TEST_F(CudaTraining, OfANarrowHeadGoesAsOnTheCpu) {
  const std::vector<std::vector<std::string>> settings = {
      {"optimizer={sgd: {learning_rate: 0.05}}"},
      {"optimizer={sgd: {learning_rate: 0.05, momentum: 0.9}}", "loss=mse"},
      {"optimizer={sgd: {learning_rate: 0.05}}", "train.accumulate=2", "loss=huber"},
      {"train.clip_norm=0.1", "train.on_nonfinite=fail", "metrics=[mae]", "loss=mae"},
      {"input.batch.batch_size=7", "optimizer={sgd: {learning_rate: 0.05}}", "train.report_over=window"}};
  for (const std::vector<std::string>& setting : settings) {
    std::vector<std::string> on_cpu = setting;
    on_cpu.emplace_back("device=cpu");
    const Training gpu = train("weighted", setting), cpu = train("weighted", on_cpu);
    EXPECT_EQ(gpu.result.last_batch, cpu.result.last_batch);
    EXPECT_TRUE(gpu.result.recorded);
    expect_near(gpu.losses, cpu.losses, 1e-4, setting.front());
    EXPECT_EQ(gpu.result.weights, train("weighted", setting).result.weights);
  }
}

// The step at which it diverged, or -1. The order of a sum decides whether the loss is then inf or nan.
int64_t diverged_at(const std::string& error) {
  static const std::regex expected("step ([0-9]+): the (loss is (-?inf|nan)|gradient or its square is not finite)");
  std::smatch found;
  return std::regex_search(error, found, expected) ? std::stoll(found[1]) : -1;
}

TEST_F(CudaTraining, DivergesAsTheCpuDoes) {
  for (const char* rule : {"fail", "skip"}) {
    const std::vector<std::string> overrides = {cat("train.on_nonfinite=", rule),
                                                "optimizer={sgd: {learning_rate: 1.0e+18}}", "loss=mse"};
    std::vector<std::string> on_cpu = overrides;
    on_cpu.emplace_back("device=cpu");
    const Training gpu = attempt("residual", overrides), cpu = attempt("residual", on_cpu);
    EXPECT_EQ(diverged_at(gpu.error), diverged_at(cpu.error)) << gpu.error;
    EXPECT_EQ(diverged_at(cpu.error) > 0, std::string(rule) == "fail") << cpu.error;
    EXPECT_EQ(gpu.losses.size(), cpu.losses.size());
    EXPECT_EQ(gpu.result.skipped_steps, cpu.result.skipped_steps) << rule;
  }
}

// Each on a thread of its own, on every GPU that there is.
TEST_F(CudaTraining, SeveralGoOnAtOnceAsEachDoesAlone) {
  const std::vector<int> gpus = cuda_status().usable;
  const std::vector<std::string> names = also_of_images({"weighted", "accumulated", "dropout"}, {"lenet"});
  const auto of = [&](size_t i) {
    return train(names[i % names.size()], {cat("device=cuda:", gpus[i % gpus.size()])});
  };
  std::vector<Training> alone(2 * names.size()), together(alone.size());
  for (size_t i = 0; i < alone.size(); ++i) alone[i] = of(i);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < together.size(); ++i) threads.emplace_back([&, i] { together[i] = of(i); });
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(together[i].result.weights, alone[i].result.weights) << names[i % names.size()];
    EXPECT_EQ(together[i].losses, alone[i].losses) << names[i % names.size()];
    EXPECT_TRUE(together[i].result.recorded) << names[i % names.size()];
  }
}

TEST_F(CudaTraining, StepsComeAsRecordedGraphs) {
  for (const std::string& name : also_of_images({"accumulated", "weighted"}, {"lenet", "mobile", "residual_cnn"})) {
    for (const char* delivery : {"native", "feed"}) {
      EXPECT_TRUE(train(name, {cat("delivery=", delivery)}).result.recorded) << name << ' ' << delivery;
    }
  }
  EXPECT_TRUE(train("accumulated", {"train.on_nonfinite=fail"}).result.recorded);
  EXPECT_FALSE(train("weighted", {"device=cpu"}).result.recorded);
}

TEST_F(CudaTraining, MayRoundFactors) {
  for (const char* name : {"residual", "lenet"}) {
    const Training rounded = train(name, {"precision=tf32"});
    expect_near(rounded.losses, train(name).losses, 3e-2, name);
    EXPECT_EQ(rounded.result.weights, train(name, {"precision=tf32"}).result.weights) << name;
    if (test::kEmulated) {
      EXPECT_NE(rounded.result.weights, train(name).result.weights) << name;
    }
  }
}

#if defined(MILLRACE_CUDA_EMULATED)
TEST_F(CudaTraining, ASteadyStepIsOneLaunchAndAllocatesNothing) {
  for (const char* setting :
       {"train.report_over=batch", "train.report_over=window", "delivery=staging", "delivery=constant"}) {
    const std::vector<std::string> overrides = {cat("input.filename_queue.files=", quote(golden("rows.csv"), 4096)),
                                                setting,
                                                "metrics=[mae]",
                                                "train.log_every=1000000",
                                                "train.steps=35",
                                                cat("device=", context().device().text())};
    Trainer trainer = Trainer::from_file(golden("residual.yaml"), overrides);
    std::vector<emulation::Counters> seen;
    TrainCallbacks callbacks;
    callbacks.on_batch = [&](const BatchReport&) { seen.push_back(emulation::counters()); };
    trainer.run(callbacks);
    ASSERT_GT(seen.size(), 30U);
    const emulation::Counters &first = seen[10], &last = seen[30];
    EXPECT_EQ(last.graph_launches - first.graph_launches, 20U) << setting;
    EXPECT_EQ(last.graphs, first.graphs) << setting;
    EXPECT_EQ(last.kernels, first.kernels) << setting << ": all of them are in the graphs";
    EXPECT_EQ(last.library_calls, first.library_calls) << setting;
    if (std::string(setting) == "delivery=constant") {
      EXPECT_EQ(last.copies - first.copies, 20U) << "the step's numbers";
    } else {
      EXPECT_EQ(last.copies - first.copies, 60U) << setting << ": features, labels and the step's numbers";
    }
    EXPECT_EQ(last.pointer_queries, first.pointer_queries) << setting << ": what is copied is known to be pinned";
    EXPECT_EQ(last.host_spins, first.host_spins) << setting;
    EXPECT_EQ(last.allocations, first.allocations) << setting;
    EXPECT_EQ(last.device_waits, first.device_waits) << setting;
  }
}
#endif

TEST_F(CudaTraining, AnErrorInTheDataComesAtItsStep) {
  const TempFolder folder;
  std::string text;
  for (int row = 0; row < 40; ++row) text += cat(row % 7, ',', row == 29 ? "x" : "1", ",0\n");
  const std::string data = folder.write("bad.csv", text);
  const auto run = [&](const std::string& device, const std::string& delivery) {
    return train_on(Trainer::from_spec(parse_yaml(
        cat("device: ", device, "\ndelivery: ", delivery, "\ninput:\n  - filename_queue: {files: ", quote(data, 4096),
            ", shuffle: false}\n  - csv_reader: {chunk_bytes: 20}\n"
            "  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n  - batch: {batch_size: 4}\n"
            "model:\n  - dense: {units: 1}\nloss: mse\noptimizer: {sgd: {learning_rate: 0.01}}\n"
            "train: {log_every: 1}\n"),
        "bad.yaml")));
  };
  const Training cpu = run("cpu", "native");
  EXPECT_EQ(cpu.losses.size(), 7U);
  for (const char* delivery : {"native", "staging", "queue", "feed"}) {
    const Training gpu = run(context().device().text(), delivery);
    EXPECT_EQ(gpu.error, cpu.error) << delivery;
    expect_near(gpu.losses, cpu.losses, 1e-5, delivery);
  }
}

}  // namespace
}  // namespace millrace

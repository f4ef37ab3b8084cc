// Code that reads saved models also reads checkpoints: their last parameters, or the best ones.
#include <gtest/gtest.h>

#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/checkpoint/checkpoint_file.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/trainer.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

class CheckpointAsModel : public ::testing::Test {
 protected:
  Spec config(const std::string& more = {}) const {
    return parse_yaml(
        cat("seed: 3\ndevice: cpu\nthreads: 1\ninput:\n  - filename_queue: {files: ", quote(data_, 4096),
            ", epochs: 2}\n  - csv_reader\n  - decode_csv: {fields: {features: {columns: 0-1}, label: {columns: 2}}}\n",
            "  - batch: {batch_size: 6}\nmodel:\n  - dense: {units: 3}\n  - batch_norm\n  - relu\n  - dense: {units: "
            "1}\n",
            "loss: sigmoid_cross_entropy\nmetrics: [accuracy]\noptimizer: {adam: {learning_rate: 0.1}}\n", more),
        "t.yaml");
  }
  static std::string rows() {
    std::string out;
    for (int i = 0; i < 60; ++i) out += cat(i % 7 - 3, ',', i % 5 - 2, ',', i % 7 + i % 5 > 5 ? 1 : 0, '\n');
    return out;
  }

  CheckpointAsModel() : trainer_(Trainer::from_spec(config())) {
    weights_ = trainer_.run().weights;
    trainer_.save(model_);
    const ModelFile saved = ModelFile::read(model_);
    CheckpointParts parts{.step = 10, .metadata = saved.metadata(), .tensors = {}, .numbers = {}, .fingerprint = {}};
    for (const ModelFile::Entry& entry : saved.entries()) {
      parts.tensors.push_back({entry.name, ModelFile::values(entry)});
    }
    // Tensors that a training may keep besides the model: other numbers under the same names, with prefixes.
    std::vector<Tensor> others;
    for (const ModelFile::Entry& entry : saved.entries()) {
      TensorView other = others.emplace_back(Device::cpu(), entry.spec).view();
      for (int64_t i = 0; i < other.elements(); ++i) other.as<float>()[i] = 2 * ModelFile::values(entry).as<float>()[i];
    }
    for (const char* prefix : {"best/", "gradients/", "before/", "optimizer/0/"}) {
      for (size_t i = 0; i < others.size(); ++i) {
        parts.tensors.push_back({cat(prefix, saved.entries()[i].name), std::as_const(others[i]).view()});
      }
    }
    write_checkpoint(checkpoint_, parts);
  }

  TempFolder folder_;
  std::string data_ = folder_.write("train.csv", rows()), weights_;
  std::string model_ = folder_.path("m.safetensors"), checkpoint_ = folder_.path(checkpoint_name(10));
  Trainer trainer_;
  const std::vector<float> rows_ = {0.5f, -1, 2, 0.25f, -3, 1, 0, 0.125f};
};

TEST_F(CheckpointAsModel, PredictsTheSame) {
  EXPECT_EQ(Network::load(checkpoint_).predict(rows_), Network::load(model_).predict(rows_));
}

TEST_F(CheckpointAsModel, EvaluatesTheSame) {
  const auto loss = [&](const std::string& path) {
    Predictor predictor({.model = path, .data = {data_}, .judge = true});
    while (predictor.next() != nullptr) {
    }
    return predictor.loss();
  };
  EXPECT_EQ(loss(checkpoint_), loss(model_));
}

TEST_F(CheckpointAsModel, IsLoadedIntoATraining) {
  const std::string load = cat("load: {file: ", quote(checkpoint_, 4096), "}\ntrain: {steps: 0}\n");
  Trainer next = Trainer::from_spec(config(load));
  EXPECT_EQ(next.run().weights, weights_);
}

TEST_F(CheckpointAsModel, GivesTheBestModel) {
  const Network best = Network::load(checkpoint_, {.best = true}), last = Network::load(checkpoint_);
  EXPECT_NE(best.predict(rows_), last.predict(rows_));
  const std::string none = ": it has no best dense.weight; a validation with keep_best makes one";
  EXPECT_EQ(error_of<DataError>([&] { Network::load(model_, {.best = true}); }), model_ + none);
  EXPECT_EQ(error_of<DataError>([&] { trainer_.network({.best = true}); }), "the trainer's model" + none);
}

TEST_F(CheckpointAsModel, PredictsWithTheBestModel) {
  const std::string data = folder_.write("one.csv", "0.5,-1,0\n");
  const auto output = [&](const std::string& path, bool best) {
    Predictor predictor({.model = path, .data = {data}, .best = best});
    EXPECT_NE(predictor.next(), nullptr);
    return predictor.output(0)[0];
  };
  const Network best = Network::load(checkpoint_, {.best = true});
  EXPECT_FLOAT_EQ(output(checkpoint_, true), best.predict(std::vector{0.5f, -1.0f})[0]);
  EXPECT_EQ(output(checkpoint_, false), output(model_, false));
  EXPECT_NE(output(checkpoint_, true), output(checkpoint_, false));
  EXPECT_THROW(output(model_, true), DataError);
}

}  // namespace
}  // namespace millrace

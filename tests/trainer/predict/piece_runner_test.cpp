#include "millrace/trainer/predict/piece_runner.h"

#include <gtest/gtest.h>

#include <cstring>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/input/op.h"
#include "millrace/input/ops/shared/fields.h"
#include "millrace/layers/catalog.h"
#include "tests/layers/lookup_layer.h"

namespace millrace {
namespace {

constexpr int64_t kBatch = 64, kWidth = 37;

// A model, and batches of kBatch rows for it.
class PieceRunnerTest : public ::testing::Test {
 protected:
  // An id from 0 to 3, looked up.
  static std::vector<LayerNode> lookup() {
    std::vector<LayerNode> layers(1);
    layers[0].kind = "lookup";
    layers[0].layer = std::make_unique<testing::LookupLayer>(testing::LookupLayer::Options{});
    return layers;
  }
  std::vector<LayerNode> dense() const {
    std::vector<LayerNode> layers(2);
    for (size_t i = 0; i < 2; ++i) {
      const Spec units = Spec::map().set("units", i == 0 ? 33 : 2);
      layers[i].kind = "dense";
      layers[i].layer = catalog_.layers.make({"dense", units}, units);
    }
    return layers;
  }

  void make(std::vector<LayerNode> layers, int64_t width, bool bad_rows_stay) {
    rows_ = {{{"features", DType::f32, Shape{width}}}};
    if (bad_rows_stay) rows_.fields.push_back(text_field(std::string(kRowError)));
    model_.emplace(Model::build(
        {.layers = std::move(layers), .inputs = {{"features", rows_.fields[0].tensor()}}, .seed = 4}, context_));
    plan_.emplace(PredictPlanArgs{.model = *model_, .context = context_, .rows = rows_});
    runner_.emplace(PieceRunnerArgs{*plan_, executor_, block(kBatch)});
  }
  RowBlock block(int64_t rows) const {
    RowBlock out;
    out.configure(rows_, rows);
    out.resize(rows);
    return out;
  }
  static float draw(int64_t row, int64_t column) {
    return static_cast<float>(to_unit(philox64(1, static_cast<uint64_t>(row), static_cast<uint64_t>(column))) - 0.5);
  }
  // Rows `begin` to `end` of the data.
  RowBlock piece(int64_t begin, int64_t end) const {
    RowBlock out = block(end - begin);
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t i = 0; i < kWidth; ++i) out.row<float>(0, row - begin)[i] = draw(row, i);
      if (rows_.fields.size() > 1) set_text(out, 1, row - begin, {});
    }
    return out;
  }
  RowBlock ids(const std::vector<float>& values) const {
    RowBlock out = block(std::ssize(values));
    for (int64_t row = 0; row < out.size(); ++row) {
      *out.row<float>(0, row) = values[static_cast<size_t>(row)];
      if (rows_.fields.size() > 1) set_text(out, 1, row, {});
    }
    return out;
  }
  // The outputs of the data's first 3 * kBatch rows in pieces that end at these rows, bit by bit.
  std::vector<float> outputs(const std::vector<int64_t>& ends) {
    runner_.emplace(PieceRunnerArgs{*plan_, executor_, block(kBatch)});
    std::vector<float> out;
    int64_t begin = 0;
    for (const int64_t end : ends) {
      RowBlock rows = piece(begin, end);
      runner_->run(rows, begin % kBatch == 0);
      for (int64_t row = 0; row < rows.size(); ++row) {
        out.insert(out.end(), runner_->output(row).begin(), runner_->output(row).end());
      }
      begin = end;
    }
    return out;
  }

  LayerCatalog catalog_ = LayerCatalog::builtin();
  Executor executor_{2};
  Context context_{Device::cpu(), executor_};
  RowSpec rows_;
  std::optional<Model> model_;
  std::optional<PredictPlan> plan_;
  std::optional<PieceRunner> runner_;
};

TEST_F(PieceRunnerTest, PiecesGiveTheSameBitsAsWholeBatches) {
  make(dense(), kWidth, false);
  const std::vector<float> whole = outputs({64, 128, 192});
  ASSERT_EQ(whole.size(), 3u * 2 * kBatch);
  for (const std::vector<int64_t>& ends :
       std::vector<std::vector<int64_t>>{{1, 2, 3, 63, 64, 128, 192}, {64, 100, 128, 129, 192}, {64, 128, 191, 192}}) {
    EXPECT_EQ(std::memcmp(outputs(ends).data(), whole.data(), whole.size() * sizeof(float)), 0);
  }
}

TEST_F(PieceRunnerTest, BadRowsDoNotChangeTheOthers) {
  make(dense(), kWidth, true);
  const std::vector<float> whole = outputs({64});
  RowBlock rows = piece(0, 64);
  for (const int64_t bad : {0, 5, 63}) {
    set_text(rows, 1, bad, "torn");
    std::memset(rows.row<float>(0, bad), 0xff, kWidth * sizeof(float));  // NaN
  }
  runner_->run(rows, true);
  for (const int64_t row : {1, 4, 6, 62}) {
    EXPECT_EQ(std::memcmp(runner_->output(row).data(), &whole[static_cast<size_t>(2 * row)], 2 * sizeof(float)), 0);
  }
  RowBlock none = piece(0, 2);
  set_text(none, 1, 0, "torn");
  set_text(none, 1, 1, "torn, too");
  EXPECT_NO_THROW(runner_->run(none, true));
}

TEST_F(PieceRunnerTest, ARowThatTheModelRefusesIsBadIfBadRowsStay) {
  make(lookup(), 1, true);
  std::vector<float> whole(kBatch, 3);
  for (const size_t refused : {0u, 1u, 40u, 63u}) whole[refused] = 4 + static_cast<float>(refused);
  for (const std::vector<float>& values : std::vector<std::vector<float>>{{7, 1, 9, 2}, {1, 7, 2, 9}, {8, 9}, whole}) {
    RowBlock rows = ids(values);
    runner_->run(rows, true);
    for (int64_t row = 0; row < rows.size(); ++row) {
      const float id = values[static_cast<size_t>(row)];
      const std::string expected =
          id < 4 ? "" : cat("the field features holds ", id, ", expected at least 0 and at most 3");
      EXPECT_EQ(row_error(rows, row), expected);
      if (id >= 4) continue;
      EXPECT_EQ(runner_->output(row)[0], model_->parameter(0).as<float>()[static_cast<size_t>(id) * 2]);
    }
  }
}

TEST_F(PieceRunnerTest, ElseItsErrorNamesTheRow) {
  make(lookup(), 1, false);
  RowBlock first = ids({0, 1, 2}), second = ids({3, 3, 8});
  runner_->run(first, true);
  try {
    runner_->run(second, false);
    ADD_FAILURE() << "8 was not refused";
  } catch (const RowError& error) {
    EXPECT_EQ(error.row, 2);
  }
  RowBlock third = ids({9, 3});
  try {
    runner_->run(third, false);
    ADD_FAILURE() << "9 was not refused";
  } catch (const RowError& error) {
    EXPECT_EQ(error.row, 0);
  }
}

}  // namespace
}  // namespace millrace

#include "millrace/cli/serve/predict_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "tests/cli/serve/served.h"
#include "tests/layers/lookup_layer.h"

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;

class Asked final : public HttpExchange {
 public:
  explicit Asked(ByteBudget& budget) { bytes = BudgetShare(&budget); }
  void answer(HttpAnswer given) override { answer_.set_value(std::move(given)); }
  HttpAnswer wait() { return answer_.get_future().get(); }

 private:
  std::promise<HttpAnswer> answer_;
};

class PredictQueueTest : public ::testing::Test {
 protected:
  PredictQueueTest() { train_served(folder_, "m.safetensors"); }

  std::shared_ptr<PredictQueue::Job> job(Asked& asked, const std::shared_ptr<const ServedModel>& model,
                                         const std::string& body) {
    auto out = std::make_shared<PredictQueue::Job>();
    out->exchange = &asked;
    out->model = model;
    out->rows = model->reader.read(body);
    return out;
  }
  HttpAnswer ask(PredictQueue& queue, const std::shared_ptr<const ServedModel>& model, const std::string& body) {
    Asked asked(budget_);
    queue.add(job(asked, model, body));
    return asked.wait();
  }

  TempFolder folder_;
  ByteBudget budget_{1 << 20};
  ServeMetrics metrics_;
};

TEST_F(PredictQueueTest, AnswersManyRequestsAsItAnswersOne) {
  const auto model = load_served(folder_.path("m.safetensors"));
  const std::string kBody = R"([{"a":1,"b":2}])";
  std::string alone;
  {
    PredictQueue queue({.threads = 1, .metrics = &metrics_, .log_error = {}});
    alone = ask(queue, model, kBody).body;
    EXPECT_THAT(alone, HasSubstr("[{\"v\":1,\"row\":0,\"prediction\":"));
  }
  std::vector<std::unique_ptr<Asked>> all;
  {
    PredictQueue queue({.threads = 2, .metrics = &metrics_, .log_error = {}});
    for (int i = 0; i < 500; ++i) {
      all.push_back(std::make_unique<Asked>(budget_));
      queue.add(job(*all.back(), model, kBody));
    }
  }  // answers what waits
  for (const auto& asked : all) EXPECT_EQ(asked->wait().body, alone);
}

TEST_F(PredictQueueTest, GivesErrorsToTheirRequestsOnly) {
  const auto model = load_served(folder_.path("m.safetensors"));
  std::vector<std::unique_ptr<Asked>> all;
  const std::string bodies[] = {R"([{"a":1,"b":2}])", R"([{"a":1,"b":2},{"a":"x","b":1}])",
                                R"([{"a":1,"b":0},{"a":1,"b":3}])", "[]"};
  {
    PredictQueue queue({.threads = 1, .metrics = &metrics_, .log_error = {}});
    for (int i = 0; i < 100; ++i) {
      all.push_back(std::make_unique<Asked>(budget_));
      queue.add(job(*all.back(), model, bodies[i % 4]));
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const HttpAnswer answer = all[i]->wait();
    EXPECT_EQ(answer.status, i % 4 == 0 || i % 4 == 3 ? 200u : 400u);
    constexpr const char* kSays[] = {"[{", "row 1: column \\\"a\\\" (a): expected float32, got \\\"x\\\"",
                                     "row 1: ", "[]\n"};
    EXPECT_THAT(answer.body, HasSubstr(kSays[i % 4]));
  }
}

// The model looks up ids from 0 to 3, which only it knows.
TEST_F(PredictQueueTest, GivesErrorsOfTheModelToTheirRequestsOnly) {
  Catalog catalog = Catalog::builtin();
  catalog.layers.layers.add<millrace::testing::LookupLayer>("lookup");
  folder_.write("ids.csv", "id,label\n0,1\n1,2\n2,0\n3,1\n");
  Trainer::from_string(
      cat("device: cpu\ninput:\n- filename_queue: {files: ", quote(folder_.path("ids.csv"), 4096),
          "}\n- csv_reader: {header: true}\n- decode_csv: {fields: {id: {columns: id, type: int32}, ",
          "label: {columns: label}}}\n- batch: {batch_size: 2}\nmodel:\n- lookup: {from: id, rows: 4, width: 2}\n",
          "- dense: {units: 1}\nloss: mse\noptimizer: {sgd: {learning_rate: 0.01}}\ntrain: {steps: 3}\nsave: ",
          folder_.path("ids.safetensors"), '\n'),
      "t.yaml", {}, catalog)
      .run();
  const auto model = std::make_shared<const ServedModel>(ModelFile::read(folder_.path("ids.safetensors")),
                                                         NetworkOptions(), catalog, std::nullopt);
  std::string large = "[";
  for (int i = 0; i < 300; ++i) large += i == 280 ? R"({"id":-1},)" : R"({"id":3},)";
  large.back() = ']';
  const std::string bodies[] = {R"([{"id":2},{"id":0},{"id":1}])", R"([{"id":1},{"id":4}])", large, R"([{"id":9}])"};
  std::vector<std::unique_ptr<Asked>> all;
  {
    PredictQueue queue({.threads = 1, .metrics = &metrics_, .log_error = {}});
    for (int i = 0; i < 100; ++i) {
      all.push_back(std::make_unique<Asked>(budget_));
      queue.add(job(*all.back(), model, bodies[i % 4]));
    }
  }
  std::string alone;
  for (size_t i = 0; i < all.size(); ++i) {
    const HttpAnswer answer = all[i]->wait();
    constexpr const char* kSays[] = {"[{", "\"row 1: the field id holds 4, expected ",
                                     "\"row 280: the field id holds -1, expected ",
                                     "\"row 0: the field id holds 9, expected "};
    EXPECT_THAT(answer.body, HasSubstr(kSays[i % 4]));
    EXPECT_EQ(answer.status, i % 4 == 0 ? 200u : 400u);
    if (i == 0) alone = answer.body;
    if (i % 4 == 0) {
      EXPECT_EQ(answer.body, alone);
    }
  }
}

TEST_F(PredictQueueTest, SharesTheThreadsAmongLargeRequestsAndModels) {
  train_served(folder_, "n.safetensors", 2);
  const auto first = load_served(folder_.path("m.safetensors")), second = load_served(folder_.path("n.safetensors"));
  std::string large = "[";
  for (int i = 0; i < 3000; ++i) large += R"({"a":1,"b":2},)";
  large.back() = ']';
  PredictQueue queue({.threads = 2, .metrics = &metrics_, .log_error = {}});
  Asked one(budget_), two(budget_), three(budget_);
  queue.add(job(one, first, large));
  queue.add(job(two, second, large));
  queue.add(job(three, first, R"([{"a":1,"b":2}])"));
  const std::string small = three.wait().body, of_first = one.wait().body, of_second = two.wait().body;
  EXPECT_EQ(std::ranges::count(of_first, '\n'), 3000);
  EXPECT_THAT(of_first, HasSubstr(small.substr(0, small.size() - 2)));
  EXPECT_NE(of_first, of_second);
  EXPECT_THAT(of_second, HasSubstr("\"row\":2999,"));
}

TEST_F(PredictQueueTest, KeepsNoModelThatNobodyAsks) {
  auto model = load_served(folder_.path("m.safetensors"));
  PredictQueue queue({.threads = 1, .metrics = &metrics_, .log_error = {}});
  EXPECT_EQ(ask(queue, model, R"([{"a":1,"b":2}])").status, 200u);
  const std::weak_ptr<const ServedModel> kept = model;
  model.reset();
  const auto begun = std::chrono::steady_clock::now();
  while (!kept.expired() && std::chrono::steady_clock::now() - begun < std::chrono::seconds(10)) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(kept.expired());
}

TEST_F(PredictQueueTest, RefusesAnswersWithoutRoom) {
  const auto model = load_served(folder_.path("m.safetensors"));
  PredictQueue queue({.threads = 1, .metrics = &metrics_, .log_error = {}});
  ASSERT_TRUE(budget_.take(1 << 20));
  EXPECT_EQ(ask(queue, model, R"([{"a":1,"b":2}])").status, 503u);
  budget_.give(1 << 20);
  EXPECT_EQ(ask(queue, model, R"([{"a":1,"b":2}])").status, 200u);
}

}  // namespace
}  // namespace millrace::cli

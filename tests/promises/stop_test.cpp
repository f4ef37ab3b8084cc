// P6: stop() may be called from every function of a program or a plug-in, and by another thread while the function
// waits for that. So no lock of ours is held while such a function runs.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "millrace/core/text.h"
#include "millrace/extend.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/trainer.h"

namespace millrace::testing {
namespace {

// Stops a trainer where its functions reach a place, once.
class Stopper {
 public:
  Stopper(std::string place, bool by_another_thread) : place_(std::move(place)), apart_(by_another_thread) {}
  ~Stopper() {
    if (thread_.joinable()) thread_.join();
  }

  void reach(std::string_view place) {
    // From inside a stop().
    if (place == "validation interrupt" && reached_ && !interrupted_.exchange(true)) return trainer->stop();
    if (place != place_ || reached_.exchange(true)) return;
    if (!apart_) return trainer->stop();
    std::promise<void> stopped;
    std::future<void> done = stopped.get_future();
    thread_ = std::thread([this, stopped = std::move(stopped)]() mutable {
      trainer->stop();
      stopped.set_value();
    });
    in_time_ = done.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  }
  bool reached() const { return reached_; }
  bool in_time() const { return in_time_; }

  Trainer* trainer = nullptr;

 private:
  const std::string place_;
  const bool apart_;
  std::atomic<bool> reached_{false}, interrupted_{false}, in_time_{true};
  std::thread thread_;
};

Stopper* stopper = nullptr;

const RowSpec kRows = {{{"features", DType::f32, Shape{2}}, {"label", DType::f32, Shape{1}}}};

// Options of the ops below. `of` tells the validation's ops from the training's.
struct ProbeOptions {
  std::string of;
  int64_t rows = 0;
  void declare(OptionReader& o) {
    o.optional("of", of, "what its places begin with");
    o.optional("rows", rows, "how many there are; 0: no end");
  }
  void reach(std::string_view place) const { stopper->reach(cat(of, place)); }
};

void fill_rows(RowBlock& rows, int64_t count) {
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t column = 0; column < 2; ++column) rows.row<float>(0, row)[column] = static_cast<float>(row + column);
    *rows.row<float>(1, row) = 1;
  }
}

class ProbeProducer final : public Transform {
 public:
  explicit ProbeProducer(const ProbeOptions& options) : options_(options) {}
  Port bind(const BindArgs&) override { return {.type = PortType::rows, .rows = kRows}; }
  void apply(Chunk& chunk) const override {
    options_.reach("produce");
    const auto count = static_cast<int64_t>(chunk.unit.end - chunk.unit.begin);
    chunk.rows.configure(kRows, std::max<int64_t>(count, 1));
    chunk.rows.resize(count);
    fill_rows(chunk.rows, count);
    for (int64_t row = 0; row < count; ++row) {
      chunk.rows.id(row) = IndexSource::id_of(chunk.unit, chunk.unit.begin + static_cast<uint64_t>(row));
    }
  }

 private:
  const ProbeOptions options_;
};

class ProbeSource final : public IndexSource {
 public:
  using Options = ProbeOptions;
  static constexpr std::string_view kDoc = "rows, for tests";
  explicit ProbeSource(const Options& options)
      : IndexSource("probe",
                    {.rows = options.rows > 0 ? static_cast<uint64_t>(options.rows) : UINT64_MAX, .unit_rows = 3},
                    std::make_unique<ProbeProducer>(options)),
        options_(options) {}
  bool next(Unit& unit) override {
    options_.reach("next");
    return IndexSource::next(unit);
  }
  bool ready() noexcept override {
    options_.reach("ready");
    return true;
  }
  void interrupt() noexcept override { options_.reach("interrupt"); }

 private:
  const ProbeOptions options_;
};

// Finds the first row of every chunk bad, so that there is something to report.
class ProbeStep final : public Transform {
 public:
  using Options = ProbeOptions;
  static constexpr std::string_view kDoc = "leaves rows as they are, for tests";
  explicit ProbeStep(const Options& options) : options_(options) {}
  void apply(Chunk& chunk) const override {
    options_.reach("apply");
    if (chunk.rows.size() > 0 && options_.of != "validation ") {
      chunk.add({.kind = Note::Kind::bad_row, .id = chunk.rows.id(0), .text = "for tests"});
    }
  }
  void report(const BadRow&) override { options_.reach("report"); }

 private:
  const ProbeOptions options_;
};

class ProbeBuffer final : public RowBuffer {
 public:
  using Options = ProbeOptions;
  static constexpr std::string_view kDoc = "hands rows on, for tests";
  explicit ProbeBuffer(const Options& options) : options_(options) {}
  RowSpan pull(int64_t at_most) override {
    options_.reach("pull");
    return input().pull(at_most);
  }
  void save(State&) const override {}
  void restore(const State&) override {}

 private:
  const ProbeOptions options_;
};

struct Same {
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x;
  }
  template <class T>
  MILLRACE_HD T operator()(T, T dy) const {
    return dy;
  }
};

class ProbeLayer final : public SimpleLayer {
 public:
  static constexpr std::string_view kDoc = "nothing, for tests";
  void forward(Context& context, const SimpleForward& args) const override {
    stopper->reach("forward");
    map_elements(context, args.x, args.y, Same{});
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    stopper->reach("backward");
    zip_elements(context, args.x, args.dy, args.dx, Same{});
  }
};

void fill(RowBlock& block, uint32_t) {
  stopper->reach("fill");
  block.resize(block.capacity());
  fill_rows(block, block.size());
}

Catalog catalog() {
  Catalog out = Catalog::builtin();
  out.add_op<ProbeSource>("probe_source");
  out.add_op<ProbeStep>("probe_step");
  out.add_op<ProbeBuffer>("probe_buffer");
  out.add_layer<ProbeLayer>("probe_layer");
  out.add_op("filled", callback_op({.rows = kRows, .fill = fill, .rows_at_once = 3}));
  return out;
}

std::string config(const std::string& place, const std::string& delivery, int threads) {
  const std::string source = place == "fill" ? "{filled: {epochs: 1000000}}" : "probe_source";
  const bool validates = place.find("validation") != std::string::npos;
  return cat("device: cpu\nthreads: ", threads, "\ndelivery: ", delivery, "\ninput:\n  - ", source,
             "\n  - probe_step\n  - probe_buffer\n  - print: {every: 5}\n  - batch: {batch_size: 8}\n",
             "  - probe_step: {name: after, of: \"batch \"}\n",
             "model: [{dense: {units: 2}}, probe_layer, {dense: {units: 1}}]\nloss: mse\n",
             "optimizer: {sgd: {learning_rate: 0.000001}}\ntrain: {log_every: 1, steps: 1000000}\n",
             validates ? "validation:\n  every: 2\n  input:\n    - probe_source: {of: \"validation \", rows: 50}\n"
                         "    - probe_step: {of: \"validation \"}\n"
                         "    - batch: {batch_size: 8}\n"
                       : "");
}

TrainCallbacks callbacks() {
  const auto at = [](const char* place) { return [place](const auto&) { stopper->reach(place); }; };
  return {.on_start = at("on_start"),
          .on_batch = at("on_batch"),
          .on_step = at("on_step"),
          .on_progress = at("on_progress"),
          .on_validation = at("on_validation of the validation"),
          .on_log = at("on_log")};
}

class Stop : public ::testing::TestWithParam<std::string> {};

TEST_P(Stop, EndsTheRun) {
  for (const bool by_another_thread : {false, true}) {
    for (const char* delivery : {"native", "feed", "queue", "staging"}) {
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(
            cat(delivery, " with ", threads, " threads, stopped ", by_another_thread ? "from outside" : "inside"));
        Stopper stops(GetParam(), by_another_thread);
        stopper = &stops;
        Trainer trainer = Trainer::from_spec(parse_yaml(config(GetParam(), delivery, threads), "stop.yaml"), catalog());
        stops.trainer = &trainer;
        const TrainResult result = trainer.run(callbacks());
        EXPECT_EQ(result.reason, "stopped");
        EXPECT_TRUE(stops.reached());
        EXPECT_TRUE(stops.in_time()) << "stop() waited for the function";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Stop,
                         ::testing::Values("fill", "next", "produce", "apply", "report", "pull", "batch apply",
                                           "batch report", "forward", "backward", "on_start", "on_batch", "on_step",
                                           "on_progress", "on_log", "on_validation of the validation",
                                           "validation next", "validation produce", "validation apply"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

// feed asks no source whether it is ready.
TEST(StopInReady, EndsTheRun) {
  for (const bool by_another_thread : {false, true}) {
    for (const char* delivery : {"native", "queue"}) {
      Stopper stops("ready", by_another_thread);
      stopper = &stops;
      Trainer trainer = Trainer::from_spec(parse_yaml(config("ready", delivery, 2), "stop.yaml"), catalog());
      stops.trainer = &trainer;
      EXPECT_EQ(trainer.run(callbacks()).reason, "stopped");
      EXPECT_TRUE(stops.reached());
      EXPECT_TRUE(stops.in_time());
    }
  }
}

// Holds the tasks that work ahead until the trainer goes; then each of them stops it.
class LateStopper {
 public:
  void reach(uint64_t first_row) {
    if (first_row == 0 || std::this_thread::get_id() == trains_) return;
    held_.store(true);
    for (int i = 0; i < 20000 && !goes_.load(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the trainer's parts go meanwhile
    trainer->stop();
    stopped_.store(true);
  }
  // Called by the thread that trains.
  void wait_until_held() const {
    for (int i = 0; i < 20000 && !held_.load(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void go() { goes_.store(true); }
  bool stopped() const { return stopped_.load(); }

  Trainer* trainer = nullptr;

 private:
  const std::thread::id trains_ = std::this_thread::get_id();
  std::atomic<bool> held_{false}, goes_{false}, stopped_{false};
};

LateStopper* late_stopper = nullptr;

class LateStep final : public Transform {
 public:
  static constexpr std::string_view kDoc = "leaves rows as they are, for tests";
  void apply(Chunk& chunk) const override { late_stopper->reach(chunk.unit.begin); }
};

TEST(StopOfATrainerThatGoes, DoesNothing) {
  LateStopper stops;
  late_stopper = &stops;
  Catalog catalog = Catalog::builtin();
  catalog.add_op<LateStep>("late_step");
  auto trainer = std::make_unique<Trainer>(Trainer::from_spec(
      parse_yaml(
          "device: cpu\nthreads: 3\ninput: [{synthetic: {features: 4, rows: 100000}}, late_step, {batch: {batch_size: "
          "8}}]\nmodel: [{dense: {units: 1}}]\nloss: mse\noptimizer: {sgd: {learning_rate: 0.01}}\ntrain: {log_every: "
          "1, steps: 1}\n",
          "stop.yaml"),
      catalog));
  stops.trainer = trainer.get();
  EXPECT_EQ(trainer->run({.on_step = [&](const auto&) { stops.wait_until_held(); }}).reason, "steps");
  EXPECT_FALSE(stops.stopped());
  stops.go();
  trainer.reset();
  EXPECT_TRUE(stops.stopped());
}

}  // namespace
}  // namespace millrace::testing

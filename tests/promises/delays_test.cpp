// P1 under delays: the threads that are asked for really run, and whoever is late changes nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "millrace/core/random.h"
#include "tests/promises/training.h"

namespace millrace::testing {
namespace {

// What the op of a test has seen. Options cannot hold it, so it is shared; one training at a time uses it.
struct Seen {
  std::mutex mutex;
  std::set<std::thread::id> threads;  // guarded by mutex
  std::atomic<int> met{0};
};
Seen seen;

struct NoOptions {
  void declare(OptionReader&) {}
};

class Unchanged : public Transform {
 public:
  using Options = NoOptions;
  Port bind(const BindArgs& args) override { return args.inputs[0]; }
};

// Holds its first tasks until as many run at once as the executor has threads.
class Meet final : public Unchanged {
 public:
  struct Options {
    int64_t threads = 1;
    void declare(OptionReader& o) { o.required("threads", threads, {.min = 1}, "tasks that must run at once"); }
  };
  static constexpr std::string_view kDoc = "waits for other tasks";

  explicit Meet(const Options& options) : threads_(static_cast<int>(options.threads)) {}

  void apply(Chunk&) const override {
    {
      const std::lock_guard lock(seen.mutex);
      seen.threads.insert(std::this_thread::get_id());
    }
    if (seen.met.fetch_add(1) >= threads_) return;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (seen.met.load() < threads_ && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  }

 private:
  const int threads_;
};

// Takes up to some hundred microseconds for a chunk, as its place and `seed` decide.
class Delay final : public Unchanged {
 public:
  struct Options {
    int64_t seed = 0;
    void declare(OptionReader& o) { o.required("seed", seed, "of the delays"); }
  };
  static constexpr std::string_view kDoc = "takes time";

  explicit Delay(const Options& options) : seed_(static_cast<uint64_t>(options.seed)) {}

  void apply(Chunk& chunk) const override {
    const uint64_t draw = philox64(seed_, chunk.unit.file->index + 1000 * chunk.unit.pass, chunk.unit.begin);
    const std::chrono::microseconds time(draw % 4 == 0 ? draw / 4 % 500 : 0);
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }

 private:
  const uint64_t seed_;
};

TrainResult train(const TempFolder& folder, const Setting& setting) {
  Catalog catalog = Catalog::builtin();
  catalog.ops.add<Meet>("meet");
  catalog.ops.add<Delay>("delay");
  return Trainer::from_spec(parse_yaml(training_yaml(folder, setting), "test.yaml"), catalog).run();
}

TEST(Delays, AsManyThreadsDecodeAtOnceAsAreAskedFor) {
  TempFolder folder;
  write_data(folder);
  const std::string expected = train(folder, {.threads = 1}).weights;
  for (int threads : {1, 2, 3, 8}) {
    seen.met = 0;
    seen.threads.clear();
    const TrainResult result = train(folder, {.threads = threads,
                                              .decode_threads = threads,
                                              .chunk_bytes = 100,
                                              .op = cat("meet: {threads: ", threads, '}')});
    EXPECT_EQ(result.weights, expected);
    EXPECT_EQ(seen.threads.size(), static_cast<size_t>(threads));
  }
}

TEST(Delays, ChangeNothing) {
  TempFolder folder;
  write_data(folder);
  const TrainResult expected = train(folder, {.threads = 1});
  int seed = 0;
  for (int threads : {1, 2, 3, 8}) {
    for (int chunk_bytes : {60, 300}) {
      for (const char* delivery : {"native", "feed", "queue"}) {
        const TrainResult result = train(folder, {.threads = threads,
                                                  .decode_threads = threads,
                                                  .chunk_bytes = chunk_bytes,
                                                  .delivery = delivery,
                                                  .op = cat("delay: {seed: ", ++seed, '}')});
        ASSERT_EQ(result.weights, expected.weights) << threads << ' ' << chunk_bytes << ' ' << delivery;
        ASSERT_EQ(result.loss, expected.loss);
      }
    }
  }
}

}  // namespace
}  // namespace millrace::testing

// make_workers(): the workers of a WorkerPool, as each graph has them.
#include <atomic>
#include <memory>
#include <utility>

#include "millrace/trainer/input/workers.h"
#include "millrace/trainer/remote/remote_files.h"
#include "millrace/trainer/remote/worker_pool.h"

namespace millrace {

namespace {

class GraphWorkers final : public Workers {
 public:
  explicit GraphWorkers(std::shared_ptr<WorkerPool> pool)
      : pool_(std::move(pool)),
        files_([this](State question) { return pool_->ask_files(std::move(question), stopped_); }) {}

  std::shared_ptr<Workers> for_another_graph() override { return std::make_shared<GraphWorkers>(pool_); }
  FileSystem* files() override { return pool_->options().fallback == WorkerFallback::local ? nullptr : &files_; }
  std::unique_ptr<UnitDecoder> decoder(const GraphImpl& graph, const TransformChain& chain, Executor& local) override {
    return pool_->decoder(graph, chain, local, stopped_);
  }
  int most_units() const override { return pool_->most_units(); }
  void stop() noexcept override {
    stopped_.store(true);
    pool_->book().wake();
  }
  std::vector<std::string> take_news() override { return pool_->news().take(); }

 private:
  const std::shared_ptr<WorkerPool> pool_;
  std::atomic<bool> stopped_{false};
  RemoteFiles files_;
};

}  // namespace

std::shared_ptr<Workers> make_workers(const WorkerOptions& options) {
  return std::make_shared<GraphWorkers>(std::make_shared<WorkerPool>(options));
}

}  // namespace millrace

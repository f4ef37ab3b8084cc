// WorkerPool: a trainer's connections to its workers, a thread for each. It hands out files as the workers see them,
// and decoders that ask the workers for the chunks of a graph.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/state.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/run/unit_decoder.h"
#include "millrace/trainer/config/worker_options.h"
#include "millrace/trainer/remote/remote_files.h"
#include "millrace/trainer/remote/request_book.h"
#include "millrace/trainer/remote/wake_up.h"
#include "millrace/trainer/remote/zmq_socket.h"

namespace millrace {

class WorkerPool final : public Workers {
 public:
  explicit WorkerPool(const WorkerOptions& options);
  ~WorkerPool() override;

  FileSystem* files() override;
  std::unique_ptr<UnitDecoder> decoder(const GraphImpl& graph, const TransformChain& chain, Executor& local) override;
  int most_units() const override { return static_cast<int>(links_.size()) * static_cast<int>(options_.ahead); }
  void stop() noexcept override;
  std::vector<std::string> take_news() override;

  // For decoders. leave(): one of the graph's decoders has ended.
  void leave(uint32_t graph);
  RequestBook& book() { return *book_; }
  const WorkerOptions& options() const { return options_; }
  Executor& waiting();
  // Uses this link no more until its worker comes back, and shows its files anew.
  void give_up(size_t link, std::string_view why);
  void give_up(size_t link, const std::exception_ptr& failure);
  size_t links() const { return links_.size(); }
  // What to say if there is no worker: why, as far as that is known.
  IoError nobody() const;

 private:
  // Files are a topic of the book, and each graph is one by its number.
  static constexpr uint32_t kFiles = RequestBook::kFiles;
  struct Graph {
    uint32_t number = 0;
    uint64_t id = 0;      // GraphImpl::number
    size_t decoders = 0;  // that use it
    std::string message;  // tells a worker of it
    State view;           // as the trainer sees it
  };
  enum class Stand : uint8_t {
    absent,   // not connected yet, or lost
    greeted,  // it answers
    refused,  // by one of the two
  };
  struct Link {
    std::string endpoint;
    WakeUp wake;
    std::atomic<bool> given_up{false};
    bool greeted = false;       // used by its thread only, as the next one
    std::set<uint32_t> told;    // the graphs that the worker knows
    std::set<uint32_t> agreed;  // the graphs that the worker sees as the trainer does; guarded by mutex_, as all below
    Stand stand = Stand::absent;
    bool lost = false;  // it agreed once, and was lost since
    std::thread thread;
  };

  void start();
  uint32_t number_of(const GraphImpl& graph);
  void wait_for_answers(uint32_t number);
  bool tell_graphs(size_t number, ZmqSocket& socket);
  FileAnswer ask_files(State question);
  bool has_graph() const;
  std::string other_than(const Link& link, uint32_t graph) const MILLRACE_REQUIRES(mutex_);
  void run(size_t number) noexcept;
  // One connection, until it is lost or the pool ends.
  void serve(size_t number);
  void take_event(size_t number, ZmqSocket& socket, ZmqSocket::Event event, bool& lost);
  void take_message(size_t number, ZmqParts&& parts);
  void take_view(size_t number, const ZmqParts& parts);
  void set_stand(size_t number, Stand stand);
  void tell(size_t number, std::string_view news);
  // The same, unless that was said before of this worker: why it is not used.
  void tell_once(size_t number, std::string_view why);
  std::string reasons() const MILLRACE_REQUIRES(mutex_);

  const WorkerOptions options_;
  std::optional<CurveKeys> keys_;
  std::string server_key_;
  ZmqContext context_;
  std::vector<std::unique_ptr<Link>> links_;
  std::unique_ptr<RequestBook> book_;
  RemoteFiles files_;
  std::unique_ptr<Executor> waiting_;
  std::atomic<bool> ends_{false};
  std::atomic<bool> stops_{false};  // the run is cancelled: questions about files end
  std::atomic<size_t> seen_at_{0};  // the link that answered the last one

  mutable Mutex mutex_;
  std::condition_variable changed_;
  bool started_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool waited_ MILLRACE_GUARDED_BY(mutex_) = false;        // every worker had time to answer
  std::vector<Graph> graphs_ MILLRACE_GUARDED_BY(mutex_);  // that are in use
  uint32_t last_number_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> news_ MILLRACE_GUARDED_BY(mutex_);
  std::map<std::string, std::string> why_ MILLRACE_GUARDED_BY(mutex_);  // by endpoint: why it is not used
};

}  // namespace millrace

// WorkerPool: a trainer's connections to its workers, a thread for each, for any number of graphs. It answers questions
// about files as the workers see them, and makes decoders that ask the workers for the chunks of a graph.
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

#include "millrace/core/clock.h"
#include "millrace/core/context.h"
#include "millrace/core/state.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/run/unit_decoder.h"
#include "millrace/trainer/config/worker_options.h"
#include "millrace/trainer/remote/remote_files.h"
#include "millrace/trainer/remote/request_book.h"
#include "millrace/trainer/remote/wake_up.h"
#include "millrace/trainer/remote/worker_news.h"
#include "millrace/trainer/remote/zmq_socket.h"

namespace millrace {

class WorkerPool {
 public:
  explicit WorkerPool(const WorkerOptions& options);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // For a graph. Their waits end after `stopped` is set and book().wake() is called.
  FileAnswer ask_files(State question, const std::atomic<bool>& stopped);
  std::unique_ptr<UnitDecoder> decoder(const GraphImpl& graph, const TransformChain& chain, Executor& local,
                                       const std::atomic<bool>& stopped);
  int most_units() const { return static_cast<int>(links_.size()) * static_cast<int>(options_.ahead); }

  // For decoders. leave(): one of the graph's decoders has ended.
  void leave(uint32_t graph);
  RequestBook& book() { return *book_; }
  WorkerNews& news() { return news_; }
  const WorkerOptions& options() const { return options_; }
  Executor& waiting();
  // Uses this link no more until its worker comes back, and shows its files anew.
  void give_up(size_t link, std::string_view why);
  void give_up(size_t link, const std::exception_ptr& failure);
  // What to say if there is no worker: why, as far as that is known.
  IoError nobody() const;
  // The links that failed to answer one request.
  class Failures {
   public:
    explicit Failures(const WorkerPool& pool) : pool_(pool) {}
    // Whether others are to be asked after this one.
    bool may_ask_others(size_t link);

   private:
    const WorkerPool& pool_;
    std::set<size_t> links_;
    std::optional<Clock::time_point> first_;
  };

 private:
  // Files are a topic of the book, and each graph is one by its number.
  static constexpr uint32_t kFiles = RequestBook::kFiles;
  struct Graph {
    uint32_t number = 0;
    uint64_t id = 0;                               // GraphImpl::number
    size_t decoders = 0;                           // that use it
    std::string message;                           // tells a worker of it
    State view;                                    // as the trainer sees it
    std::map<std::string, uint64_t> written = {};  // RootedFiles::written() of its files, by endpoint
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
    std::thread thread;
    // Used by its thread only.
    bool greeted = false;
    std::set<uint32_t> told;  // the graphs that the worker knows
    // Guarded by mutex_.
    std::set<uint32_t> agreed, declined;  // the graphs that the worker sees as the trainer does, and those it does not
    Stand stand = Stand::absent;
    bool lost = false;  // it agreed once, and the connection was lost since
  };

  void start();
  uint32_t number_of(const GraphImpl& graph, const std::atomic<bool>& stopped);
  void wait_for_answers(uint32_t number, const std::atomic<bool>& stopped);
  void forget_unused() MILLRACE_REQUIRES(mutex_);
  bool tell_graphs(size_t number, ZmqSocket& socket);
  bool has_graph() const;
  std::string other_than(const Link& link, uint32_t graph) const MILLRACE_REQUIRES(mutex_);
  void run(size_t number) noexcept;
  // One connection, until it is lost or the pool ends.
  void serve(size_t number);
  void take_event(size_t number, ZmqSocket& socket, ZmqSocket::Event event, bool& lost);
  void take_message(size_t number, ZmqParts&& parts);
  void take_view(size_t number, const ZmqParts& parts);
  void set_stand(size_t number, Stand stand);
  // The worker is not used for this graph; if it has no other, for none.
  void decline(size_t number, uint32_t graph, std::string_view why);

  const WorkerOptions options_;
  std::optional<CurveKeys> keys_;
  std::string server_key_;
  ZmqContext context_;
  std::vector<std::unique_ptr<Link>> links_;
  std::unique_ptr<RequestBook> book_;
  WorkerNews news_;
  std::unique_ptr<Executor> waiting_;
  std::atomic<bool> ends_{false};
  std::atomic<size_t> seen_at_{0};  // the link that answered the last one

  mutable Mutex mutex_;
  std::condition_variable changed_;
  bool started_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool waited_ MILLRACE_GUARDED_BY(mutex_) = false;        // every worker had time to answer about the first graph
  std::vector<Graph> graphs_ MILLRACE_GUARDED_BY(mutex_);  // that are in use
  uint32_t last_number_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace

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
#include <utility>
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
#include "millrace/trainer/remote/zmq_socket.h"

namespace millrace {

class WorkerPool {
 public:
  explicit WorkerPool(const WorkerOptions& options);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // For a graph; once `stopped` is set and wake() was called, their waits end.
  FileAnswer ask_files(State question, const std::atomic<bool>& stopped);
  std::unique_ptr<UnitDecoder> decoder(const GraphImpl& graph, const TransformChain& chain, Executor& local,
                                       const std::atomic<bool>& stopped);
  void wake() { book_->wake(); }
  int most_units() const { return static_cast<int>(links_.size()) * static_cast<int>(options_.ahead); }
  std::vector<std::string> take_news();

  // For decoders. leave(): one of the graph's decoders has ended.
  void leave(uint32_t graph);
  RequestBook& book() { return *book_; }
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
    std::thread thread;
    // Used by its thread only.
    bool greeted = false;
    std::set<uint32_t> told;  // the graphs that the worker knows
    // Guarded by mutex_.
    std::set<uint32_t> agreed, declined;  // the graphs that the worker sees as the trainer does, and those it does not
    Stand stand = Stand::absent;
    bool lost = false;  // it agreed once, and the connection was lost since
  };
  // Why a worker is not used.
  struct Reason {
    std::string text;
    Clock::time_point told;
    bool stands = false;  // it is not used now
    bool said = false;    // that was told
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
  void tell(size_t number, std::string_view news);
  // The same about a worker that is not used, unless that was just said.
  void tell_reason(size_t number, std::string_view what, std::string_view why);
  std::string reasons() const MILLRACE_REQUIRES(mutex_);

  const WorkerOptions options_;
  std::optional<CurveKeys> keys_;
  std::string server_key_;
  ZmqContext context_;
  std::vector<std::unique_ptr<Link>> links_;
  std::unique_ptr<RequestBook> book_;
  std::unique_ptr<Executor> waiting_;
  std::atomic<bool> ends_{false};
  std::atomic<size_t> seen_at_{0};  // the link that answered the last one

  mutable Mutex mutex_;
  std::condition_variable changed_;
  bool started_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool waited_ MILLRACE_GUARDED_BY(mutex_) = false;        // every worker had time to answer about the first graph
  std::vector<Graph> graphs_ MILLRACE_GUARDED_BY(mutex_);  // that are in use
  uint32_t last_number_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> news_ MILLRACE_GUARDED_BY(mutex_);
  // By endpoint; and by endpoint and graph: WorkerServer's number for when the graph's files were written to.
  std::map<std::string, Reason> reasons_ MILLRACE_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, uint32_t>, uint64_t> written_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace

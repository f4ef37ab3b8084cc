// PredictQueue: requests that wait to be answered, and the threads that answer them.
//
// A thread that is free takes what waits, up to ServedModel::rows_at_once() rows, and these go through the model
// together. So a request to a server with nothing else to do is answered at once, and requests are joined only while
// all threads are at work. They are taken in the order in which they came. A request of many rows goes through in
// pieces, between which others have their turn.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "millrace/cli/serve/http_server.h"
#include "millrace/cli/serve/row_reader.h"
#include "millrace/cli/serve/serve_metrics.h"
#include "millrace/cli/serve/served_model.h"
#include "millrace/core/threads/mutex.h"

namespace millrace::cli {

struct PredictQueueArgs {
  int threads = 1;
  ServeMetrics* metrics = nullptr;
  std::function<void(const std::string& line)> log_error;  // of failures that are not the client's
};

class PredictQueue {
 public:
  static constexpr size_t kMostAnswer = size_t{64} << 20;  // bytes of one answer

  // A request. Its exchange gets the answer, and outlives it.
  struct Job {
    HttpExchange* exchange = nullptr;
    std::shared_ptr<const ServedModel> model;
    RequestedRows rows;
    size_t next = 0;           // the first row without an answer
    std::string answer = "[";  // as far as it goes
  };

  explicit PredictQueue(PredictQueueArgs args);
  // Answers what waits.
  ~PredictQueue();

  void add(std::shared_ptr<Job> job);

 private:
  // Neighbouring rows of a request.
  struct Part {
    std::shared_ptr<Job> job;  // null once it is answered
    size_t count = 0;
  };
  struct Worker;

  void work();
  std::vector<Part> take();
  void run(Worker& worker, std::vector<Part>& parts) const;
  size_t decode(Worker& worker, std::vector<Part>& parts) const;
  bool predict(const ServedModel& model, Worker& worker, std::vector<Part>& parts) const;
  void write(Part& part, const float* outputs) const;
  void finish(Part& part, HttpAnswer answer) const noexcept;
  void fail(Part& part) const noexcept;
  HttpAnswer answer_of(const std::exception_ptr& exception) const;

  const PredictQueueArgs args_;
  Mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> waiting_ MILLRACE_GUARDED_BY(mutex_);
  bool ends_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace millrace::cli

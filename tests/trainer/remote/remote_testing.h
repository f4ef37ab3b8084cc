// A worker in this process, for tests of both sides.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "millrace/trainer/remote/worker_server.h"
#include "tests/trainer/remote/has_zmq.h"

namespace millrace::testing_support {

class RunningWorker {
 public:
  explicit RunningWorker(const std::string& root, const std::string& bind = "tcp://127.0.0.1:0", int threads = 2)
      : RunningWorker(WorkerSettings{.bind = bind, .root = root, .threads = threads, .log = {}}) {}
  explicit RunningWorker(WorkerSettings settings) : catalog_(Catalog::builtin()) {
    settings.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    };
    server_ = std::make_unique<WorkerServer>(std::move(settings), catalog_);
    endpoint_ = server_->endpoint();
    thread_ = std::thread([this] { server_->run(); });
  }
  ~RunningWorker() { stop(); }
  RunningWorker(const RunningWorker&) = delete;
  RunningWorker& operator=(const RunningWorker&) = delete;

  void stop() {
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
    server_.reset();
  }
  WorkerServer& server() { return *server_; }
  const std::string& endpoint() const { return endpoint_; }
  std::vector<std::string> log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

 private:
  const Catalog catalog_;
  std::mutex mutex_;
  std::vector<std::string> log_;
  std::unique_ptr<WorkerServer> server_;
  std::string endpoint_;
  std::thread thread_;
};

}  // namespace millrace::testing_support

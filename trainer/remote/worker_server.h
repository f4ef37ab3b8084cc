// WorkerServer: a worker. It decodes units for trainers, from the files below its root. One thread talks, others
// decode.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "millrace/core/clock.h"
#include "millrace/core/state.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/graph/graph_units.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/remote/curve_keys.h"
#include "millrace/trainer/remote/rooted_files.h"
#include "millrace/trainer/remote/wake_up.h"
#include "millrace/trainer/remote/zmq_socket.h"

namespace millrace {

struct WorkerSettings {
  std::string bind;                                  // "tcp://0.0.0.0:5599"
  int listening = -1;                                // a socket that listens there already
  std::string root = ".";                            // empty: all files of this machine, for trainers on it
  std::string key = {}, clients = {};                // a file and a folder; empty: no keys
  bool insecure = false;                             // without keys, also for other machines
  int threads = 1;                                   // that decode
  std::function<void(const std::string& line)> log;  // any thread calls it
};

class WorkerServer {
 public:
  // Binds. Throws ConfigError, MissingError, IoError.
  WorkerServer(WorkerSettings settings, const Catalog& catalog);
  ~WorkerServer();
  WorkerServer(const WorkerServer&) = delete;
  WorkerServer& operator=(const WorkerServer&) = delete;

  // Where it listens, with the port.
  std::string endpoint() const { return socket_.endpoint(); }
  // Serves until stop(). Once.
  void run();
  // Any thread may call these. reload(): reads the clients' keys again.
  void stop() noexcept;
  void reload() noexcept;

  struct Counts {
    uint64_t peers = 0, requests = 0, rows = 0, bytes = 0;
  };
  Counts counts() const;

 private:
  // A trainer's connection.
  struct Session {
    std::string peer;                                              // its address
    std::shared_ptr<RootedFiles> files;                            // as they were when it first asked
    std::map<uint64_t, std::shared_ptr<const GraphUnits>> graphs;  // by the trainer's number
    size_t jobs = 0;                                               // its requests that wait or run
    Clock::time_point heard;
  };
  struct Job {
    std::string session;           // the identity of its connection
    std::weak_ptr<Session> alive;  // expired: nobody waits for the answer
    uint64_t id = 0;
    State question;
    std::shared_ptr<RootedFiles> files = nullptr;       // the session's
    std::shared_ptr<const GraphUnits> units = nullptr;  // of the graph whose unit is to be decoded
  };
  struct Answer {
    std::string session;
    ZmqParts parts;
    uint64_t graph = 0;
    std::shared_ptr<const GraphUnits> units = nullptr;  // of that graph, which is new
  };

  void take_message(ZmqParts&& parts);
  void take_question(const std::string& session, const std::shared_ptr<Session>& from, const ZmqParts& parts);
  void refuse(const std::string& session, std::string_view why);
  // Writes a line, unless the same was said of this address before.
  void tell_once(const std::string& peer, std::string_view what);
  void send(const std::string& session, ZmqParts&& parts);
  void send_answers();
  void forget_silent();
  void load_clients();
  void work();
  Answer answer(Job& job);
  ZmqParts decode(const Job& job);
  Answer build(const Job& job);

  const WorkerSettings settings_;
  const Catalog& catalog_;
  ZmqContext context_;
  ZmqSocket socket_;
  Doorkeeper door_;
  WakeUp wake_;
  std::atomic<bool> stops_{false}, reloads_{false};
  std::map<std::string, std::shared_ptr<Session>> sessions_;  // by identity
  std::set<std::string> told_;                                // by tell_once()

  Mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<Answer> answers_ MILLRACE_GUARDED_BY(mutex_);
  bool ends_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;

  std::atomic<uint64_t> peers_{0}, requests_{0}, rows_{0}, bytes_{0};
};

}  // namespace millrace

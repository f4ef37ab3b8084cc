// RequestBook: which requests wait for an answer, and who was asked. Whoever asks waits; a link, which is a connection
// to a worker, takes the oldest request that nobody has, or one that another link has had for too long. An answer
// counts once, whoever gives it. A link that is lost gives its requests back. No network and no clock of its own.
//
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "millrace/core/clock.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/trainer/remote/zmq_socket.h"

namespace millrace {

class RequestBook {
 public:
  struct Settings {
    size_t links = 1;
    size_t credits = 8;  // requests that a link has at most
    // How long a request waits while no link may take it; absent: for ever.
    std::optional<Clock::duration> patience = {};
    std::function<void()> wake_links = {};  // there may be something to take; called by any thread
  };
  explicit RequestBook(Settings settings);

  enum class Outcome { answered, nobody, abandoned };
  struct Answer {
    size_t link = 0;  // who gave it
    ZmqParts parts;
  };
  // About this topic one link is asked until it is lost or too slow: its answers belong together.
  static constexpr uint32_t kFiles = 0;
  // Waits until some link that has `topic` brings the answer. `abandoned` may be null; after it is set, wake() ends the
  // wait. Throws what fail() was given.
  Outcome ask(uint32_t topic, std::string message, Answer& answer, const std::atomic<bool>* abandoned);
  void wake();
  // Ends all waits, now and later.
  void fail(std::exception_ptr error);

  // For the links. A link is asked only about topics that it was given. lose() takes all of them away, and what it was
  // asked goes to others.
  void give_topic(size_t link, uint32_t topic);
  void lose(size_t link, Clock::time_point now);
  struct Asked {
    uint64_t id = 0;
    std::string message;
  };
  // The next request for this link, if it may have one.
  std::optional<Asked> take(size_t link, Clock::time_point now);
  // The answer to a request. False: nobody waits for it any more.
  bool answer(size_t link, uint64_t id, ZmqParts&& parts, Clock::time_point now);
  // Looks at the time; called ten times a second.
  void tick(Clock::time_point now);

 private:
  struct Ask {
    size_t link = 0;
    Clock::time_point since;
  };
  struct Entry {
    uint64_t id = 0;
    uint32_t topic = 0;
    std::string message;
    std::vector<Ask> asked;                        // the links that have it
    std::optional<Clock::time_point> alone_since;  // no link may take it
    Answer answer;
    bool done = false, nobody = false;
    std::condition_variable changed;
  };
  struct Link {
    std::set<uint32_t> topics;
    size_t has = 0;  // requests that it has not answered, also those that another link answered meanwhile
  };

  void look_for_lonely(Clock::time_point now) MILLRACE_REQUIRES(mutex_);
  bool may_be_taken(const Entry& entry, Clock::time_point now) const MILLRACE_REQUIRES(mutex_);
  // How long a request may take before a second link has it, too.
  Clock::duration slow() const MILLRACE_REQUIRES(mutex_);
  Clock::duration median() const MILLRACE_REQUIRES(mutex_);

  const Settings settings_;
  mutable Mutex mutex_;
  std::list<Entry> entries_ MILLRACE_GUARDED_BY(mutex_);  // the oldest first
  std::vector<Link> links_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<size_t> files_link_ MILLRACE_GUARDED_BY(mutex_);  // who is asked about kFiles
  std::exception_ptr failure_ MILLRACE_GUARDED_BY(mutex_);
  uint64_t next_id_ MILLRACE_GUARDED_BY(mutex_) = 1;
  std::array<Clock::duration, 64> times_ MILLRACE_GUARDED_BY(mutex_) = {};  // how long the last answers took
  uint64_t answered_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace

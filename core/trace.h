// Trace: what the threads of a training did, and when, for ui.perfetto.dev and chrome://tracing.
//
//   Trace trace;
//   Trainer trainer = Trainer::from_file("mlp.yaml", {}, Catalog::builtin(), &trace);
//   trainer.run();
//   write_trace(trace, "trace.json");  // trainer/trainer.h
//
// Code that does something worth seeing gets a Trace*, which is null if nobody traces, and puts a TraceRange around its
// work. A Trace outlives all of them. Every member may be called from any thread at any time.
//
// Each thread writes to memory of its own, which it takes a block at a time; a name is copied when a thread first uses
// it. Events after the first `max_events` are dropped and counted.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "millrace/core/export.h"

namespace millrace {

class MILLRACE_EXPORT Trace {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMaxEvents = 500'000;

  explicit Trace(size_t max_events = kMaxEvents);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // Names the calling thread; without this call it has the name that the system gave it.
  void name_thread(std::string_view name) noexcept;
  // Adds the present value of a number that changes over time.
  void count(std::string_view name, int64_t value) noexcept;

  uint64_t dropped() const { return dropped_.load(); }
  // Gives the file to `sink` piece by piece: Chrome's trace format, a JSON object. Open ranges are not in it.
  // Exceptions of `sink` are thrown.
  void write(const std::function<void(std::string_view)>& sink) const;

 private:
  friend class TraceRange;
  friend class TraceLoop;
  static constexpr size_t kMaxArgs = 3;
  struct Arg {
    const char* key;
    int64_t value;
  };
  // A range, turns of a loop, or the value of a number.
  struct Event {
    int64_t start, duration;  // nanoseconds since the trace began
    const char* category;     // null: a counter
    const char* text_key;     // null: no text
    uint32_t name, text;
    size_t arg_count;
    std::array<Arg, kMaxArgs> args;
  };
  struct Log;
  struct Logs;
  // Stands for a thread or a trace. No other one has the same token while anyone holds it, whereas the address of a
  // trace or the id of a thread may be used again.
  using Token = std::shared_ptr<const char>;

  Log* log() noexcept;
  Log* find_log(const Token& thread);
  int64_t since_start(Clock::time_point time) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time - start_).count();
  }

  const Clock::time_point start_ = Clock::now();
  const Token token_ = std::make_shared<const char>();
  std::atomic<uint64_t> dropped_{0}, loops_{0};
  const std::unique_ptr<Logs> logs_;
};

// A stretch of time of the calling thread, until end() or the end of the block. Ranges of a thread nest. While one is
// open, NVIDIA's profilers show it, too. Without a trace nothing happens.
class MILLRACE_EXPORT TraceRange {
 public:
  static constexpr size_t kMaxArgs = Trace::kMaxArgs;

  // `category` and the keys of set() are literals. `start` is the present, for a caller that knows it already.
  TraceRange(Trace* trace, const char* category, std::string_view name) {
    if (trace != nullptr) begin(*trace, category, name, Trace::Clock::now());
  }
  TraceRange(Trace* trace, const char* category, std::string_view name, Trace::Clock::time_point start) {
    if (trace != nullptr) begin(*trace, category, name, start);
  }
  ~TraceRange() {
    if (log_ != nullptr) finish(Trace::Clock::now());
  }
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;

  // Adds facts to the range: at most kMaxArgs numbers and one text, which lives until the end of the range.
  void set(const char* key, int64_t value) {
    if (log_ != nullptr && event_.arg_count < kMaxArgs) event_.args[event_.arg_count++] = {key, value};
  }
  void set(const char* key, std::string_view text) {
    if (log_ == nullptr) return;
    event_.text_key = key;
    text_ = text;
  }
  void end(Trace::Clock::time_point now) {
    if (log_ != nullptr) finish(now);
  }

 private:
  void begin(Trace& trace, const char* category, std::string_view name, Trace::Clock::time_point start) noexcept;
  void finish(Trace::Clock::time_point now) noexcept;

  Trace::Log* log_ = nullptr;  // null: nobody traces, or it is over
  Trace::Event event_;         // set if log_ is
  std::string_view text_;
  uint32_t outer_;  // the name of the range around it; set if log_ is
};

// A loop whose turns run on several threads. Turns that a thread takes one after another are one range, named like the
// range in which the loop began.
class TraceLoop {
 public:
  explicit TraceLoop(Trace* trace) : trace_(trace) {
    if (trace != nullptr) begin();
  }

  class Turn {
   public:
    explicit Turn(const TraceLoop& loop) : loop_(loop) {
      if (loop.trace_ != nullptr) begin();
    }
    ~Turn() {
      if (log_ != nullptr) finish();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    void begin() noexcept;
    void finish() noexcept;

    const TraceLoop& loop_;
    Trace::Log* log_ = nullptr;
    int64_t start_ = 0;
    uint32_t outer_ = 0;
  };

 private:
  void begin() noexcept;

  Trace* trace_;
  uint64_t number_ = 0;
  std::string_view name_;
};

}  // namespace millrace

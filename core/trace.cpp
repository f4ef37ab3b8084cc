#include "millrace/core/trace.h"

#include <pthread.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "millrace/core/cuda/backend.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/core/utf8.h"
#include "millrace/version.h"

namespace millrace {

namespace {

constexpr size_t kBlockEvents = 1024;
constexpr size_t kPieceBytes = 1 << 16;

}  // namespace

// The events of one thread. Only that thread changes the log; members that others read are guarded by the trace's
// mutex, or atomic.
struct Trace::Log {
  struct Block {
    explicit Block(size_t room) : capacity(room), events(new Event[room]) {}

    const size_t capacity;
    std::atomic<size_t> size{0};
    const std::unique_ptr<Event[]> events;  // events before `size` no longer change
  };

  Log(Trace& of, Token of_thread, std::string_view system_name)
      : trace(of), thread(std::move(of_thread)), name(system_name), innermost(number_of("loop")) {}

  // A name has one number as long as the log lives; these convert between them.
  uint32_t number_of(std::string_view text);
  const std::string& name_of(uint32_t number) const { return names[number]; }

  // `text` is used if the event has a key for it.
  void add(Event event, std::string_view text = {}) noexcept;
  // Ends the range of turns that another turn could still extend.
  void end_turns() noexcept {
    if (std::exchange(turns_of, 0) != 0) publish(turns);
  }
  void publish(const Event& event) noexcept;
  bool has_room();

  Trace& trace;
  const Token thread;
  std::string name;                            // guarded by the mutex
  std::deque<std::string> names;               // grows under the mutex
  std::vector<std::unique_ptr<Block>> blocks;  // grows under the mutex
  std::unordered_map<std::string_view, uint32_t> numbers;
  bool full = false;
  uint32_t innermost;     // the name of the innermost range that is open
  Event turns = {};       // the newest turns of the loop `turns_of` that this thread did; not yet published
  uint64_t turns_of = 0;  // 0: none
};

struct Trace::Logs {
  explicit Logs(size_t max_events) : room(max_events) {}

  // A log as it is now: its blocks, each with the number of its events.
  struct Copy {
    std::string name;
    std::vector<std::string> names;  // as JSON
    std::vector<std::pair<const Event*, size_t>> blocks;
  };
  std::vector<Copy> copies();

  Mutex mutex;
  std::vector<std::unique_ptr<Log>> all MILLRACE_GUARDED_BY(mutex);
  size_t room MILLRACE_GUARDED_BY(mutex);  // how many events may still be given to logs
};

std::vector<Trace::Logs::Copy> Trace::Logs::copies() {
  const MutexLock lock(mutex);
  std::vector<Copy> out;
  for (const auto& log : all) {
    Copy& copy = out.emplace_back();
    copy.name = log->name;
    for (const std::string& name : log->names) copy.names.push_back(json_string(name));
    for (const auto& block : log->blocks) {
      copy.blocks.emplace_back(block->events.get(), block->size.load(std::memory_order_acquire));
    }
  }
  return out;
}

uint32_t Trace::Log::number_of(std::string_view text) {
  const auto known = numbers.find(text);
  if (known != numbers.end()) return known->second;
  const auto number = static_cast<uint32_t>(names.size());
  {
    const MutexLock lock(trace.logs_->mutex);
    names.emplace_back(text);
  }
  numbers.emplace(names.back(), number);
  return number;
}

// Whether there is room for an event; adds a block if the last one is full and another is allowed.
bool Trace::Log::has_room() {
  if (full) return false;
  if (!blocks.empty() && blocks.back()->size.load(std::memory_order_relaxed) < blocks.back()->capacity) return true;
  const MutexLock lock(trace.logs_->mutex);
  const size_t room = std::min(trace.logs_->room, kBlockEvents);
  full = room == 0;
  if (full) return false;
  blocks.push_back(std::make_unique<Block>(room));
  trace.logs_->room -= room;
  return true;
}

void Trace::Log::add(Event event, std::string_view text) noexcept {
  end_turns();
  try {
    // The text is kept only if there is room for its event.
    if (event.text_key != nullptr && has_room()) event.text = number_of(text);
  } catch (...) {
    event.text_key = nullptr;
  }
  publish(event);
}

void Trace::Log::publish(const Event& event) noexcept {
  try {
    if (has_room()) {
      Block& block = *blocks.back();
      const size_t size = block.size.load(std::memory_order_relaxed);
      block.events[size] = event;
      block.size.store(size + 1, std::memory_order_release);
      return;
    }
  } catch (...) {  // no memory for it
  }
  trace.dropped_.fetch_add(1, std::memory_order_relaxed);
}

Trace::Trace(size_t max_events) : logs_(std::make_unique<Logs>(max_events)) {}

Trace::~Trace() = default;

// Null when there is no memory for one.
Trace::Log* Trace::log() noexcept {
  // The calling thread, and its log in the trace that it used last.
  thread_local struct {
    Token thread, trace;
    Log* log = nullptr;
  } cached;
  if (cached.trace == token_) return cached.log;
  try {
    if (!cached.thread) cached.thread = std::make_shared<const char>();
    cached.log = find_log(cached.thread);
    cached.trace = token_;
  } catch (...) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  return cached.log;
}

Trace::Log* Trace::find_log(const Token& thread) {
  {
    const MutexLock lock(logs_->mutex);
    for (const auto& log : logs_->all) {
      if (log->thread == thread) return log.get();
    }
  }
  char name[16] = "thread";
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  auto made = std::make_unique<Log>(*this, thread, name);
  const MutexLock lock(logs_->mutex);
  logs_->all.push_back(std::move(made));
  return logs_->all.back().get();
}

void Trace::name_thread(std::string_view name) noexcept {
  Log* own = log();
  if (own == nullptr) return;
  try {
    const MutexLock lock(logs_->mutex);
    own->name = name;
  } catch (...) {  // then it keeps its old name
  }
}

void Trace::count(std::string_view name, int64_t value) noexcept {
  Log* own = log();
  if (own == nullptr) return;
  try {
    Event event = {};
    event.start = since_start(Clock::now());
    event.name = own->number_of(name);
    event.args[event.arg_count++] = {"value", value};
    own->add(event);
  } catch (...) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
}

void TraceRange::begin(Trace& trace, const char* category, std::string_view name,
                       Trace::Clock::time_point start) noexcept {
  Trace::Log* log = trace.log();
  if (log == nullptr) return;
  event_ = {};
  event_.start = trace.since_start(start);
  event_.category = category;
  try {
    event_.name = log->number_of(name);
  } catch (...) {
    trace.dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  log_ = log;
  log->end_turns();
  outer_ = std::exchange(log->innermost, event_.name);
  cuda::push_range(log->name_of(event_.name).c_str());
}

void TraceRange::finish(Trace::Clock::time_point now) noexcept {
  cuda::pop_range();
  Trace::Log& log = *std::exchange(log_, nullptr);
  log.innermost = outer_;
  event_.duration = log.trace.since_start(now) - event_.start;
  log.add(event_, text_);
}

void TraceLoop::begin() noexcept {
  const Trace::Log* log = trace_->log();
  if (log == nullptr) {
    trace_ = nullptr;
    return;
  }
  name_ = log->name_of(log->innermost);
  number_ = 1 + trace_->loops_.fetch_add(1, std::memory_order_relaxed);
}

void TraceLoop::Turn::begin() noexcept {
  Trace::Log* log = loop_.trace_->log();
  if (log == nullptr) return;
  try {
    outer_ = std::exchange(log->innermost, log->number_of(loop_.name_));
  } catch (...) {
    loop_.trace_->dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  log_ = log;
  start_ = loop_.trace_->since_start(Trace::Clock::now());
  cuda::push_range(log->name_of(log->innermost).c_str());
}

void TraceLoop::Turn::finish() noexcept {
  cuda::pop_range();
  const int64_t now = loop_.trace_->since_start(Trace::Clock::now());
  const uint32_t name = std::exchange(log_->innermost, outer_);
  Trace::Event& turns = log_->turns;
  if (log_->turns_of != loop_.number_) {
    log_->end_turns();
    turns = {};
    turns.start = start_;
    turns.category = "loop";
    turns.name = name;
    turns.args[turns.arg_count++] = {"turns", 0};
    log_->turns_of = loop_.number_;
  }
  turns.duration = now - turns.start;
  ++turns.args[0].value;
}

namespace {

// In microseconds, with three decimals.
std::string time_text(int64_t nanoseconds) {
  return cat(nanoseconds / 1000, '.', cat(1000 + nanoseconds % 1000).substr(1));
}

// The event that names a thread or, with number 0, the process.
std::string metadata(int64_t thread, std::string_view what, std::string_view key, std::string_view value) {
  return cat(R"({"ph":"M","pid":1,"tid":)", thread, R"(,"name":")", what, R"(","args":{")", key, "\":", value, "}}");
}

}  // namespace

// No lock is held while the sink is called: it may trace something itself.
void Trace::write(const std::function<void(std::string_view)>& sink) const {
  std::vector<Logs::Copy> logs = logs_->copies();
  // The first thread matters most, so it stays first. "executor 10" comes after "executor 9".
  const auto by_name = [](const Logs::Copy& a, const Logs::Copy& b) {
    return std::pair(a.name.size(), a.name) < std::pair(b.name.size(), b.name);
  };
  if (!logs.empty()) std::stable_sort(logs.begin() + 1, logs.end(), by_name);

  std::string out = cat("{\"traceEvents\":[\n", metadata(0, "process_name", "name", R"("millrace")"));
  int64_t written = 0;
  for (size_t i = 0; i < logs.size(); ++i) {
    const Logs::Copy& log = logs[i];
    const std::vector<std::string>& names = log.names;
    const auto thread = static_cast<int64_t>(i) + 1;
    out += cat(",\n", metadata(thread, "thread_name", "name", json_string(log.name)), ",\n",
               metadata(thread, "thread_sort_index", "sort_index", cat(thread)));

    // A range is logged when it ends, after the ranges inside it, but must stand before them.
    std::vector<const Event*> events;
    for (const auto& [block, size] : log.blocks) {
      for (size_t k = 0; k < size; ++k) events.push_back(block + k);
    }
    std::reverse(events.begin(), events.end());
    std::stable_sort(events.begin(), events.end(), [](const Event* a, const Event* b) {
      return std::pair(a->start, -a->duration) < std::pair(b->start, -b->duration);
    });
    for (const Event* event : events) {
      const bool counter = event->category == nullptr;
      out +=
          cat(",\n{\"ph\":\"", counter ? 'C' : 'X', R"(","pid":1,"tid":)", thread, R"(,"name":)", names[event->name]);
      if (!counter) out += cat(R"(,"cat":")", event->category, '"');
      out += cat(R"(,"ts":)", time_text(event->start));
      if (!counter) out += cat(R"(,"dur":)", time_text(event->duration));
      std::string args;
      const auto add = [&](const char* key, const auto& value) {
        args += cat(args.empty() ? "\"" : ",\"", key, "\":", value);
      };
      for (size_t k = 0; k < event->arg_count; ++k) add(event->args[k].key, event->args[k].value);
      if (event->text_key != nullptr) add(event->text_key, names[event->text]);
      out += cat(R"(,"args":{)", args, "}}");
      if (out.size() < kPieceBytes) continue;
      sink(out);
      out.clear();
    }
    written += std::ssize(events);
  }
  sink(cat(out, "\n", R"(],"displayTimeUnit":"ms","otherData":{"writer":"millrace )", version(), R"(","events":)",
           written, R"(,"dropped":)", dropped(), "}}\n"));
}

}  // namespace millrace

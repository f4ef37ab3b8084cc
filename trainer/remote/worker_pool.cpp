#include "millrace/trainer/remote/worker_pool.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/graph/graph_list.h"
#include "millrace/input/rows/row_codec.h"
#include "millrace/trainer/files/yaml_writer.h"
#include "millrace/trainer/remote/curve_keys.h"
#include "millrace/trainer/remote/messages.h"
#include "millrace/trainer/remote/remote_decoder.h"

namespace millrace {

namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// How long a start waits for workers that do not answer; how long a run without `fallback: local` does.
constexpr Clock::duration kStart = 3s, kPatience = 30s;
constexpr std::chrono::milliseconds kTick = 100ms;
constexpr Clock::duration kPingEvery = 5s;
// One thread of libzmq encrypts what one connection carries.
constexpr size_t kEncryptedConnections = 2, kMostIoThreads = 4;

size_t connections_of(const WorkerOptions& options) {
  return options.connect.size() * (options.key.empty() ? 1 : kEncryptedConnections);
}

std::optional<Clock::duration> patience_of(WorkerFallback fallback) {
  switch (fallback) {
    case WorkerFallback::local: return Clock::duration::zero();
    case WorkerFallback::wait: return {};
    case WorkerFallback::fail: break;
  }
  return kPatience;
}

}  // namespace

WorkerPool::WorkerPool(const WorkerOptions& options)
    : options_(options), context_(static_cast<int>(std::min(connections_of(options), kMostIoThreads))) {
  if (!options_.key.empty()) {
    keys_ = read_secret_key(options_.key);
    server_key_ = read_public_key(options_.server_key);
  }
  for (size_t i = 0; i < connections_of(options_); ++i) {
    links_.push_back(std::make_unique<Link>());
    links_.back()->endpoint = options_.connect[i % options_.connect.size()];
  }
  book_ = std::make_unique<RequestBook>(RequestBook::Settings{.links = links_.size(),
                                                              .credits = static_cast<size_t>(options_.ahead),
                                                              .patience = patience_of(options_.fallback),
                                                              .wake_links = [this] {
                                                                for (const auto& link : links_) link->wake.signal();
                                                              }});
}

WorkerPool::~WorkerPool() {
  ends_.store(true);
  for (const auto& link : links_) {
    link->wake.signal();
    if (link->thread.joinable()) link->thread.join();
  }
}

void WorkerPool::start() {
  const MutexLock lock(mutex_);
  if (started_) return;
  waiting_ = std::make_unique<Executor>(most_units() + 1);
  started_ = true;
  for (size_t i = 0; i < links_.size(); ++i) links_[i]->thread = std::thread([this, i] { run(i); });
}

Executor& WorkerPool::waiting() { return *waiting_; }

std::unique_ptr<UnitDecoder> WorkerPool::decoder(const GraphImpl& graph, const TransformChain& chain, Executor& local,
                                                 const std::atomic<bool>& stopped) {
  start();
  return std::make_unique<RemoteDecoder>(*this, number_of(graph, stopped), chain, local.threads());
}

// The links tell the workers of a graph that is new.
uint32_t WorkerPool::number_of(const GraphImpl& graph, const std::atomic<bool>& stopped) {
  const auto find = [&]() MILLRACE_REQUIRES(mutex_) {
    const auto found = std::ranges::find(graphs_, graph.number, &Graph::id);
    if (found == graphs_.end()) return uint32_t{0};
    ++found->decoders;
    return found->number;
  };
  {
    const MutexLock lock(mutex_);
    if (const uint32_t number = find(); number != 0) return number;
  }
  State told = make_message(message::kGraph);
  told.set_text("list", to_yaml(without_written_files(graph.nodes, graph.resolved)));
  told.set("seed", graph.seed);
  told.set("side", static_cast<uint64_t>(graph.side));
  told.set("bad_rows_stay", graph.bad_rows_stay ? 1 : 0);
  State view = view_of(graph);
  uint32_t number = 0;
  {
    const MutexLock lock(mutex_);
    number = ++last_number_;
    told.set("graph", number);
    graphs_.push_back(
        {.number = number, .id = graph.number, .decoders = 1, .message = told.encode(), .view = std::move(view)});
    forget_unused();
  }
  for (const auto& link : links_) link->wake.signal();
  wait_for_answers(number, stopped);
  return number;
}

void WorkerPool::leave(uint32_t graph) {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(graphs_, graph, &Graph::number);
  --found->decoders;
  forget_unused();
}

// If none is in use the newest one stays: by it workers that come later show that their files are the same.
void WorkerPool::forget_unused() {
  const bool all_unused = std::ranges::all_of(graphs_, [](const Graph& one) { return one.decoders == 0; });
  std::erase_if(graphs_, [&](const Graph& one) MILLRACE_REQUIRES(mutex_) {
    return one.decoders == 0 && !(all_unused && one.number == last_number_);
  });
}

// Every worker that is there answers before the first row is asked for.
void WorkerPool::wait_for_answers(uint32_t number, const std::atomic<bool>& stopped) {
  const Clock::time_point start = Clock::now();
  const MutexLock lock(mutex_);
  const auto is_silent = [&](const auto& link) {
    return link->stand == Stand::greeted && !link->agreed.contains(number) && !link->declined.contains(number);
  };
  const auto is_absent = [&](const auto& link) { return link->stand == Stand::absent; };
  // The ticks of the links notify it.
  for (;; mutex_.wait(changed_)) {
    const Clock::duration waited = Clock::now() - start;
    if (stopped.load()) break;
    const bool absent = !waited_ && waited < kStart && std::ranges::any_of(links_, is_absent);
    if (!absent && (waited > kPatience || std::ranges::none_of(links_, is_silent))) break;
  }
  const bool is_first = !std::exchange(waited_, true);
  if (!is_first || options_.fallback == WorkerFallback::local) return;
  const auto is_refused = [](const auto& link) { return link->stand == Stand::refused; };
  if (!std::ranges::all_of(links_, is_refused)) return;
  throw ConfigError(cat("no worker can be used: ", news_.reasons()));
}

IoError WorkerPool::nobody() const {
  const std::string why = news_.reasons();
  return IoError(cat("no worker answers at ", join(options_.connect), why.empty() ? "" : cat("; ", why)), {},
                 "start trainer worker there; workers.fallback says what happens meanwhile");
}

// With `fail`, no longer than a request waits for a worker.
bool WorkerPool::Failures::may_ask_others(size_t link) {
  const WorkerFallback fallback = pool_.options_.fallback;
  if (fallback == WorkerFallback::local) return false;
  links_.insert(link);
  if (!first_) first_ = Clock::now();
  return links_.size() < pool_.links_.size() &&
         (fallback == WorkerFallback::wait || Clock::now() - *first_ < kPatience);
}

// A worker that cannot read what others can is asked no more, and the error counts once all have met it.
FileAnswer WorkerPool::ask_files(State question, const std::atomic<bool>& stopped) {
  start();
  const std::string bytes = question.encode();
  for (Failures failures(*this);;) {
    RequestBook::Answer answer;
    if (book_->ask(kFiles, bytes, answer, &stopped) != RequestBook::Outcome::answered) throw nobody();
    seen_at_.store(answer.link);
    FileAnswer out;
    std::exception_ptr failure;
    try {
      out.state = read_message(answer.parts);
      std::string joined;
      out.bytes = bytes_of(answer.parts, joined);
      if (out.state.text("is") == message::kFailure) failure = RowCodec::decode_error(out.bytes);
    } catch (const DataError& error) {
      give_up(answer.link, error.message());
      continue;
    }
    if (!failure) return out;
    if (!has_graph() || !failures.may_ask_others(answer.link)) raise_copy(failure);
    give_up(answer.link, failure);
  }
}

bool WorkerPool::has_graph() const {
  const MutexLock lock(mutex_);
  return last_number_ > 0;
}

void WorkerPool::give_up(size_t link, const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    give_up(link, error.what());
  }
}

void WorkerPool::give_up(size_t link, std::string_view why) {
  news_.tell_unused(links_[link]->endpoint, "is not used: ", why, Clock::now());
  links_[link]->given_up.store(true);
  links_[link]->wake.signal();
}

void WorkerPool::decline(size_t number, uint32_t graph, std::string_view why) {
  Link& link = *links_[number];
  bool has_another = false;
  {
    const MutexLock lock(mutex_);
    link.declined.insert(graph);
    has_another = !link.agreed.empty();
    changed_.notify_all();
  }
  if (has_another) return news_.tell_unused(link.endpoint, "is not used for some rows: ", why, Clock::now());
  give_up(number, why);
  set_stand(number, Stand::refused);
}

void WorkerPool::set_stand(size_t number, Stand stand) {
  const MutexLock lock(mutex_);
  links_[number]->stand = stand;
  changed_.notify_all();
}

void WorkerPool::run(size_t number) noexcept {
  Link& link = *links_[number];
  while (!ends_.load()) {
    try {
      serve(number);
    } catch (const Error& error) {
      news_.tell_unused(link.endpoint, "is not used: ", cat("it cannot be reached: ", error.message()), Clock::now());
    } catch (...) {
      book_->fail(as_error(std::current_exception(), "workers"));
      return;
    }
    book_->lose(number, Clock::now());
    {
      const MutexLock lock(mutex_);
      if (link.stand != Stand::refused) link.stand = Stand::absent;
      link.agreed.clear();
      link.declined.clear();
      changed_.notify_all();
    }
    // Not at once: whoever is refused is refused again.
    const bool patient = link.given_up.exchange(false);
    for (Clock::time_point until = Clock::now() + (patient ? kPingEvery : kTick);
         Clock::now() < until && !ends_.load();) {
      zmq_wait({}, link.wake.descriptor(), kTick);
      link.wake.clear();
      book_->tick(Clock::now());
    }
  }
}

void WorkerPool::serve(size_t number) {
  Link& link = *links_[number];
  ZmqSocket socket(context_, ZmqSocket::Type::dealer);
  if (keys_) socket.be_client(*keys_, server_key_);
  ZmqSocket monitor = socket.monitor(context_);
  socket.connect(link.endpoint);
  link.greeted = false;
  link.given_up.store(false);
  link.told.clear();
  bool lost = false;
  Clock::time_point pinged = Clock::now();
  while (!ends_.load() && !lost && !link.given_up.load()) {
    zmq_wait(std::array{&socket, &monitor}, link.wake.descriptor(), kTick);
    link.wake.clear();
    while (const auto event = monitor.next_event()) take_event(number, socket, *event, lost);
    for (ZmqParts parts; !lost && socket.receive(parts); parts.clear()) take_message(number, std::move(parts));
    const Clock::time_point now = Clock::now();
    book_->tick(now);
    lost |= !tell_graphs(number, socket);
    while (const auto asked = lost ? std::nullopt : book_->take(number, now)) {
      State head = make_message(message::kId);
      head.set("id", asked->id);
      ZmqParts parts = to_parts(head);
      parts.emplace_back(asked->message);
      lost = !socket.send(std::move(parts));
    }
    if (link.greeted && now - pinged > kPingEvery) {
      pinged = now;
      lost |= !socket.send(to_parts(make_message(message::kPing)));
    }
  }
  if (!lost || link.given_up.load()) return;
  bool agreed = false;
  {
    const MutexLock lock(mutex_);
    agreed = !link.agreed.empty();
    link.lost |= agreed;
  }
  if (agreed) news_.tell(link.endpoint, "is lost");
}

// Tells the worker of new graphs, and of those that have ended. False if the connection is lost.
bool WorkerPool::tell_graphs(size_t number, ZmqSocket& socket) {
  Link& link = *links_[number];
  std::vector<ZmqParts> messages;
  {
    const MutexLock lock(mutex_);
    changed_.notify_all();
    if (link.stand != Stand::greeted) return true;
    for (const Graph& graph : graphs_) {
      if (!link.told.insert(graph.number).second) continue;
      messages.emplace_back();
      messages.back().emplace_back(graph.message);
    }
    std::erase_if(link.told, [&](uint32_t told) MILLRACE_REQUIRES(mutex_) {
      if (std::ranges::find(graphs_, told, &Graph::number) != graphs_.end()) return false;
      State forget = make_message(message::kForget);
      forget.set("graph", told);
      messages.push_back(to_parts(forget));
      link.agreed.erase(told);
      link.declined.erase(told);
      return true;
    });
  }
  return std::ranges::all_of(messages, [&](ZmqParts& parts) { return socket.send(std::move(parts)); });
}

void WorkerPool::take_event(size_t number, ZmqSocket& socket, ZmqSocket::Event event, bool& lost) {
  switch (event) {
    case ZmqSocket::Event::ready: {
      State hello = make_message(message::kHello);
      hello.set("wire", kWireVersion);
      hello.set_text("decoders", decoder_versions());
      lost |= !socket.send(to_parts(hello));
      break;
    }
    case ZmqSocket::Event::lost: {
      const MutexLock lock(mutex_);
      lost |= links_[number]->stand != Stand::absent;  // otherwise libzmq connects again
      break;
    }
    case ZmqSocket::Event::refused:
      give_up(number, keys_ ? "it refuses this machine's key, or has another key itself" : "it refuses the connection");
      set_stand(number, Stand::refused);
      break;
  }
}

void WorkerPool::take_message(size_t number, ZmqParts&& parts) {
  try {
    const State head = read_message(parts);
    const std::string& is = head.text("is");
    if (is == message::kHello) {
      set_stand(number, Stand::greeted);
      links_[number]->greeted = true;
      // Later only workers whose files were compared are asked about files.
      const MutexLock lock(mutex_);
      if (last_number_ == 0) book_->give_topic(number, kFiles);
    } else if (is == message::kNo) {
      const std::string& why = head.text("why");
      bool at_start = false;
      {
        const MutexLock lock(mutex_);
        at_start = links_[number]->stand == Stand::greeted && !waited_;
      }
      if (at_start && options_.fallback != WorkerFallback::local && !links_[number]->told.empty()) {
        book_->fail(std::make_exception_ptr(
            DataError(cat("the worker ", links_[number]->endpoint, " cannot use the input: ", why))));
      }
      if (head.has("graph")) return decline(number, head.count<uint32_t>("graph", UINT32_MAX), why);
      give_up(number, why);
      set_stand(number, Stand::refused);
    } else if (is == message::kGraph) {
      take_view(number, parts);
    } else {
      book_->answer(number, head.value("id"), std::move(parts), Clock::now());
    }
  } catch (const DataError& error) {
    give_up(number, error.message());
  }
}

// A worker that sees the graph's files as the trainer does: it agreed, or else it was asked for them.
std::string WorkerPool::other_than(const Link& link, uint32_t graph) const {
  const auto agrees = [&](const auto& one) { return one->agreed.contains(graph); };
  const auto differs = [&](const auto& one) { return one->endpoint != link.endpoint; };
  auto found = std::ranges::find_if(links_, agrees);
  if (found == links_.end() && differs(links_[seen_at_.load()])) return links_[seen_at_.load()]->endpoint;
  if (found == links_.end()) found = std::ranges::find_if(links_, differs);
  return found == links_.end() ? link.endpoint : (*found)->endpoint;
}

void WorkerPool::take_view(size_t number, const ZmqParts& parts) {
  Link& link = *links_[number];
  const State head = read_message(parts);
  const auto graph = head.count<uint32_t>("graph", UINT32_MAX);
  std::string joined;
  const State view = State::decode(bytes_of(parts, joined));
  const bool local = options_.fallback == WorkerFallback::local;
  std::string differs, why;
  bool back = false;
  {
    const MutexLock lock(mutex_);
    const auto known = std::ranges::find(graphs_, graph, &Graph::number);
    if (known == graphs_.end()) return;
    const std::string here = local ? "here" : cat("at ", other_than(link, graph));
    differs = difference(known->view, view, here, local ? "there" : cat("at ", link.endpoint));
    // What a comparison does not see is found if it happens while this graph is in use.
    const uint64_t written = head.value("written");
    if (!differs.empty()) {
      why = cat("it has other data: ", differs);
    } else if (known->written.try_emplace(link.endpoint, written).first->second != written) {
      why = "its files were written to since it was first used";
    } else {
      link.agreed.insert(graph);
      back = news_.end_unused(link.endpoint);
      back |= std::exchange(link.lost, false);
    }
    if (!differs.empty() && !local && !waited_) {
      book_->fail(std::make_exception_ptr(
          DataError(cat("workers see different files: ", differs), {}, "give every worker the same files")));
    }
  }
  if (!why.empty()) return decline(number, graph, why);
  book_->give_topic(number, kFiles);
  book_->give_topic(number, graph);
  if (back) news_.tell(link.endpoint, "is back");
}

}  // namespace millrace

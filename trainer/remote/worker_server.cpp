#include "millrace/trainer/remote/worker_server.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/float_mode.h"
#include "millrace/core/utf8.h"
#include "millrace/input/graph/graph_list.h"
#include "millrace/input/rows/row_codec.h"
#include "millrace/trainer/config/worker_options.h"
#include "millrace/trainer/files/yaml.h"
#include "millrace/trainer/remote/messages.h"
#include "millrace/trainer/remote/remote_files.h"

namespace millrace {

namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// A session that is silent for so long is forgotten; trainers send something every 5 s.
constexpr Clock::duration kSilence = 30s;
// More requests than any trainer may have out.
constexpr size_t kMostJobs = 128, kMostSessions = 1000, kMostGraphs = 16;
// A question has no more bytes, unless it tells of a graph.
constexpr size_t kMostQuestion = 65536;
// So many messages are taken before answers are sent again.
constexpr int kMessagesAtOnce = 256;
constexpr int kTalkingThreads = 2;

// A graph, and the files that it reads.
struct SessionGraph {
  SessionGraph(std::shared_ptr<RootedFiles> read, InputGraph graph) : files(std::move(read)), units(std::move(graph)) {}

  const std::shared_ptr<RootedFiles> files;
  const GraphUnits units;
};

// Answers carry the id of their question.
ZmqParts answer_to(uint64_t id, std::string_view is) {
  State head = make_message(is);
  head.set("id", id);
  return to_parts(head);
}

ZmqParts failure(uint64_t id, const std::exception_ptr& error) {
  ZmqParts out = answer_to(id, message::kFailure);
  std::string bytes;
  RowCodec::encode_error(error, bytes);
  add_bytes(out, std::move(bytes));
  return out;
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(as_error(error, "the worker"));
  } catch (const Error& what) {
    return what.what();
  }
}

}  // namespace

WorkerServer::WorkerServer(WorkerSettings settings, const Catalog& catalog)
    : settings_(std::move(settings)),
      catalog_(catalog),
      context_(kTalkingThreads),
      socket_(context_, ZmqSocket::Type::router),
      door_(context_, socket_, {.keys = !settings_.key.empty(), .most_peers = kMostSessions, .log = settings_.log}) {
  const RootedFiles usable(settings_.root, settings_.key);  // throws if there is no such folder
  if (!settings_.key.empty()) {
    socket_.be_server(read_secret_key(settings_.key).secret);
    load_clients();
  } else if (settings_.insecure || is_loopback(settings_.bind)) {
    socket_.be_open_server();
  } else {
    throw ConfigError(cat(settings_.bind,
                          " can be reached from other machines, and there are no keys: anyone there "
                          "could read what lies below --root"),
                      {}, "make keys by trainer keys, and give --key and --clients; or say --insecure");
  }
  socket_.bind(settings_.bind, settings_.listening);
}

WorkerServer::~WorkerServer() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkerServer::stop() noexcept {
  stops_.store(true);
  wake_.signal();
}

void WorkerServer::reload() noexcept {
  reloads_.store(true);
  wake_.signal();
}

WorkerServer::Counts WorkerServer::counts() const {
  return {.peers = peers_.load(), .requests = requests_.load(), .rows = rows_.load(), .bytes = bytes_.load()};
}

void WorkerServer::load_clients() { door_.set_clients(read_client_keys(settings_.clients)); }

void WorkerServer::run() {
  for (int i = 0; i < settings_.threads; ++i) threads_.emplace_back([this] { work(); });
  while (!stops_.load()) {
    zmq_wait(std::array{&socket_}, wake_.descriptor(), 1000ms);
    wake_.clear();
    if (reloads_.exchange(false) && !settings_.key.empty()) {
      try {
        load_clients();
        settings_.log("the clients' keys were read again");
      } catch (const Error& error) {
        settings_.log(cat("the clients' keys stay as they are: ", error.what()));
      }
    }
    int taken = 0;
    for (ZmqParts parts; taken < kMessagesAtOnce && socket_.receive(parts); ++taken) take_message(std::move(parts));
    send_answers();
    forget_silent();
    peers_.store(sessions_.size());
  }
}

void WorkerServer::take_message(ZmqParts&& parts) {
  if (parts.size() < 2) return;
  const std::string session(parts.front().bytes());
  const std::string peer = parts[1].peer();
  parts.erase(parts.begin());
  try {
    const State head = read_message(parts);
    const std::string& is = head.text("is");
    const auto known = sessions_.find(session);
    if (is == message::kHello) {
      if (known != sessions_.end()) throw DataError("it says hello again");
      const uint64_t wire = head.value("wire");
      const std::string& theirs = head.text("decoders");
      const std::string ours = decoder_versions();
      if (wire != kWireVersion || theirs != ours) {
        return refuse(session, cat("the worker has ", ours, ", the trainer has ", theirs));
      }
      if (sessions_.size() >= kMostSessions) return refuse(session, "the worker has too many trainers");
      auto made = std::make_shared<Session>();
      made->peer = peer;
      made->files = std::make_shared<RootedFiles>(settings_.root, settings_.key);
      made->heard = Clock::now();
      sessions_[session] = std::move(made);
      tell_once(peer, cat("a trainer at ", peer, " has connected"));
      send(session, to_parts(make_message(message::kHello)));
    } else if (known == sessions_.end()) {
      refuse(session, "the worker does not know this connection any more");
    } else {
      known->second->heard = Clock::now();
      if (is == message::kForget) {
        known->second->graphs.erase(head.value("graph"));
      } else if (is != message::kPing) {
        take_question(session, known->second, parts);
      }
    }
  } catch (const Error& error) {
    sessions_.erase(session);
    tell_once(peer, cat("the connection from ", peer, " is not used any more: ", escape_controls(error.message())));
    refuse(session, error.message());
  }
}

void WorkerServer::tell_once(const std::string& peer, std::string_view what) {
  constexpr size_t kMost = 4096;
  if (told_.size() < kMost && told_.insert(cat(peer, ' ', what)).second) settings_.log(std::string(what));
}

void WorkerServer::take_question(const std::string& session, const std::shared_ptr<Session>& from,
                                 const ZmqParts& parts) {
  const State head = read_message(parts);
  Job job{.session = session, .alive = from, .id = 0, .question = {}, .files = from->files};
  const bool is_graph = head.text("is") == message::kGraph;
  if (is_graph) {
    if (from->graphs.size() >= kMostGraphs) throw DataError(cat("more than ", kMostGraphs, " graphs at once"));
    from->graphs[head.value("graph")] = nullptr;  // until it is built
    job.question = head;
  } else {
    job.id = head.value("id");
    if (parts.size() != 2 || parts[1].bytes().size() > kMostQuestion) throw DataError("the question is none");
    job.question = State::decode(parts[1].bytes());
    const std::string& is = job.question.text("is");
    if (is == message::kDecode) {
      const auto graph = from->graphs.find(job.question.value("graph"));
      if (graph == from->graphs.end() || !graph->second) throw DataError("the graph is unknown");
      job.units = graph->second;
    } else if (is != message::kFile) {
      throw DataError("the question is none");
    }
  }
  if (++from->jobs > kMostJobs) throw DataError(cat("more than ", kMostJobs, " requests at once"));
  requests_.fetch_add(1);
  const MutexLock lock(mutex_);
  // A trainer that plans its units waits for what it asks about files.
  const bool hurries = !is_graph && !job.units;
  jobs_.insert(hurries ? jobs_.begin() : jobs_.end(), std::move(job));
  changed_.notify_one();
}

void WorkerServer::refuse(const std::string& session, std::string_view why) {
  State no = make_message(message::kNo);
  no.set_text("why", why);
  send(session, to_parts(no));
}

void WorkerServer::send(const std::string& session, ZmqParts&& parts) {
  for (const ZmqPart& part : parts) bytes_.fetch_add(part.bytes().size());
  parts.insert(parts.begin(), ZmqPart(session));
  if (!socket_.send(std::move(parts))) sessions_.erase(session);
}

void WorkerServer::send_answers() {
  std::vector<Answer> answers;
  {
    const MutexLock lock(mutex_);
    answers.swap(answers_);
  }
  for (Answer& answer : answers) {
    const auto found = sessions_.find(answer.session);
    if (found == sessions_.end()) continue;
    Session& session = *found->second;
    if (session.jobs > 0) --session.jobs;
    const auto graph = session.graphs.find(answer.graph);
    if (answer.units && graph != session.graphs.end()) graph->second = std::move(answer.units);
    send(answer.session, std::move(answer.parts));
  }
}

void WorkerServer::forget_silent() {
  const Clock::time_point now = Clock::now();
  std::erase_if(sessions_,
                [&](const auto& one) { return one.second->jobs == 0 && now - one.second->heard > kSilence; });
}

void WorkerServer::work() {
  const FloatMode mode;
  for (;;) {
    Job job;
    {
      const MutexLock lock(mutex_);
      while (jobs_.empty() && !ends_) mutex_.wait(changed_);
      if (ends_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    if (job.alive.expired()) continue;
    Answer answer = this->answer(job);
    {
      const MutexLock lock(mutex_);
      answers_.push_back(std::move(answer));
    }
    wake_.signal();
  }
}

WorkerServer::Answer WorkerServer::answer(Job& job) {
  const std::string& is = job.question.text("is");
  try {
    if (is == message::kGraph) return build(job);
    if (is == message::kDecode) return {.session = job.session, .parts = decode(job)};
    FileAnswer file = answer_file_question(job.question, *job.files);
    file.state.set("id", job.id);
    Answer out{.session = job.session, .parts = to_parts(file.state)};
    add_bytes(out.parts, std::move(file.bytes));
    return out;
  } catch (...) {
    return {.session = job.session, .parts = failure(job.id, as_error(std::current_exception(), "the worker"))};
  }
}

ZmqParts WorkerServer::decode(const Job& job) {
  ZmqParts out;
  const auto use = [&](const Chunk& chunk, TaskMemory& memory) {
    State head = make_message(message::kChunk);
    head.set("id", job.id);
    std::vector<uint64_t> work;
    for (TaskMemory::Work& done : memory.done) {
      work.insert(work.end(), {done.nanoseconds, done.rows, done.bytes});
      done = {};
    }
    head.set("work", work);
    out = to_parts(head);
    std::string bytes;
    RowCodec::encode(chunk, bytes);
    add_bytes(out, std::move(bytes));
    rows_.fetch_add(static_cast<uint64_t>(chunk.rows.size()));
  };
  if (const auto failed = job.units->decode(unit_of(job.question), use)) return failure(job.id, failed);
  return out;
}

WorkerServer::Answer WorkerServer::build(const Job& job) {
  const State& told = job.question;
  Answer out{.session = job.session, .parts = {}, .graph = told.value("graph")};
  try {
    const auto side = told.count("side", static_cast<uint64_t>(Side::held_out));
    Spec list;
    const auto nodes = read_graph_list(parse_yaml(told.text("list"), "the trainer's input"), catalog_.ops, list);
    InputGraph graph = InputGraph::build(without_written_files(nodes, list), catalog_.ops,
                                         {.seed = told.value("seed"),
                                          .files = job.files.get(),
                                          .side = static_cast<Side>(side),
                                          .bad_rows_stay = told.value("bad_rows_stay") != 0});
    State answer = make_message(message::kGraph);
    answer.set("graph", out.graph);
    answer.set("written", job.files->written(graph.files().read));
    const auto built = std::make_shared<SessionGraph>(job.files, std::move(graph));
    out.units = std::shared_ptr<const GraphUnits>(built, &built->units);
    out.parts = to_parts(answer);
    add_bytes(out.parts, out.units->view().encode());
  } catch (...) {
    out.units = nullptr;
    State answer = make_message(message::kNo);
    answer.set("graph", out.graph);
    answer.set_text("why", text_of(std::current_exception()));
    out.parts = to_parts(answer);
  }
  return out;
}

}  // namespace millrace

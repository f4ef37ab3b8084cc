#include "millrace/trainer/remote/curve_keys.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <utility>

#include "millrace/core/descriptor.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/input/files/file_calls.h"
#include "millrace/input/files/glob.h"
#include "millrace/input/files/links.h"

namespace millrace {

namespace {

struct KeyKind {
  std::string_view ending, comment;
  mode_t mode;
};
constexpr KeyKind kSecretKind = {".key", "# Secret key", 0600};
constexpr KeyKind kPublicKind = {".pub", "# Public key", 0644};

// A key file has a comment and a key.
constexpr size_t kMostKeyFile = 4096;
constexpr size_t kMostTold = 4096;
constexpr char kNoKeyHint[] = "trainer keys --out NAME makes keys";
constexpr char kClientsHint[] = "put the file NAME.pub of each client there";

// A file that is gone unless it is kept.
class NewFile {
 public:
  // Throws IoError if the file is there.
  NewFile(const std::string& path, const KeyKind& kind) : path_(path) {
    file_ = Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kind.mode));
    if (!file_) fail(errno);
    made_ = true;
  }
  ~NewFile() {
    if (made_) (void)FileCalls::system().unlink(path_);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text) {
    FileCalls& calls = FileCalls::system();
    if (const int code = write_all(calls, file_, text); code != 0) fail(code);
    if (calls.sync(file_) != 0 || calls.close(file_) != 0) fail(errno);
  }
  void keep() { made_ = false; }

 private:
  [[noreturn]] void fail(int code) const {
    throw IoError(cat("cannot write: ", errno_text(code)), {path_},
                  code == EEXIST ? "give another name, or move the old keys away" : missing_folder_hint(path_, code));
  }

  const std::string path_;
  Descriptor file_;
  bool made_ = false;
};

MissingError missing_key(const std::string& file, int code) {
  return MissingError(cat("cannot read the key: ", errno_text(code)), {file}, code == ENOENT ? kNoKeyHint : "");
}

void check_mode(const std::string& file, const struct stat& status) {
  if ((status.st_mode & (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)) == 0) return;
  throw ConfigError("other users can read or change this secret key", {file}, cat("chmod 600 ", file));
}

// O_NONBLOCK: a pipe without a writer must not wait.
std::string read_key_file(const std::string& file, const KeyKind& kind) {
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0) throw missing_key(file, errno);
  if (!S_ISREG(status.st_mode)) throw ConfigError("expected a file with a key", {file}, kNoKeyHint);
  if (&kind == &kSecretKind) check_mode(file, status);
  std::array<char, kMostKeyFile> bytes;
  ssize_t got = -1;
  do {
    got = ::read(opened.get(), bytes.data(), bytes.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw missing_key(file, errno);
  return {bytes.data(), static_cast<size_t>(got)};
}

std::string read_key(const std::string& file, const KeyKind& kind) {
  const KeyKind& other = &kind == &kSecretKind ? kPublicKind : kSecretKind;
  const auto refuse_other = [&](bool is_other) {
    if (!is_other) return;
    throw ConfigError(
        &kind == &kSecretKind ? "expected a secret key, got a public one" : "expected a public key, got a secret one",
        {file}, cat("give the file that ends in ", kind.ending));
  };
  refuse_other(file.ends_with(other.ending));
  const std::string text = read_key_file(file, kind);
  refuse_other(text.starts_with(other.comment));
  std::vector<std::string> keys;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (is_curve_key(line)) keys.emplace_back(line);
  }
  if (keys.size() == 1) return keys[0];
  throw ConfigError(keys.empty() ? "no key is in the file" : "more than one key is in the file", {file}, kNoKeyHint);
}

}  // namespace

void write_keys(const std::string& name) {
  const CurveKeys keys = ZmqContext::make_keys();
  const std::string base = escape_controls(std::filesystem::path(name).filename().string());
  NewFile secret(cat(name, kSecretKind.ending), kSecretKind), open(cat(name, kPublicKind.ending), kPublicKind);
  secret.write(cat(kSecretKind.comment, ' ', base, " of Millrace: keep it where it is, and give others ", base,
                   kPublicKind.ending, ".\n", keys.secret, '\n'));
  open.write(cat(kPublicKind.comment, ' ', base, " of Millrace: for those who are to know it.\n", keys.open, '\n'));
  secret.keep();
  open.keep();
}

CurveKeys read_secret_key(const std::string& file) {
  CurveKeys out{.secret = read_key(file, kSecretKind), .open = {}};
  out.open = ZmqContext::public_key(out.secret);
  return out;
}

std::string read_public_key(const std::string& file) { return read_key(file, kPublicKind); }

std::vector<std::string> read_client_keys(const std::string& folder) {
  std::error_code failure;
  if (!std::filesystem::is_directory(folder, failure)) {
    throw MissingError(failure ? cat("cannot read the folder: ", errno_text(failure.value())) : "expected a folder",
                       {folder}, kClientsHint);
  }
  std::vector<std::string> out;
  for (const std::string& name : list_folder(folder)) {
    if (!glob_matches(cat('*', kPublicKind.ending), name)) continue;
    out.push_back(read_public_key((std::filesystem::path(folder) / name).string()));
  }
  if (!out.empty()) return out;
  throw ConfigError("no keys of clients are in the folder", {folder}, kClientsHint);
}

Doorkeeper::Doorkeeper(ZmqContext& context, ZmqSocket& server, Settings settings)
    : settings_(std::move(settings)), questions_(context, ZmqSocket::Type::rep), connections_(server.monitor(context)) {
  questions_.bind("inproc://zeromq.zap.01");
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    std::rethrow_exception(as_error(std::current_exception(), "cannot start a thread"));
  }
}

Doorkeeper::~Doorkeeper() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
  }
  wake_.signal();
  thread_.join();
}

void Doorkeeper::set_clients(const std::vector<std::string>& keys) {
  const MutexLock lock(mutex_);
  clients_ = {keys.begin(), keys.end()};
  told_.clear();
}

size_t Doorkeeper::peers() const {
  const MutexLock lock(mutex_);
  return peers_besides(0);
}

void Doorkeeper::run() {
  constexpr std::string_view kVersion = "1.0";
  const std::array<ZmqSocket*, 2> sockets = {&questions_, &connections_};
  const auto forever = std::chrono::milliseconds(-1);
  const auto ends = [this] {
    const MutexLock lock(mutex_);
    return ends_;
  };
  uint64_t asked = 0;
  while (!ends()) {
    zmq_wait(sockets, wake_.descriptor(), forever);
    take_connections();
    for (ZmqParts question; !ends() && questions_.receive(question);) {
      ++asked;
      // Another thread of libzmq is about to tell of the connection that asks.
      for (take_connections(); opened_ < asked && !ends(); take_connections()) {
        zmq_wait(std::array{&connections_}, wake_.descriptor(), forever);
      }
      const bool in = lets_in(question);
      ZmqParts answer;
      answer.emplace_back(std::string(kVersion));
      answer.push_back(question.size() > 1 ? std::move(question[1]) : ZmqPart());
      answer.emplace_back(in ? "200" : "400");
      answer.emplace_back(in ? "OK" : "refused");
      answer.emplace_back();  // no name of a user
      answer.emplace_back();  // nothing about the user
      questions_.send(std::move(answer));
    }
  }
}

// That a connection has ended may be told before it is told that it was opened.
void Doorkeeper::take_connections() {
  while (const auto told = connections_.next_connection()) {
    const MutexLock lock(mutex_);
    if (told->open) {
      ++opened_;
      if (ended_first_.erase(told->number) == 0) open_[told->number] = Clock::now();
    } else if (open_.erase(told->number) == 0) {
      ended_first_.insert(told->number);
    }
  }
}

// libzmq does not tell which connections were let in. But those that are older than a handshake may take were, all of
// them; of the others, no more than were let in of late.
size_t Doorkeeper::peers_besides(size_t asking) const {
  constexpr std::chrono::seconds kLate{2};
  const Clock::time_point young = Clock::now() - ZmqSocket::kHandshake - kLate;
  const auto is_young = [&](Clock::time_point since) { return since > young; };
  const auto young_open =
      static_cast<size_t>(std::ranges::count_if(open_, [&](const auto& one) { return is_young(one.second); }));
  const auto young_in = static_cast<size_t>(std::ranges::count_if(let_in_, is_young));
  return open_.size() - young_open + std::min(young_open - std::min(asking, young_open), young_in);
}

bool Doorkeeper::lets_in(const ZmqParts& question) {
  enum { kOf = 0, kAddress = 3, kMechanism = 5, kKey = 6 };
  if (question.size() <= kMechanism || question[kOf].bytes() != "1.0") return false;
  bool full = false;
  {
    const MutexLock lock(mutex_);
    full = peers_besides(1) >= settings_.most_peers;
    const bool known = !settings_.keys || (question[kMechanism].bytes() == "CURVE" && question.size() > kKey &&
                                           clients_.contains(curve_key_text(question[kKey].bytes())));
    if (known && !full) {
      let_in_.push_back(Clock::now());
      if (let_in_.size() > settings_.most_peers) let_in_.pop_front();
      return true;
    }
    full = full && known;
  }
  refuse(std::string(question[kAddress].bytes()),
         full ? cat("there is room for ", count_of(static_cast<int64_t>(settings_.most_peers), "peer"), " only")
              : "its key is not among the clients' keys");
  return false;
}

void Doorkeeper::refuse(std::string address, std::string_view why) {
  bool last = false;
  {
    const MutexLock lock(mutex_);
    if (told_.size() > kMostTold || !told_.insert(address).second) return;
    last = told_.size() > kMostTold;
  }
  if (settings_.log == nullptr) return;
  settings_.log(last ? "refused peers from more than 4096 addresses; no more of them are told"
                     : cat("refused ", address.empty() ? "a peer" : address, ": ", why));
}

}  // namespace millrace

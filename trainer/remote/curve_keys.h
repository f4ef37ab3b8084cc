// Keys of workers and their clients: files, and who may come in.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "millrace/core/clock.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/trainer/remote/wake_up.h"
#include "millrace/trainer/remote/zmq_socket.h"

namespace millrace {

// Makes a pair of keys: NAME.key, which only its owner can read (0600), and NAME.pub. Throws IoError, if one of the
// files is there already, too; ConfigError as ZmqContext::make_keys() does. Neither file is left if it throws.
void write_keys(const std::string& name);

// Read NAME.key, and NAME.pub: a comment in the first line, and the key in a line of its own. Both throw MissingError
// if the file cannot be read, and ConfigError if it holds no key or a key of the other sort; read_secret_key() also if
// other users can read the file, and as ZmqContext does.
CurveKeys read_secret_key(const std::string& file);
std::string read_public_key(const std::string& file);

// The keys in the files *.pub of a folder, in the order of their names. Throws as read_public_key() does, and
// ConfigError if there are none.
std::vector<std::string> read_client_keys(const std::string& folder);

// Answers libzmq's question whether a peer may come in (ZAP, RFC 27), in a thread of its own. Thread-safe.
class Doorkeeper {
 public:
  struct Settings {
    bool keys = false;         // only peers whose key is among the clients'
    size_t most_peers = 1000;  // connections at a time
    // Gets a line for each address that is refused, once for each list of clients. Called by the Doorkeeper's thread;
    // throws nothing.
    std::function<void(const std::string& line)> log = {};
  };

  // REQUIRES: `server` is not bound yet, and has no other monitor; a context has one Doorkeeper. Throws IoError.
  Doorkeeper(ZmqContext& context, ZmqSocket& server, Settings settings);
  ~Doorkeeper();

  // Who may come in from now on; peers that are in already stay. Nobody may before.
  void set_clients(const std::vector<std::string>& keys);
  // How many peers are in. Strangers whose handshake is not over do not count; a peer that has just left may still.
  size_t peers() const;

 private:
  void run();
  void take_connections();
  // The answer to one question.
  bool lets_in(const ZmqParts& question);
  void refuse(std::string address, std::string_view why);
  size_t peers_besides(size_t asking) const MILLRACE_REQUIRES(mutex_);

  const Settings settings_;
  ZmqSocket questions_, connections_;  // the thread's, as is the next one
  uint64_t opened_ = 0;                // connections so far
  WakeUp wake_;
  mutable Mutex mutex_;
  bool ends_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::set<std::string> clients_ MILLRACE_GUARDED_BY(mutex_);
  std::map<uint32_t, Clock::time_point> open_ MILLRACE_GUARDED_BY(mutex_);  // connections, and since when
  std::set<uint32_t> ended_first_ MILLRACE_GUARDED_BY(mutex_);              // their end was told before their beginning
  std::deque<Clock::time_point> let_in_ MILLRACE_GUARDED_BY(mutex_);        // when the last peers were let in
  std::set<std::string> told_ MILLRACE_GUARDED_BY(mutex_);                  // the addresses that were refused
  std::thread thread_;
};

}  // namespace millrace

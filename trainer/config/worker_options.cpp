#include "millrace/trainer/config/worker_options.h"

#include "millrace/core/text.h"

namespace millrace {

void WorkerOptions::declare(OptionReader& o) {
  o.required("connect", connect, "[\"tcp://host:5599\"]: where trainer worker listens, one endpoint for each worker");
  o.optional("key", key, "NAME.key of trainer keys: who this machine is; with server_key");
  o.optional("server_key", server_key, "WORKER.pub of trainer keys: who the workers are");
  o.optional("ahead", ahead, {.min = 1, .max = 64}, "units that a connection to a worker has at once");
  o.optional("fallback", fallback,
             "if no worker answers: local decodes here, wait goes on waiting, fail ends the run; only local needs the "
             "files on this machine");
  o.optional("insecure", insecure, "whether workers on other machines may be used without keys");
  if (!o.reading()) return;
  if (connect.empty()) throw o.node("connect").error("expected at least one endpoint", "such as tcp://host:5599");
  if (key.empty() != server_key.empty()) {
    throw o.node(key.empty() ? "server_key" : "key").error("key and server_key need each other");
  }
  constexpr int64_t kMostOut = 1024;
  if (std::ssize(connect) * ahead > kMostOut) {
    throw o.node("connect").error(
        cat(connect.size(), " endpoints with ahead: ", ahead, " are more than ", kMostOut, " units at once"),
        "lower ahead");
  }
  for (const std::string& endpoint : connect) {
    if (!endpoint.starts_with("tcp://") || endpoint.rfind(':') <= 6) {
      throw o.node("connect").error(cat("expected tcp://HOST:PORT, got ", quote(endpoint)));
    }
    if (!key.empty() || insecure || is_loopback(endpoint)) continue;
    throw o.node("connect").error(
        cat(endpoint,
            " is on another machine, and there are no keys: anyone on the way could read and change the rows"),
        "make keys by trainer keys, and set key and server_key; or say insecure: true");
  }
}

bool is_loopback(std::string_view endpoint) {
  constexpr std::string_view kScheme = "tcp://";
  if (!endpoint.starts_with(kScheme)) return false;
  const std::string_view host = endpoint.substr(kScheme.size(), endpoint.rfind(':') - kScheme.size());
  const bool numbers = host.find_first_not_of("0123456789.") == host.npos;
  return host == "localhost" || host == "[::1]" || (numbers && host.starts_with("127."));
}

}  // namespace millrace

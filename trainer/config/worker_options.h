// The configuration's key `workers`: who decodes rows in place of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/options.h"

namespace millrace {

// What happens to units if no worker answers.
enum class WorkerFallback : uint8_t { local, wait, fail };
template <>
struct EnumNames<WorkerFallback> {
  static constexpr std::pair<std::string_view, WorkerFallback> kNames[] = {
      {"local", WorkerFallback::local}, {"wait", WorkerFallback::wait}, {"fail", WorkerFallback::fail}};
};

struct MILLRACE_EXPORT WorkerOptions {
  std::vector<std::string> connect;  // "tcp://host:5599"
  std::string key, server_key;       // files; empty: no keys
  int64_t ahead = 8;
  WorkerFallback fallback = WorkerFallback::local;
  bool insecure = false;

  void declare(OptionReader& o);
};

// Whether only this machine can reach the endpoint "tcp://HOST:PORT": HOST is localhost, 127.x.x.x or [::1].
bool is_loopback(std::string_view endpoint);

}  // namespace millrace

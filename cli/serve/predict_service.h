// PredictService: a server that answers rows of JSON by a model.
//
//   POST /predict   a JSON list of objects -> the list of their answers
//   GET /healthz    200 while it takes requests
//   GET /metrics    counts and times, for Prometheus
//
// reload() and stop() may be called by any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "millrace/cli/serve/listening_socket.h"
#include "millrace/cli/serve/served_model.h"

namespace millrace::cli {

struct PredictServiceArgs {
  ListeningSocket socket;
  int threads = 1;  // that take requests, and as many that answer them
  // Loads the model, at the beginning and for each reload().
  std::function<std::shared_ptr<const ServedModel>()> load;
  std::function<void(const std::string& line)> log;
  std::function<void(const std::string& line)> log_error;  // of failures
};

class PredictService {
 public:
  // Throws as `load`, and as HttpServer's constructor.
  explicit PredictService(PredictServiceArgs args);
  ~PredictService();

  // Loads the model anew. Requests that have come are answered by the old one, and so are all others if it fails, which
  // the log tells.
  void reload();
  // Takes no more connections, and answers the requests that have come.
  void stop() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::cli

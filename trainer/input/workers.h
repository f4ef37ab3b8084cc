// Workers of a configuration: trainer worker on other machines decodes rows for it. A build without them has this
// header only.
#pragma once

#include <memory>

#include "millrace/input/run/unit_decoder.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/worker_options.h"

namespace millrace {

// Connects when they are first needed. Throws ConfigError if a key cannot be read, or if libzmq is absent.
std::shared_ptr<Workers> make_workers(const WorkerOptions& options);

// Workers in this process, with a thread each, for comparisons and tests: they read this machine's files and listen on
// loopback.
class LocalWorkers {
 public:
  virtual ~LocalWorkers() = default;
  // The key `workers` of a configuration that uses them.
  virtual WorkerOptions options() const = 0;
};
// `catalog` outlives them.
std::unique_ptr<LocalWorkers> start_local_workers(int count, const Catalog& catalog);

}  // namespace millrace

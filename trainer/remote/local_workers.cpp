#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/input/workers.h"
#include "millrace/trainer/remote/worker_server.h"

namespace millrace {

namespace {

// A folder that only this user can enter; it is removed at the end.
class PrivateFolder {
 public:
  PrivateFolder() : path_((std::filesystem::temp_directory_path() / "millrace-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw IoError(cat("cannot make a folder: ", errno_text(errno)), {path_});
  }
  ~PrivateFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  std::string path(const std::string& name = {}) const { return cat(path_, '/', name); }

 private:
  std::string path_;
};

// All have the key of their one client, so that other users of this machine get nothing.
class OwnWorkers final : public LocalWorkers {
 public:
  OwnWorkers(int count, const Catalog& catalog) {
    write_keys(folder_.path("own"));
    for (int i = 0; i < count; ++i) {
      servers_.push_back(std::make_unique<WorkerServer>(WorkerSettings{.bind = "tcp://127.0.0.1:0",
                                                                       .root = {},
                                                                       .key = folder_.path("own.key"),
                                                                       .clients = folder_.path(),
                                                                       .log = [](const std::string&) {}},
                                                        catalog));
    }
    for (const auto& server : servers_) threads_.emplace_back([&server] { server->run(); });
  }
  ~OwnWorkers() override {
    for (const auto& server : servers_) server->stop();
    for (std::thread& thread : threads_) thread.join();
  }
  OwnWorkers(const OwnWorkers&) = delete;
  OwnWorkers& operator=(const OwnWorkers&) = delete;

  WorkerOptions options() const override {
    WorkerOptions out{.connect = {}, .key = folder_.path("own.key"), .server_key = folder_.path("own.pub")};
    for (const auto& server : servers_) out.connect.push_back(server->endpoint());
    return out;
  }

 private:
  const PrivateFolder folder_;
  std::vector<std::unique_ptr<WorkerServer>> servers_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<LocalWorkers> start_local_workers(int count, const Catalog& catalog) {
  return std::make_unique<OwnWorkers>(count, catalog);
}

}  // namespace millrace

#include "millrace/cli/serve/predict_service.h"

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/cli/serve/http_server.h"
#include "millrace/cli/serve/predict_queue.h"
#include "millrace/cli/serve/serve_metrics.h"
#include "millrace/cli/text/text_layout.h"
#include "millrace/core/clock.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/mutex.h"

namespace millrace::cli {

namespace {

// Of all requests together: bodies, what is made of them, and answers.
constexpr size_t kMostBytes = size_t{512} << 20;

struct Route {
  std::string_view path;
  const char* methods;
};
constexpr std::array<Route, 3> kRoutes = {{{"/predict", "POST"}, {"/healthz", "GET, HEAD"}, {"/metrics", "GET, HEAD"}}};

const Route* route_of(std::string_view path) {
  const auto* const found = std::ranges::find(kRoutes, path, &Route::path);
  return found == kRoutes.end() ? nullptr : found;
}

std::optional<HttpAnswer> refuse_route(const HttpExchange& exchange) {
  const Route* const route = route_of(exchange.path);
  if (route == nullptr) {
    return refusal(404, cat("there is nothing at ", quote(exchange.path)),
                   "there are POST /predict, GET /healthz and GET /metrics");
  }
  const std::string_view methods = route->methods;
  if (methods == exchange.method || (methods != "POST" && (exchange.method == "GET" || exchange.method == "HEAD"))) {
    return {};
  }
  HttpAnswer answer =
      refusal(405, cat("the method ", quote(exchange.method), " is not for ", route->path), cat("it takes ", methods));
  answer.allow = route->methods;
  return answer;
}

std::string columns_text(const ServedModel& model) {
  constexpr size_t kMost = 50;
  return join_first(model.network.dialect().header, kMost);
}

}  // namespace

struct PredictService::Impl {
  explicit Impl(PredictServiceArgs service)
      : args(std::move(service)), queue({.threads = args.threads, .metrics = &metrics, .log_error = args.log_error}) {
    load();
    const std::string address = args.socket.address;
    server.emplace(HttpServerArgs{.listening = std::move(args.socket.descriptor),
                                  .threads = args.threads,
                                  .budget = &budget,
                                  .refuse = refuse_route,
                                  .prepare = [this](HttpExchange& exchange) { return prepare(exchange); },
                                  .answered =
                                      [this](const HttpExchange& exchange, const HttpAnswer& answer) {
                                        const Route* const route = route_of(exchange.path);
                                        metrics.add_request(
                                            route == nullptr ? "other" : route->path, answer.status,
                                            static_cast<double>(nanoseconds_since(exchange.begun)) / 1e9);
                                      }});
    server->start();
    args.log(cat("listening at http://", address, ", ", count_of(args.threads, "thread")));
  }

  void load() {
    const std::shared_ptr<const ServedModel> loaded = args.load();
    {
      const MutexLock lock(mutex);
      model = loaded;
    }
    metrics.add_load(true);
    args.log(cat("the model reads ", columns_text(*loaded)));
  }

  std::shared_ptr<const ServedModel> current() {
    const MutexLock lock(mutex);
    return model;
  }

  std::string metrics_text() {
    return metrics.text({.connections = server->connections(), .held_bytes = budget.held()});
  }

  std::optional<HttpAnswer> prepare(HttpExchange& exchange) {
    if (exchange.path == "/healthz") return HttpAnswer{.body = "ok\n", .type = "text/plain"};
    if (exchange.path == "/metrics") {
      return HttpAnswer{.body = metrics_text(), .type = "text/plain; version=0.0.4; charset=utf-8"};
    }
    auto job = std::make_shared<PredictQueue::Job>();
    job->exchange = &exchange;
    job->model = current();
    try {
      job->rows = job->model->reader.read(exchange.body);
    } catch (const DataError& error) {
      return refusal(400, error.message(), error.hint());
    }
    exchange.drop_body();
    if (!exchange.bytes.add(job->rows.text.capacity() + job->rows.begins.capacity() * sizeof(uint64_t))) return busy();
    exchange.start = [this, job] { queue.add(job); };
    return {};
  }

  PredictServiceArgs args;
  ByteBudget budget{kMostBytes};
  ServeMetrics metrics;
  Mutex mutex;
  std::shared_ptr<const ServedModel> model MILLRACE_GUARDED_BY(mutex);
  PredictQueue queue;
  std::optional<HttpServer> server;
};

PredictService::PredictService(PredictServiceArgs args) : impl_(std::make_unique<Impl>(std::move(args))) {}
PredictService::~PredictService() = default;

void PredictService::reload() {
  try {
    impl_->load();
  } catch (const std::exception& error) {
    impl_->metrics.add_load(false);
    impl_->args.log_error(cat("the model that was loaded goes on: ", what_of(error)));
  }
}

void PredictService::stop() noexcept { impl_->server->stop(); }

}  // namespace millrace::cli

#include "millrace/cli/serve/predict_queue.h"

#include <algorithm>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/trainer/step/step_inputs.h"

namespace millrace::cli {

namespace {

// Rows of texts have memory of their own, which grows. Threads give it back after texts with more bytes than this.
constexpr size_t kKeptBytes = 256 << 10;

}  // namespace

// The memory of one thread. It belongs to the model, which it does not keep.
struct PredictQueue::Worker {
  std::weak_ptr<const ServedModel> model;
  TextNetwork::Memory memory;
  RowBlock decoded;  // of one part
  RowBlock rows;     // of all parts
  std::vector<float> outputs;
};

PredictQueue::PredictQueue(PredictQueueArgs args) : args_(std::move(args)) {
  for (int i = 0; i < args_.threads; ++i) threads_.emplace_back([this] { work(); });
}

PredictQueue::~PredictQueue() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PredictQueue::add(std::shared_ptr<Job> job) {
  {
    const MutexLock lock(mutex_);
    waiting_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void PredictQueue::work() {
  Worker worker;
  for (std::vector<Part> parts = take(); !parts.empty(); parts = take()) {
    run(worker, parts);
    for (Part& part : parts) {
      if (part.job) add(std::move(part.job));
    }
  }
}

// Waits for requests of one model; none come at the end.
std::vector<PredictQueue::Part> PredictQueue::take() {
  std::vector<Part> parts;
  const MutexLock lock(mutex_);
  while (waiting_.empty() && !ends_) mutex_.wait(changed_);
  if (waiting_.empty()) return parts;
  const std::shared_ptr<const ServedModel> model = waiting_.front()->model;
  size_t room = model->rows_at_once();
  for (auto at = waiting_.begin(); at != waiting_.end() && room > 0;) {
    if ((*at)->model != model) {
      ++at;
      continue;
    }
    const size_t count = std::min(room, (*at)->rows.begins.size() - (*at)->next);
    parts.push_back({std::move(*at), count});
    room -= count;
    at = waiting_.erase(at);
  }
  if (!waiting_.empty()) changed_.notify_one();
  return parts;
}

// Gives each part its answers, or an error.
void PredictQueue::run(Worker& worker, std::vector<Part>& parts) const {
  const std::shared_ptr<const ServedModel> model = parts.front().job->model;
  if (worker.model.lock() != model) {
    worker = {};
    worker.model = model;
  }
  try {
    const size_t bytes = decode(worker, parts);
    args_.metrics->add_batch(static_cast<size_t>(worker.rows.size()), parts.size());
    while (!predict(*model, worker, parts)) {
    }
    const float* outputs = worker.outputs.data();
    for (Part& part : parts) {
      if (!part.job) continue;
      write(part, outputs);
      outputs += part.count * static_cast<size_t>(model->network.outputs());
    }
    if (bytes > kKeptBytes) worker = {};
  } catch (...) {
    for (Part& part : parts) fail(part);
    worker = {};
  }
}

// Makes the rows of all parts, without those that are refused. Returns the bytes of their texts.
size_t PredictQueue::decode(Worker& worker, std::vector<Part>& parts) const {
  size_t bytes = 0;
  int64_t most = 0;
  for (const Part& part : parts) most += static_cast<int64_t>(part.count);
  worker.rows.clear();
  for (Part& part : parts) {
    const RequestedRows& all = part.job->rows;
    const size_t first = part.job->next, end = first + part.count;
    if (first == end) continue;
    const size_t text_end = end < all.begins.size() ? all.begins[end] : all.text.size();
    const RowTexts texts{.text = std::string_view(all.text).substr(all.begins[first], text_end - all.begins[first]),
                         .begins = std::span(all.begins).subspan(first, part.count)};
    bytes += texts.text.size();
    try {
      part.job->model->network.decode(texts, first, worker.decoded, worker.memory);
    } catch (const DataError&) {
      fail(part);
      continue;
    }
    const int64_t before = worker.rows.size();
    if (before == 0) worker.rows.configure(worker.decoded.shared_spec(), most);
    worker.rows.resize(before + worker.decoded.size());
    for (int64_t row = 0; row < worker.decoded.size(); ++row) worker.rows.copy_row(worker.decoded, row, before + row);
  }
  return bytes;
}

// Predicts the rows of all parts. False: the model refuses a row. Then its part has the error and no rows any more, and
// the rows of the other parts have to be predicted again.
bool PredictQueue::predict(const ServedModel& model, Worker& worker, std::vector<Part>& parts) const {
  RowBlock& rows = worker.rows;
  worker.outputs.resize(static_cast<size_t>(rows.size()) * static_cast<size_t>(model.network.outputs()));
  try {
    if (rows.size() > 0) model.network.predict(rows, worker.outputs);
    return true;
  } catch (const RowError& error) {
    int64_t first = 0, end = 0;
    const auto refused = std::ranges::find_if(parts, [&](const Part& part) {
      if (!part.job) return false;
      first = std::exchange(end, end + static_cast<int64_t>(part.count));
      return error.row < end;
    });
    if (refused == parts.end()) throw;
    const size_t row = refused->job->next + static_cast<size_t>(error.row - first);
    finish(*refused, refusal(400, cat("row ", row, ": ", error.message()), error.hint()));
    for (int64_t next = end; next < rows.size(); ++next) rows.copy_row(rows, next, next - (end - first));
    rows.resize(rows.size() - (end - first));
  }
  return false;
}

// Adds the answers for the outputs of the part.
void PredictQueue::write(Part& part, const float* outputs) const {
  Job& job = *part.job;
  const size_t before = job.answer.capacity();
  const auto row_outputs = static_cast<size_t>(job.model->network.outputs());
  for (size_t row = 0; row < part.count; ++row) {
    if (job.answer.size() > kMostAnswer) {
      return finish(part,
                    refusal(413, cat("the answer has more than ", kMostAnswer, " bytes"), "send fewer rows at once"));
    }
    job.model->text.append(job.answer,
                           {.output = {outputs + row * row_outputs, row_outputs}, .number = job.next + row});
    job.answer.back() = ',';  // in place of the line's end
    job.answer += '\n';
  }
  if (!job.exchange->bytes.add(job.answer.capacity() - before)) {
    return finish(part, busy());
  }
  job.next += part.count;
  if (job.next < job.rows.begins.size()) return;
  args_.metrics->add_rows(job.next);
  if (job.next > 0) job.answer.resize(job.answer.size() - 2);
  job.answer += "]\n";
  finish(part, {.body = std::move(job.answer)});
}

void PredictQueue::finish(Part& part, HttpAnswer answer) const noexcept {
  const std::shared_ptr<Job> ends = std::move(part.job);
  ends->exchange->answer(std::move(answer));
}

// Answers with the exception that is being handled.
void PredictQueue::fail(Part& part) const noexcept {
  if (!part.job) return;
  HttpAnswer answer{.status = 500};
  try {
    answer = answer_of(std::current_exception());
  } catch (...) {  // no memory is left for words
  }
  finish(part, std::move(answer));
}

HttpAnswer PredictQueue::answer_of(const std::exception_ptr& exception) const {
  try {
    std::rethrow_exception(exception);
  } catch (const DataError& error) {
    return refusal(400, error.message(), error.hint());
  } catch (const std::exception& error) {
    args_.log_error(cat("a request failed: ", what_of(error)));
  } catch (...) {
    args_.log_error("a request failed");
  }
  return refusal(500, "the server failed", "its log says why");
}

}  // namespace millrace::cli

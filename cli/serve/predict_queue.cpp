#include "millrace/cli/serve/predict_queue.h"

#include <algorithm>
#include <exception>
#include <span>
#include <string_view>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cli {

// The memory of one thread.
struct PredictQueue::Worker {
  std::shared_ptr<const ServedModel> model;
  TextNetwork::Memory memory;    // belongs to the model
  std::vector<RowBlock> blocks;  // the rows of each part
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
  try {
    decode(worker, parts);
    size_t rows = 0;
    for (const Part& part : parts) rows += part.job ? part.count : 0;
    const TextNetwork& network = worker.model->network;
    const auto row_outputs = static_cast<size_t>(network.outputs());
    worker.outputs.resize(rows * row_outputs);
    args_.metrics->add_batch(rows, parts.size());
    size_t next_part = 0;
    int64_t next_row = 0;
    // It is asked for all rows once, in order.
    const auto fill = [&](RowBlock& block, int64_t, int64_t count) {
      for (int64_t row = 0; row < count; ++row, ++next_row) {
        while (!parts[next_part].job || next_row == static_cast<int64_t>(parts[next_part].count))
          ++next_part, next_row = 0;
        block.copy_row(worker.blocks[next_part], next_row, row);
      }
    };
    try {
      network.predict(static_cast<int64_t>(rows), fill, worker.outputs);
    } catch (const DataError&) {
      // The model refuses a row of one of them.
      for (size_t i = 0; i < parts.size(); ++i) predict_each(worker, parts[i], worker.blocks[i]);
      return;
    }
    const float* outputs = worker.outputs.data();
    for (Part& part : parts) {
      if (!part.job) continue;
      const float* const own = std::exchange(outputs, outputs + part.count * row_outputs);
      write(part, own);
    }
  } catch (...) {
    for (Part& part : parts) fail(part);
  }
}

void PredictQueue::decode(Worker& worker, std::vector<Part>& parts) const {
  const std::shared_ptr<const ServedModel>& model = parts.front().job->model;
  if (worker.model != model) {
    worker.memory = {};
    worker.blocks.clear();
    worker.model = model;
  }
  if (worker.blocks.size() < parts.size()) worker.blocks.resize(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const RequestedRows& all = parts[i].job->rows;
    const size_t first = parts[i].job->next, end = first + parts[i].count;
    if (first == end) continue;
    const size_t text_end = end < all.begins.size() ? all.begins[end] : all.text.size();
    const RowTexts texts{.text = std::string_view(all.text).substr(all.begins[first], text_end - all.begins[first]),
                         .begins = std::span(all.begins).subspan(first, parts[i].count)};
    try {
      model->network.decode(texts, first, worker.blocks[i], worker.memory);
    } catch (const DataError&) {
      fail(parts[i]);
    }
  }
}

// Predicts the rows one by one, up to one that the model refuses.
void PredictQueue::predict_each(Worker& worker, Part& part, const RowBlock& rows) const {
  if (!part.job) return;
  const TextNetwork& network = worker.model->network;
  const auto row_outputs = static_cast<size_t>(network.outputs());
  worker.outputs.resize(part.count * row_outputs);
  for (size_t row = 0; row < part.count; ++row) {
    const auto fill = [&](RowBlock& block, int64_t, int64_t) { block.copy_row(rows, static_cast<int64_t>(row), 0); };
    try {
      network.predict(1, fill, std::span(worker.outputs).subspan(row * row_outputs, row_outputs));
    } catch (const DataError& error) {
      constexpr std::string_view kOnly = "row 0: ";
      std::string_view message = error.message();
      if (message.starts_with(kOnly)) message.remove_prefix(kOnly.size());
      return finish(part, refusal(400, cat("row ", part.job->next + row, ": ", message), error.hint()));
    }
  }
  write(part, worker.outputs.data());
}

// Adds the answers for the outputs of the part.
void PredictQueue::write(Part& part, const float* outputs) const {
  Job& job = *part.job;
  const size_t before = job.answer.size();
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
  if (!job.exchange->bytes.add(job.answer.size() - before)) {
    return finish(part, busy());
  }
  job.next += part.count;
  if (job.next < job.rows.begins.size()) return;
  args_.metrics->add_rows(job.next);
  if (job.next > 0) job.answer.resize(job.answer.size() - 2);
  job.answer += "]\n";
  finish(part, {.body = std::move(job.answer)});
}

void PredictQueue::finish(Part& part, HttpAnswer answer) const {
  const std::shared_ptr<Job> ends = std::move(part.job);
  ends->exchange->answer(std::move(answer));
}

// Answers with the exception that is being handled.
void PredictQueue::fail(Part& part) const {
  if (!part.job) return;
  try {
    throw;
  } catch (const DataError& error) {
    finish(part, refusal(400, error.message(), error.hint()));
  } catch (const std::exception& error) {
    args_.log(cat("error: a request failed: ", what_of(error)));
    finish(part, refusal(500, "the server failed", "its log says why"));
  }
}

}  // namespace millrace::cli

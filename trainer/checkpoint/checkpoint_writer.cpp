#include "millrace/trainer/checkpoint/checkpoint_writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <utility>

#include "millrace/core/clock.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

// Brings a file to the disk. fsync() does so for every byte of the file, whoever wrote it.
void sync_file(const std::string& path, FileCalls& calls) {
  const Descriptor file = calls.open(path, O_RDONLY);
  if (!file && errno == ENOENT) return;
  if (!file || calls.sync(file) != 0) throw IoError(cat("cannot bring it to the disk: ", errno_text(errno)), {path});
}

// When this thread wakes up, the thread that woke it runs on: the training would wait otherwise. Best effort.
void let_others_run_on() {
  const sched_param none{};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}

}  // namespace

std::string text_of_failure(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(as_error(failure, "writing a checkpoint"));
  } catch (const Error& error) {
    return error.what();
  }
}

CheckpointWriter::CheckpointWriter(CheckpointFolder& folder, size_t keep, Trace* trace)
    : folder_(folder), keep_(keep), trace_(trace) {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    std::rethrow_exception(as_error(std::current_exception(), "cannot start a thread"));
  }
}

CheckpointWriter::~CheckpointWriter() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CheckpointWriter::write(CheckpointJob job) {
  {
    const MutexLock lock(mutex_);
    job_ = std::move(job);
    outcome_.reset();
  }
  changed_.notify_all();
}

void CheckpointWriter::wait() {
  const MutexLock lock(mutex_);
  while (job_ || writes_) mutex_.wait(changed_);
}

std::optional<CheckpointOutcome> CheckpointWriter::outcome() {
  const MutexLock lock(mutex_);
  return std::exchange(outcome_, std::nullopt);
}

void CheckpointWriter::run() {
  if (trace_ != nullptr) trace_->name_thread("checkpoints");
  let_others_run_on();
  const MutexLock lock(mutex_);
  for (;;) {
    while (!job_ && !ends_) mutex_.wait(changed_);
    if (!job_) return;
    const CheckpointJob job = std::move(*job_);
    job_.reset();
    writes_ = true;
    CheckpointOutcome outcome;
    {
      const MutexUnlock unlocked(mutex_);
      outcome = write_now(job);
    }
    writes_ = false;
    outcome_ = std::move(outcome);
    changed_.notify_all();
  }
}

CheckpointOutcome CheckpointWriter::write_now(const CheckpointJob& job) {
  const Clock::time_point begin = Clock::now();
  const TraceRange range(trace_, "step", "write checkpoint", begin);
  CheckpointOutcome out;
  try {
    if (job.copied != nullptr) job.copied->synchronize();
    for (const std::string& path : job.synced) sync_file(path, folder_.calls());
    CheckpointFolder::Written written = folder_.write(job.parts, keep_);
    out.path = std::move(written.path);
    out.warnings = std::move(written.warnings);
  } catch (...) {
    out.failure = text_of_failure(std::current_exception());
  }
  out.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return out;
}

}  // namespace millrace

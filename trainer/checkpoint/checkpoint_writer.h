// CheckpointWriter: a thread that writes one checkpoint after another into a folder.
//
//   CheckpointWriter writer(folder, 3, trace);
//   writer.write(std::move(job));
//   if (auto outcome = writer.outcome()) ...    // or writer.wait() before
//
// One other thread uses the writer, and does not use the folder while a job is being written. The destructor waits
// until the last job is done.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "millrace/core/event.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/core/trace.h"
#include "millrace/trainer/checkpoint/checkpoint_folder.h"

namespace millrace {

struct CheckpointJob {
  CheckpointParts parts;                 // their values must not change before the outcome is there
  std::vector<std::string> synced = {};  // files that must be on the disk before the checkpoint
  const Event* copied = nullptr;         // the values are in place after this event; null: they already are
};

struct CheckpointOutcome {
  std::string path;
  std::string failure;  // empty: the checkpoint is on the disk
  std::vector<std::string> warnings;
  double seconds = 0;
};

// The text of an exception, for messages.
std::string text_of_failure(const std::exception_ptr& failure);

class CheckpointWriter {
 public:
  // Throws InternalError if no thread can be started. REQUIRES: `folder` and `trace` outlive the writer; `trace` may be
  // null.
  CheckpointWriter(CheckpointFolder& folder, size_t keep, Trace* trace);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Returns at once. REQUIRES: the outcome of the previous job was taken.
  void write(CheckpointJob job);
  // Waits until nothing is being written.
  void wait();
  // Takes the outcome of the last job; empty while the job is being written.
  std::optional<CheckpointOutcome> outcome();

 private:
  void run();
  CheckpointOutcome write_now(const CheckpointJob& job);

  CheckpointFolder& folder_;
  const size_t keep_;
  Trace* const trace_;

  Mutex mutex_;
  std::condition_variable changed_;
  std::optional<CheckpointJob> job_ MILLRACE_GUARDED_BY(mutex_);  // until the thread begins it
  std::optional<CheckpointOutcome> outcome_ MILLRACE_GUARDED_BY(mutex_);
  bool writes_ MILLRACE_GUARDED_BY(mutex_) = false, ends_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace millrace

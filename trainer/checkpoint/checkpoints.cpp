#include "millrace/trainer/checkpoint/checkpoints.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "millrace/core/clock.h"
#include "millrace/core/errors.h"
#include "millrace/core/event.h"
#include "millrace/core/text.h"
#include "millrace/core/trace.h"
#include "millrace/trainer/checkpoint/checkpoint_folder.h"
#include "millrace/trainer/checkpoint/checkpoint_writer.h"
#include "millrace/trainer/checkpoint/config_differences.h"
#include "millrace/trainer/files/saved_model.h"

namespace millrace {

namespace {

// Names in the numbers.
constexpr const char* kFiles = "files";
constexpr const char* kBytes = "bytes";

// Of a regular file; empty if there is none.
std::optional<uint64_t> bytes_of_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return static_cast<uint64_t>(status.st_size);
}

class FolderCheckpoints final : public Checkpoints {
 public:
  explicit FolderCheckpoints(const CheckpointsArgs& args);

  std::optional<ResumeReport> resume(const std::string& file) override;
  void appends_to(const std::string& path) override { appended_.push_back(path); }
  void ask() noexcept override { asked_.store(true); }
  std::vector<std::string> begin() override;
  bool at_border(int64_t step, bool last) override;
  const CheckpointSummary& summary() const override { return summary_; }
  uint64_t memory_bound() const override;

 private:
  CheckpointFolder& folder();
  void cut_files(const State& numbers) const;
  bool is_due(int64_t step);
  void take(int64_t step);
  void copy(CheckpointJob& job);
  void collect();

  const CheckpointsArgs args_;
  const CheckpointOptions& options_;
  Trace* const trace_;  // may be null
  TrainingState state_;
  std::vector<std::string> appended_;
  std::optional<CheckpointFolder> folder_;
  std::vector<std::string> warnings_;
  bool resumed_ = false;
  std::atomic<bool> asked_{false};

  // Made by begin().
  Fingerprint fingerprint_;
  Memory copy_;                  // of all tensors
  std::optional<Context> side_;  // of a device: copies while the host goes on
  std::optional<Event> ready_, copied_;
  std::optional<CheckpointWriter> writer_;

  Clock::time_point taken_at_;
  int64_t on_record_ = 0;  // the step of the newest checkpoint on the disk; 0, where there is nothing to lose
  int64_t being_written_ = -1;
  bool waits_ = false;  // one fell due while another was being written
  CheckpointSummary summary_;
};

FolderCheckpoints::FolderCheckpoints(const CheckpointsArgs& args)
    : args_(args),
      options_(*args.config.checkpoint),
      trace_(args.context.executor().trace()),
      state_(args.parts),
      fingerprint_(Fingerprint::here(args.context.device(), args.needs)) {}

CheckpointFolder& FolderCheckpoints::folder() {
  if (!folder_) folder_.emplace(options_.dir, args_.calls);
  return *folder_;
}

// The copy, and the ids of the rows that wait: as the input saves them, while it does so, and as bytes for the file.
uint64_t FolderCheckpoints::memory_bound() const {
  return state_.most_bytes() + 3 * args_.parts.delivery.graph().state_bound();
}

std::optional<ResumeReport> FolderCheckpoints::resume(const std::string& file) {
  if (std::exchange(resumed_, true)) throw InternalError("a training is resumed once");
  ResumeReport report;
  CheckpointFolder& own = folder();
  std::optional<Checkpoint> found = file.empty() ? own.newest(warnings_) : read_checkpoint(file);
  if (!found) return {};
  report.step = static_cast<int64_t>(found->step);
  report.file = found->file.path();
  report.notes = compare_configs(saved_config(found->file), args_.config, args_.catalog);
  if (std::string note = difference(found->fingerprint, fingerprint_); !note.empty()) {
    report.notes.push_back(std::move(note));
  }
  try {
    state_.restore(found->numbers, [&](const std::string& name) { return found->tensor(name); });
  } catch (Error& error) {
    error.add_context(report.file);
    throw;
  }
  cut_files(found->numbers);
  on_record_ = report.step;
  summary_.file = report.file;
  return report;
}

// Takes away what was appended after the checkpoint. A file that is not on record may be of somebody else.
void FolderCheckpoints::cut_files(const State& numbers) const {
  const State& files = numbers.scope(kFiles);
  for (const std::string& path : appended_) {
    const std::optional<uint64_t> now = bytes_of_file(path);
    if (!now || !files.has(path)) continue;
    const uint64_t saved = files.scope(path).count(kBytes);
    if (*now < saved) {
      throw DataError(cat("the file has ", *now, " bytes, but there were ", saved, " when the checkpoint was made"),
                      {path}, "move it away to begin another one");
    }
    if (::truncate(path.c_str(), static_cast<off_t>(saved)) != 0) {
      throw IoError(cat("cannot shorten the file to what it was: ", errno_text(errno)), {path});
    }
  }
}

std::vector<std::string> FolderCheckpoints::begin() {
  if (!resumed_ && !folder().list().empty()) {
    throw args_.config.node("checkpoint")
        .error(cat(quote(options_.dir, 4096), " holds checkpoints of a training"),
               "go on from the newest with --resume, in a program with Trainer::resume(), or choose another folder");
  }
  const Device device = args_.context.device();
  copy_ = Memory::pinned(device, state_.most_bytes());
  if (!device.is_cpu()) {
    side_.emplace(device, args_.context.executor());
    ready_.emplace(device);
    copied_.emplace(device);
  }
  writer_.emplace(folder(), static_cast<size_t>(options_.keep), trace_);
  taken_at_ = Clock::now();
  std::vector<std::string> out = folder().warnings();
  out.insert(out.end(), warnings_.begin(), warnings_.end());
  return out;
}

bool FolderCheckpoints::is_due(int64_t step) {
  if (step == on_record_ || step == being_written_) return false;
  const bool asked = asked_.exchange(false);
  if (options_.every && step % *options_.every == 0) return true;
  if (asked) return true;
  if (!options_.minutes) return false;
  return std::chrono::duration<double>(Clock::now() - taken_at_).count() >= 60 * *options_.minutes;
}

bool FolderCheckpoints::at_border(int64_t step, bool last) {
  if (last) {
    writer_->wait();
    collect();
    if (step == on_record_) return true;
    take(step);
    writer_->wait();
    collect();
    return true;
  }
  collect();
  if (is_due(step)) {
    if (being_written_ >= 0) ++summary_.late;
    waits_ = true;
  }
  if (waits_ && being_written_ < 0) take(step);
  return step == on_record_;
}

// Copies the training and has the copy written.
void FolderCheckpoints::take(int64_t step) {
  const Clock::time_point begin = taken_at_ = Clock::now();
  const TraceRange range(trace_, "step", "checkpoint", begin);
  waits_ = false;
  try {
    CheckpointJob job{.parts = {.step = static_cast<uint64_t>(step),
                                .metadata = args_.metadata,
                                .tensors = {},
                                .numbers = state_.numbers(),
                                .fingerprint = fingerprint_},
                      .synced = args_.written,
                      .copied = copied_ ? &*copied_ : nullptr};
    if (step > 0) job.parts.loss = args_.loss();
    set_optimizer_counts(job.parts.metadata, args_.optimizer());
    State& files = job.parts.numbers.scope(kFiles);
    for (const std::string& path : appended_) {
      files.scope(path).set(kBytes, bytes_of_file(path).value_or(0));
      job.synced.push_back(path);
    }
    copy(job);
    being_written_ = step;
    writer_->write(std::move(job));
  } catch (const Error& error) {
    ++summary_.failed;
    summary_.failure = error.what();
    args_.on_warning(cat("the checkpoint of step ", step, " was not written: ", error.what()));
  }
  summary_.copy_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
}

// On a device the copies are under way when this returns: a later step waits for them, and the writer does.
void FolderCheckpoints::copy(CheckpointJob& job) {
  Context& context = side_ ? *side_ : args_.context;
  if (side_) {
    args_.context.record(*ready_);
    side_->wait_for(*ready_);
  }
  auto* to = static_cast<std::byte*>(copy_.data());
  summary_.bytes = 0;
  for (NamedTensor& tensor : state_.tensors()) {
    const size_t bytes = tensor.values.bytes();
    context.copy_async(to, tensor.values.data(), bytes);
    job.parts.tensors.push_back(
        {std::move(tensor.name), ConstTensorView(to, tensor.values.dtype(), tensor.values.shape())});
    to += bytes;
    summary_.bytes += bytes;
  }
  if (side_) {
    side_->record(*copied_);
    args_.context.wait_for(*copied_);
  }
}

// Tells of a checkpoint that was being written, if it is not any more.
void FolderCheckpoints::collect() {
  if (being_written_ < 0) return;
  std::optional<CheckpointOutcome> outcome = writer_->outcome();
  if (!outcome) return;
  const int64_t step = std::exchange(being_written_, -1);
  summary_.write_seconds += outcome->seconds;
  for (const std::string& warning : outcome->warnings) args_.on_warning(warning);
  if (outcome->failure.empty()) {
    ++summary_.written;
    on_record_ = step;
    summary_.file = outcome->path;
    args_.on_written({.step = step, .file = outcome->path});
  } else {
    ++summary_.failed;
    summary_.failure = outcome->failure;
    args_.on_warning(cat("the checkpoint of step ", step, " was not written: ", outcome->failure));
  }
}

}  // namespace

std::unique_ptr<Checkpoints> Checkpoints::make(const CheckpointsArgs& args) {
  return std::make_unique<FolderCheckpoints>(args);
}

bool Checkpoints::any_in(const std::string& folder) { return !list_checkpoints(folder).empty(); }

}  // namespace millrace

#include "millrace/trainer/checkpoints.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "millrace/core/clock.h"
#include "millrace/core/errors.h"
#include "millrace/core/event.h"
#include "millrace/core/text.h"
#include "millrace/core/trace.h"
#include "millrace/trainer/checkpoint/appended_files.h"
#include "millrace/trainer/checkpoint/checkpoint_folder.h"
#include "millrace/trainer/checkpoint/checkpoint_writer.h"
#include "millrace/trainer/checkpoint/config_differences.h"
#include "millrace/trainer/files/files_in_use.h"
#include "millrace/trainer/files/saved_model.h"

namespace millrace {

namespace {

constexpr const char* kFiles = "files";  // the scope of appended files in a state
constexpr const char* kMakeAnother = "make another trainer of the same configuration";

class FolderCheckpoints final : public Checkpoints {
 public:
  explicit FolderCheckpoints(const CheckpointsArgs& args);

  std::optional<ResumeReport> resume(const std::string& file) override;
  void appends_to(const std::string& path) override;
  void ask() noexcept override { asked_.store(true); }
  std::vector<std::string> begin() override;
  bool at_border(int64_t step, bool last) override;
  void end() override;
  const CheckpointSummary& summary() const override { return summary_; }
  uint64_t memory_bound() const override;

 private:
  void check_files() const;
  CheckpointFolder& folder();
  std::optional<Checkpoint> newest(std::vector<std::string>& warnings);
  Checkpoint given(const std::string& file);
  void check_kept(const std::string& file) const;
  void check(const Checkpoint& checkpoint) const;
  void go_on(const Checkpoint& from, ResumeReport& report);
  bool is_due(int64_t step);
  void begin_one(int64_t step);
  void copy(CheckpointJob& job);
  void finish();
  void look();
  void fail(int64_t step, const std::string& why);

  const CheckpointsArgs args_;
  const CheckpointOptions& options_;
  Trace* const trace_;  // may be null
  const TrainingState state_;
  const Fingerprint fingerprint_;
  AppendedFiles appended_;
  std::optional<CheckpointFolder> folder_;
  bool tried_ = false, resumed_ = false;  // resume() was called; resume() succeeded
  std::atomic<bool> asked_{false};

  // Made by begin().
  Memory copy_;                  // of all tensors
  std::optional<Context> side_;  // for a device: copies while the host goes on
  std::optional<Event> ready_, copied_;
  std::optional<CheckpointWriter> writer_;

  Clock::time_point due_at_;  // when a checkpoint was last due or begun
  int64_t on_record_ = 0;     // the step of the newest checkpoint on the disk. Step 0 needs none: nothing would be lost
  int64_t being_written_ = -1;
  bool overdue_ = false;  // a checkpoint fell due while another was being written
  CheckpointSummary summary_;
};

FolderCheckpoints::FolderCheckpoints(const CheckpointsArgs& args)
    : args_(args),
      options_(*args.config.checkpoint),
      trace_(args.context.executor().trace()),
      state_(args.parts),
      fingerprint_(Fingerprint::here(args.context.device(), args.needs)) {
  check_files();
}

// Throws ConfigError if a checkpoint could not be read again, whenever it is written.
void FolderCheckpoints::check_files() const {
  CheckpointParts parts{.metadata = args_.metadata(), .tensors = {}, .numbers = {}, .fingerprint = fingerprint_};
  for (NamedTensor& tensor : state_.all_tensors()) parts.tensors.push_back({std::move(tensor.name), tensor.values});
  try {
    check_checkpoint(parts);
  } catch (const ConfigError& error) {
    throw args_.config.node("checkpoint").error(error.message());
  }
}

CheckpointFolder& FolderCheckpoints::folder() {
  if (!folder_) folder_.emplace(options_.dir, args_.calls);
  return *folder_;
}

// The copy of the tensors, and the State with its bytes for the file, which take up to three times as much while they
// grow.
uint64_t FolderCheckpoints::memory_bound() const { return state_.most_bytes() + 4 * state_.state_bound(); }

void FolderCheckpoints::appends_to(const std::string& path) {
  if (tried_) throw CallError("appends_to() is called before resume(), which cuts the file");
  appended_.add(path);
}

std::optional<ResumeReport> FolderCheckpoints::resume(const std::string& file) {
  if (std::exchange(tried_, true)) throw CallError("a training is resumed once", {}, kMakeAnother);
  try {
    ResumeReport report;
    const std::optional<Checkpoint> found = file.empty() ? newest(report.warnings) : given(file);
    if (found) go_on(*found, report);
    resumed_ = true;
    return found ? std::optional(std::move(report)) : std::nullopt;
  } catch (...) {
    folder_.reset();
    throw;
  }
}

// Skips checkpoints that are damaged, or that check() refuses.
std::optional<Checkpoint> FolderCheckpoints::newest(std::vector<std::string>& warnings) {
  return folder().newest(warnings, [this](const Checkpoint& one) { check(one); });
}

// The checkpoint that the user names.
Checkpoint FolderCheckpoints::given(const std::string& file) {
  check_kept(file);
  Checkpoint found = read_checkpoint(file);
  const std::vector<ListedCheckpoint> own = folder().list();
  const auto is_it = [&](const ListedCheckpoint& one) { return same_file(one.path, file); };
  if (!own.empty() && std::ranges::none_of(own, is_it)) {
    throw args_.config.node("checkpoint")
        .error(cat(quote(options_.dir, 4096), " holds checkpoints of a training, and ", quote(file, 4096),
                   " is not one of them"),
               "choose another folder");
  }
  check(found);
  return found;
}

// Throws ConfigError if the training, which would go on from `file`, also writes it.
void FolderCheckpoints::check_kept(const std::string& file) const {
  std::vector<std::string> written = args_.written;
  written.insert(written.end(), appended_.paths().begin(), appended_.paths().end());
  const auto& save = args_.config.save;
  if (save) written.insert(written.end(), {save->file, save->last_file()});
  if (std::ranges::none_of(written, [&](const std::string& path) { return same_file(path, file); })) return;
  throw args_.config.node("checkpoint")
      .error(cat(quote(file, 4096), " is the checkpoint to go on from, and this run writes it, too"),
             "copy it, or give the other file another name");
}

// Throws DataError if the training cannot go on from the checkpoint.
void FolderCheckpoints::check(const Checkpoint& checkpoint) const {
  const auto steps = checkpoint.numbers.scope("loop").count("steps");
  if (steps != checkpoint.step) {
    throw DataError(cat("its state is of step ", steps, ", it says step ", checkpoint.step),
                    {checkpoint.file.path(), 0, 0});
  }
  appended_.check(checkpoint.numbers.scope(kFiles));
}

void FolderCheckpoints::go_on(const Checkpoint& from, ResumeReport& report) {
  report.step = static_cast<int64_t>(from.step);
  report.file = from.file.path();
  report.notes = compare_configs(saved_config(from.file), args_.config, args_.catalog);
  if (std::string note = difference(from.fingerprint, fingerprint_); !note.empty()) {
    report.notes.push_back(std::move(note));
  }
  const ModelFile::Index tensors = from.file.by_name();
  const auto find = [&](const std::string& name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? ConstTensorView() : ModelFile::values(*found->second);
  };
  try {
    state_.restore(from.numbers, find);
  } catch (Error& error) {
    error.add_context(report.file);
    throw;
  }
  for (std::string& note : folder().set_aside_after(from.step)) report.notes.push_back(std::move(note));
  const State& files = from.numbers.scope(kFiles);
  for (const std::string& path : appended_.gone(files)) {
    report.warnings.push_back(cat(path, ": the file is gone: another one begins after step ", report.step));
  }
  appended_.cut(files);
  on_record_ = report.step;
  summary_.file = report.file;
}

std::vector<std::string> FolderCheckpoints::begin() {
  if (tried_ && !resumed_) throw CallError("a training that could not be resumed cannot run", {}, kMakeAnother);
  if (!tried_ && !folder().list().empty()) {
    throw args_.config.node("checkpoint")
        .error(cat(quote(options_.dir, 4096), " holds checkpoints of a training"),
               "go on from the newest with --resume, in a program with Trainer::resume(), or choose another folder");
  }
  const Device device = args_.context.device();
  copy_ = Memory::pinned(device, state_.most_bytes());
  // Takes the pages now, not in the first step that is copied.
  std::fill_n(static_cast<std::byte*>(copy_.data()), state_.most_bytes(), std::byte{});
  if (!device.is_cpu()) {
    side_.emplace(device, args_.context.executor());
    ready_.emplace(device);
    copied_.emplace(device);
  }
  writer_.emplace(folder(), static_cast<size_t>(options_.keep), trace_);
  due_at_ = Clock::now();
  return folder().warnings();
}

void FolderCheckpoints::end() {
  writer_.reset();
  if (side_) side_->drain();
  copy_ = {};
  folder_.reset();
}

bool FolderCheckpoints::is_due(int64_t step) {
  if (step == on_record_ || step == being_written_) return false;
  const bool asked = asked_.exchange(false);
  const Clock::time_point now = options_.minutes ? Clock::now() : due_at_;
  const bool by_time =
      options_.minutes && std::chrono::duration<double>(now - due_at_).count() >= 60 * *options_.minutes;
  if (by_time) due_at_ = now;
  return asked || by_time || (options_.every && step % *options_.every == 0);
}

bool FolderCheckpoints::at_border(int64_t step, bool last) {
  if (last) {
    finish();
    if (step != on_record_) {
      begin_one(step);
      finish();
    }
    return true;
  }
  look();
  if (is_due(step)) {
    if (being_written_ >= 0) ++summary_.late;
    overdue_ = true;
  }
  if (overdue_ && being_written_ < 0) begin_one(step);
  return step == on_record_ || step == being_written_;
}

void FolderCheckpoints::finish() {
  writer_->wait();
  look();
}

// Copies the training's values, and gives the copy to the writer.
void FolderCheckpoints::begin_one(int64_t step) {
  const Clock::time_point begin = due_at_ = Clock::now();
  const TraceRange range(trace_, "step", "checkpoint", begin);
  overdue_ = false;
  try {
    CheckpointJob job{.parts = {.step = static_cast<uint64_t>(step),
                                .metadata = args_.metadata(),
                                .tensors = {},
                                .numbers = state_.numbers(),
                                .fingerprint = fingerprint_},
                      .synced = args_.written,
                      .copied = copied_ ? &*copied_ : nullptr};
    if (step > 0) job.parts.loss = args_.loss();
    for (std::string& path : appended_.present()) job.synced.push_back(std::move(path));
    appended_.record(job.parts.numbers.scope(kFiles));
    copy(job);
    being_written_ = step;
    writer_->write(std::move(job));
  } catch (const DataError&) {  // these two come from a step that was under way
    throw;
  } catch (const DeviceError&) {
    throw;
  } catch (...) {
    fail(step, text_of_failure(std::current_exception()));
  }
  summary_.copy_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
}

// On a device, this returns before the copies are done. The next step and the writer wait for them.
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

// Reports the checkpoint that was being written, once the writer is done with it.
void FolderCheckpoints::look() {
  if (being_written_ < 0) return;
  std::optional<CheckpointOutcome> outcome = writer_->outcome();
  if (!outcome) return;
  const int64_t step = std::exchange(being_written_, -1);
  summary_.write_seconds += outcome->seconds;
  for (const std::string& warning : outcome->warnings) args_.on_warning(warning);
  if (!outcome->failure.empty()) return fail(step, outcome->failure);
  ++summary_.written;
  on_record_ = step;
  summary_.file = outcome->path;
  args_.on_written({.step = step, .file = outcome->path});
}

void FolderCheckpoints::fail(int64_t step, const std::string& why) {
  ++summary_.failed;
  summary_.failure = why;
  args_.on_warning(cat("the checkpoint of step ", step, " was not written: ", why));
}

}  // namespace

std::unique_ptr<Checkpoints> Checkpoints::make(const CheckpointsArgs& args) {
  return std::make_unique<FolderCheckpoints>(args);
}

}  // namespace millrace

#include "millrace/cli/verify/verification.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <utility>

#include "millrace/cli/process/kill_before_call.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/cli/verify/child_process.h"
#include "millrace/cli/verify/kill_plan.h"
#include "millrace/cli/verify/redirections.h"
#include "millrace/cli/verify/reference_run.h"
#include "millrace/cli/verify/run_differences.h"
#include "millrace/cli/verify/training_events.h"
#include "millrace/cli/verify/variations.h"
#include "millrace/cli/verify/work_folder.h"
#include "millrace/core/text.h"
#include "millrace/trainer/checkpoint/checkpoint_folder.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/config/overrides.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

namespace {

namespace fs = std::filesystem;

// A training has about so many checkpoints.
constexpr int64_t kCheckpoints = 30;
constexpr const char *kReferenceName = "uninterrupted", *kLogName = "log.jsonl";
// The file for the standard error of the last training in a folder.
constexpr const char* kErrorsName = "errors.txt";

double seconds_since(Clock::time_point start) { return 1e-9 * static_cast<double>(nanoseconds_since(start)); }
Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

std::string read_text(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

void refuse_without_end(const Trainer& trainer) {
  const Config& config = trainer.config();
  const std::string endless = trainer.input().endless_source();
  if (config.train.steps || endless.empty() || (config.validation && config.validation->patience)) return;
  throw config.node("input").error(cat("the rows of ", endless, " never end, so this training has no end to compare"),
                                   "give it one: --set train.steps=1000");
}

void refuse_rows_that_come_once(const Trainer& trainer) {
  std::string once = trainer.input().once_source();
  if (once.empty() && trainer.validation_input() != nullptr) once = trainer.validation_input()->once_source();
  if (once.empty()) return;
  throw trainer.config().node("input").error(
      cat("the rows of ", once, " come only once, so nothing can train with them again"), "write them to files first");
}

void refuse_constant(const Trainer& trainer) {
  const Config& config = trainer.config();
  if (config.delivery.kind != DeliveryKind::constant) return;
  throw config.node("delivery")
      .error("delivery constant trains on one batch, for measuring: nothing goes on with it",
             "leave it out, or set another one");
}

// Throws if the trainings cannot be run or compared.
void check(const Spec& config, const Catalog& catalog, const Redirections& files) {
  Spec changed = config;
  apply_overrides(changed, files.settings, catalog);
  const Trainer trainer = Trainer::from_spec(changed, catalog);
  refuse_rows_that_come_once(trainer);
  refuse_constant(trainer);
  refuse_without_end(trainer);
}

class Verification {
 public:
  Verification(const Spec& config, const Catalog& catalog, const VerifyOptions& options)
      : config_(config), catalog_(catalog), options_(options), folder_(options.keep), draws_(options.seed, "kills") {}

  std::optional<VerifyReport> run() {
    if (!train_without_interruption()) return {};
    every_ = std::max<int64_t>(1, reference_.done().steps / kCheckpoints);
    KillPlan plan(times(), draws_);
    const Variations variations(config_, catalog_, Executor::available_threads());
    tell_estimate();
    while (report_.equal() && report_.kills.all() < options_.kills) {
      if (!train_with_kills(plan, variations)) return {};
    }
    return report_;
  }

 private:
  struct Attempt {
    std::string folder;
    PlannedKill kill;
    Variation variation;
    Redirections files;
    int64_t from = 0;       // the step that it went on from
    int64_t step = 0;       // the last step that it reported; 0: none
    int64_t validated = 0;  // the last step after which it reported a validation
    std::string line;       // the last line that it printed
  };
  enum class Outcome { ended, killed, differs, stopped };

  bool train_without_interruption() {
    constexpr std::string_view kWhat = "training without interruption";
    constexpr double kTellSeconds = 0.1;
    options_.tell(kWhat, {});
    (void)read_config(config_, catalog_);
    reference_folder_ = folder_.make(kReferenceName);
    const Redirections files = redirected_to(reference_folder_, config_, catalog_, {});
    check(config_, catalog_, files);
    ChildProcess child({.words = words(files.settings), .error_file = cat(reference_folder_, '/', kErrorsName)});
    const Clock::time_point begin = Clock::now();
    std::string line, last;
    double told = 0;
    ChildProcess::Got got;
    while ((got = child.next_line(line, Clock::time_point::max())) == ChildProcess::Got::line) {
      const TrainingEvent event = read_event(line);
      const double now = seconds_since(begin);
      reference_.add(event, now);
      if (event.name == "step" && now > told + kTellSeconds) {
        options_.tell(kWhat, cat("step ", event.step));
        told = now;
      }
      last = line;
    }
    if (got == ChildProcess::Got::stop) return false;
    expect_good_end(child, last, reference_folder_);
    reference_.end(read_done(last), seconds_since(begin));
    report_.steps = reference_.done().steps;
    report_.rows = reference_.done().rows;
    report_.weights = reference_.done().weights;
    return true;
  }

  TrainingTimes times() const {
    const double steps = static_cast<double>(std::max<int64_t>(1, reference_.done().steps));
    return {.starting = reference_.starting_seconds(),
            .training = reference_.training_seconds(),
            .checkpoint = reference_.training_seconds() * static_cast<double>(every_) / steps};
  }

  void tell_estimate() {
    // Each kill repeats about the steps between two checkpoints.
    const TrainingTimes now = times();
    const double again = static_cast<double>(options_.kills) * (now.starting + now.checkpoint);
    estimate_ = cat("killing and resuming, about ", format_seconds(now.starting + now.training + again));
    options_.tell(estimate_, {});
  }

  // Runs one training, kills and resumes it as planned, until it ends. False after a signal.
  bool train_with_kills(KillPlan& plan, const Variations& variations) {
    Draws varied(options_.seed, cat("variations ", ++report_.trainings));
    const std::string folder = folder_.make(cat("resumed-", report_.trainings));
    double position = 0;
    for (bool begun = false;; begun = true) {
      Attempt attempt{.folder = folder, .kill = {}, .variation = variations.draw(varied), .files = {}, .line = {}};
      const int64_t left = options_.kills - report_.kills.all();
      if (left > 0) attempt.kill = plan.next(times().training - position, left, !begun);
      const PlannedKill planned = attempt.kill;
      // Checkpoints come at other steps each time, so that they come at every step of a window, an epoch or an update
      // of several batches.
      const int64_t every = every_ / 2 + 1 + static_cast<int64_t>(varied.below(static_cast<uint64_t>(every_)));
      attempt.files = redirected_to(folder, config_, catalog_, every);
      options_.tell(estimate_, cat(report_.kills.all(), " of ", count_of(options_.kills, "kill")));
      switch (train(attempt)) {
        case Outcome::stopped: return false;
        case Outcome::killed: position = position_of(folder); continue;
        case Outcome::ended:
          plan.missed(planned);
          compare_ends(attempt);
          break;
        case Outcome::differs: break;
      }
      if (report_.equal()) {
        folder_.remove(folder);
      } else {
        folder_.keep();
        report_.kept = folder_.path();
      }
      return true;
    }
  }

  Outcome train(Attempt& attempt) {
    const std::string errors = cat(attempt.folder, '/', kErrorsName);
    fs::remove(errors);
    report_.threads.insert(attempt.variation.threads);
    ++report_.deliveries[attempt.variation.delivery];
    std::vector<std::string> environment;
    if (attempt.kill.when == PlannedKill::When::calling) {
      const FaultPoint point{attempt.kill.call, attempt.kill.time};
      environment.push_back(cat(kKillBeforeCall, '=', point.text()));
    }
    std::vector<std::string> settings = attempt.files.settings;
    settings.insert(settings.end(), attempt.variation.settings.begin(), attempt.variation.settings.end());
    std::vector<std::string> with = words(settings);
    with.emplace_back("--resume");
    ChildProcess child({.words = std::move(with), .environment = std::move(environment), .error_file = errors});
    const Clock::time_point begin = Clock::now();
    Clock::time_point until = Clock::time_point::max();
    if (attempt.kill.when == PlannedKill::When::starting) until = begin + duration_of(attempt.kill.seconds);
    std::string line;
    for (;;) {
      switch (child.next_line(line, until)) {
        case ChildProcess::Got::stop: return Outcome::stopped;
        case ChildProcess::Got::end: return after_its_end(attempt, child);
        case ChildProcess::Got::nothing:
          child.kill();
          if (child.wait().signal == SIGKILL) {
            count_kill(attempt);
            return Outcome::killed;
          }
          // The training ended just before; its last lines are still to be read.
          until = Clock::time_point::max();
          attempt.kill.when = PlannedKill::When::never;
          continue;
        case ChildProcess::Got::line: break;
      }
      attempt.line = line;
      if (!take(attempt, read_event(line))) return Outcome::differs;
      if (attempt.step > 0 && attempt.kill.when == PlannedKill::When::training) until = time_to_kill(attempt);
    }
  }

  // False if the event differs from the event of the uninterrupted training.
  bool take(Attempt& attempt, const TrainingEvent& event) {
    if (event.name == "resume") {
      attempt.from = event.step;
      ++report_.resumes;
    }
    if (event.name == "step") attempt.step = event.step;
    if (event.name == "validation") attempt.validated = event.step;
    if (reference_.agrees(event)) return true;
    report_.parts_at = event.step;
    const std::string begin = attempt.from == 0 ? "which began anew" : cat("which went on from step ", attempt.from);
    report_.difference = cat("the ", event.name, " event of step ", event.step, " of the training ", begin, " with ",
                             attempt.variation.text(), " is another one");
    return false;
  }

  // The clock counts from the newest step, which both trainings have done, so it does not matter which one is faster.
  Clock::time_point time_to_kill(const Attempt& attempt) const {
    const double target = reference_.seconds_to(attempt.from) + attempt.kill.seconds;
    return Clock::now() + duration_of(std::max(0.0, target - reference_.seconds_to(attempt.step)));
  }

  Outcome after_its_end(const Attempt& attempt, ChildProcess& child) {
    const ChildProcess::End end = child.wait();
    if (end.signal == SIGKILL && attempt.kill.when == PlannedKill::When::calling) {
      const auto call = killed_before(read_text(cat(attempt.folder, '/', kErrorsName)));
      if (call) {
        ++report_.kills.calls[*call];
        return Outcome::killed;
      }
    }
    try {
      expect_good_end(child, attempt.line, attempt.folder);
    } catch (Error& error) {
      // The user needs the checkpoints to look for the cause.
      folder_.keep();
      error.add_context(cat("the training in ", attempt.folder, ", resumed after ",
                            count_of(report_.kills.all(), "kill"), " with ", attempt.variation.text()));
      throw;
    }
    return Outcome::ended;
  }

  static void expect_good_end(ChildProcess& child, const std::string& line, const std::string& folder) {
    const ChildProcess::End end = child.wait();
    if (end.code == 0 && end.signal == 0) return;
    std::string errors = read_text(cat(folder, '/', kErrorsName));
    while (errors.ends_with('\n')) errors.pop_back();
    throw_error_of({.line = line, .errors = std::move(errors), .code = end.code, .signal = end.signal});
  }

  void count_kill(const Attempt& attempt) {
    KillCounts& kills = report_.kills;
    const bool is_validating = attempt.validated < attempt.step && reference_.validated(attempt.step);
    int64_t& count = attempt.step == 0                                   ? kills.starting
                     : list_checkpoints(checkpoints_of(attempt)).empty() ? kills.early
                     : is_validating                                     ? kills.in_validations
                                                                         : kills.in_steps;
    ++count;
  }

  static std::string checkpoints_of(const Attempt& attempt) { return cat(attempt.folder, '/', kCheckpointsName); }

  // The position of the newest checkpoint in the folder, in seconds of the uninterrupted training.
  double position_of(const std::string& folder) const {
    const std::vector<ListedCheckpoint> listed = list_checkpoints(cat(folder, '/', kCheckpointsName));
    return listed.empty() ? 0 : reference_.seconds_to(static_cast<int64_t>(listed.back().step));
  }

  void compare_ends(const Attempt& attempt) {
    const DoneEvent done = read_done(attempt.line);
    report_.resumed_weights = done.weights;
    report_.difference = difference(reference_.done(), done);
    const auto also = [&](const auto& compare, const std::string& name) {
      if (report_.equal())
        report_.difference = compare(cat(reference_folder_, '/', name), cat(attempt.folder, '/', name));
    };
    for (const std::string& name : attempt.files.line_files) {
      also([&](const auto& one, const auto& other) { return line_difference(one, other, name == kLogName); }, name);
    }
    also(model_difference, kModelName);
  }

  std::vector<std::string> words(const std::vector<std::string>& settings) const {
    std::vector<std::string> out = {"train", "--quiet", "--json"};
    out.insert(out.end(), options_.words.begin(), options_.words.end());
    for (const std::string& setting : settings) out.insert(out.end(), {"--set", setting});
    return out;
  }

  const Spec& config_;
  const Catalog& catalog_;
  const VerifyOptions& options_;
  WorkFolder folder_;
  Draws draws_;
  std::string reference_folder_;
  ReferenceRun reference_;
  int64_t every_ = 1;
  std::string estimate_;
  VerifyReport report_;
};

}  // namespace

int64_t KillCounts::writing() const {
  return std::accumulate(calls.begin(), calls.end(), int64_t{0},
                         [](int64_t sum, const auto& call) { return sum + call.second; });
}

std::optional<VerifyReport> verify_resume(const Spec& config, const Catalog& catalog, const VerifyOptions& options) {
  return Verification(config, catalog, options).run();
}

}  // namespace millrace::cli

// Verification: trains once without interruption, and then again with kills, until there were as many kills as wanted.
// A resume follows each kill, with other settings that must not change any result (variations.h). Both trainings must
// have the same results.
//
// Each training is a process of this program. Nothing is printed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/trainer/config/catalog.h"

namespace millrace::cli {

struct VerifyOptions {
  // The words of the command line that name the configuration and change it: "--config", "mlp.yaml", "--set", ..
  std::vector<std::string> words;
  int64_t kills = 20;
  uint64_t seed = 0;
  std::string keep = {};  // the folder that stays; empty: a temporary one
  // Called with the current work; `detail` changes often.
  std::function<void(std::string_view what, std::string_view detail)> tell = [](std::string_view, std::string_view) {};
};

// The number of kills at each kind of moment.
struct KillCounts {
  int64_t starting = 0;                       // before the first step of the process
  int64_t early = 0;                          // later, but before the first checkpoint
  int64_t in_steps = 0;                       // between the first checkpoint and the end
  int64_t in_validations = 0;                 // likewise, but during a validation
  std::map<std::string, int64_t> calls = {};  // before these calls of the system, while files were written

  int64_t writing() const;
  int64_t all() const { return starting + early + in_steps + in_validations + writing(); }
};

struct VerifyReport {
  KillCounts kills;
  int64_t trainings = 0;  // that were killed and resumed, each to its end
  int64_t resumes = 0;    // from a checkpoint
  std::set<int> threads = {};
  std::map<std::string, int64_t> deliveries = {};  // by name: how often each was used
  int64_t steps = 0, rows = 0;
  std::string weights;          // of the uninterrupted training
  std::string resumed_weights;  // empty if the resumed training did not reach its end
  // If the trainings are not equal: the first difference that was found, its step if it has one, and the folder that
  // holds the files of both.
  std::string difference = {};
  std::optional<int64_t> parts_at = {};
  std::string kept = {};

  bool equal() const { return difference.empty(); }
};

// No value after a signal. `config` is the configuration that the words of the command line give. Throws ConfigError if
// the training has no end or can read its rows only once; what Trainer::from_spec() throws; the error that ends a
// training; IoError.
std::optional<VerifyReport> verify_resume(const Spec& config, const Catalog& catalog, const VerifyOptions& options);

}  // namespace millrace::cli

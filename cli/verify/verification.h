// Verification: trains once without interruption, and again with kills, each followed by a resume that changes whatever
// changes no result, until as many kills were made as are wanted; and compares what came of both.
//
// Trainings are processes of this program. Nothing is printed.
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
  // Is told what is done now; `detail` changes often.
  std::function<void(std::string_view what, std::string_view detail)> tell = [](std::string_view, std::string_view) {};
};

// When kills came.
struct KillCounts {
  int64_t starting = 0;                       // before the first step of the process
  int64_t early = 0;                          // before there was a checkpoint
  int64_t in_steps = 0;                       // between the first checkpoint and the end
  int64_t in_validations = 0;                 // likewise
  std::map<std::string, int64_t> calls = {};  // before these calls of the system, while a file was written

  int64_t writing() const;
  int64_t all() const { return starting + early + in_steps + in_validations + writing(); }
};

struct VerifyReport {
  KillCounts kills;
  int64_t trainings = 0;  // that were killed and resumed, each to its end
  int64_t resumes = 0;    // from a checkpoint
  std::set<int> threads = {};
  std::map<std::string, int64_t> deliveries = {};  // and how often each
  int64_t steps = 0, rows = 0;
  std::string weights;          // of the training without interruption
  std::string resumed_weights;  // empty if it did not come to its end
  // Of trainings that are not equal: the first difference that was found, the step at which it showed, if it was at a
  // step, and the folder that holds both.
  std::string difference = {};
  std::optional<int64_t> parts_at = {};
  std::string kept = {};

  bool equal() const { return difference.empty(); }
};

// No value after a signal. Throws ConfigError if the training has no end or can read its rows only once, what
// Trainer::from_spec() throws, and what ends a training; IoError. `config` is what the words of the command line say.
std::optional<VerifyReport> verify_resume(const Spec& config, const Catalog& catalog, const VerifyOptions& options);

}  // namespace millrace::cli

// Variations: the settings that a resume may change without changing any result: threads, the delivery, and the keys of
// ops that decide only how fast rows come (OptionReader::only_speed()). Ops declare these keys, so the ops of plug-ins
// are varied, too.
//
// Constant after construction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/cli/verify/draws.h"
#include "millrace/core/spec.h"
#include "millrace/trainer/config/catalog.h"

namespace millrace::cli {

struct Variation {
  std::vector<std::string> settings;  // for `--set`
  int threads = 0;
  std::string delivery;

  // "--set threads=3 --set delivery=feed ..".
  std::string text() const;
};

class Variations {
 public:
  // Leaves out values that the configuration does not allow. This may read the headers of data files. REQUIRES: the
  // configuration is valid.
  Variations(const Spec& config, const Catalog& catalog, int available_threads);

  Variation draw(Draws& draws) const;

  struct Knob {
    std::string key;  // "input[1].chunk_bytes"
    std::vector<int64_t> values;
  };
  const std::vector<Knob>& knobs() const { return knobs_; }

 private:
  int most_threads_;
  std::vector<Knob> knobs_;
};

}  // namespace millrace::cli

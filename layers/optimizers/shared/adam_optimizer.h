// AdamOptimizer: adam and adamw. They differ only in where weight decay comes in.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "millrace/layers/optimizer.h"

namespace millrace {

struct AdamOptions : UpdateOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

  AdamOptions() { learning_rate = 0.001; }
  void declare(OptionReader& o);
};

// Where weight decay comes in: coupled, as a part of the gradient; decoupled, on the parameter itself.
enum class WeightDecay { coupled, decoupled };

class AdamOptimizer : public Optimizer {
 public:
  AdamOptimizer(const AdamOptions& options, WeightDecay decay) : options_(options), decay_(decay) {}

  int state_slots() const override { return 2; }
  int scalar_count() const override;
  void scalars(uint64_t step, std::span<float> out) const override;
  bool decays(std::string_view parameter) const override { return options_.decays(parameter); }
  void update(Context& context, const UpdateArgs& args) const override;

 private:
  AdamOptions options_;
  WeightDecay decay_;
};

}  // namespace millrace

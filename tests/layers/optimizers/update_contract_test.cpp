#include "tests/layers/optimizers/update_contract.h"

#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/optimizer.h"

namespace millrace::testing {
namespace {

enum class Fault { none, ignores_scale, ignores_scale_of_decayed, couples_elements, moves_zeros, moves_slots };

// slot = 0.5 * slot + gradient; parameter -= rate * slot; with decay the parameter shrinks first.
template <class T>
struct Momentum {
  T* parameter;
  T* slot;
  ScaledGradient<T> gradient;
  const float* rate;
  bool decay;
  Fault fault;

  void operator()(int64_t i) const {
    const bool ignores = fault == Fault::ignores_scale || (fault == Fault::ignores_scale_of_decayed && decay);
    slot[i] = T(0.5) * slot[i] + (ignores ? gradient.values[i] : gradient[i]);
    if (fault == Fault::moves_slots) slot[i] += T(1e-30);
    if (decay) parameter[i] *= T(0.9);
    if (fault == Fault::couples_elements) parameter[i] += T(1e-3) * gradient[0];
    if (fault == Fault::moves_zeros) parameter[i] += T(1e-3);
    parameter[i] -= static_cast<T>(*rate) * slot[i];
  }
};

class MomentumSgd final : public Optimizer {
 public:
  explicit MomentumSgd(Fault fault = Fault::none) : fault_(fault) {}
  int state_slots() const override { return 1; }
  void scalars(uint64_t step, std::span<float> out) const override { out[0] = 0.1F / static_cast<float>(1 + step); }
  void update(Context& context, const UpdateArgs& args) const override {
    dispatch_float(args.parameters.dtype(), [&]<class T>() {
      for_each_index(context, args.parameters.elements(),
                     Momentum<T>{args.parameters.as<T>(), args.slots[0].as<T>(), ScaledGradient<T>(args), args.scalars,
                                 args.decay, fault_});
    });
  }

 private:
  Fault fault_;
};

TEST(UpdateContract, HoldsForAnOptimizerThatKeepsIt) { EXPECT_TRUE(keeps_update_contract(MomentumSgd())); }

TEST(UpdateContract, NamesWhatIsBroken) {
  const auto message = [](Fault fault) -> std::string { return keeps_update_contract(MomentumSgd(fault)).message(); };
  EXPECT_EQ(message(Fault::ignores_scale), "float32: gradients are not multiplied by gradient_scale");
  EXPECT_EQ(message(Fault::ignores_scale_of_decayed),
            "float32, with decay: gradients are not multiplied by gradient_scale");
  EXPECT_EQ(message(Fault::couples_elements), "float32: updates of parts differ from that of the whole");
  EXPECT_EQ(message(Fault::moves_zeros), "float32: padding does not stay 0");
  EXPECT_EQ(message(Fault::moves_slots), "float32: padding does not stay 0");
}

}  // namespace
}  // namespace millrace::testing

// LossRun: one loss alone, on rows padded as in a model, with values as doubles.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {

struct LossCase {
  std::string kind;
  Spec options = Spec::map();
  Shape row;                            // of the prediction
  std::optional<Shape> label_row = {};  // absent: as the prediction's
  int64_t batch = 3;
  DType dtype = DType::f64;
  bool weighted = false;

  Shape label_shape() const { return label_row.value_or(row); }
};

inline std::unique_ptr<Loss> make_loss(const std::string& kind, const Spec& options = Spec::map()) {
  return LayerCatalog::builtin().losses.make({kind, options}, options);
}

class LossRun {
 public:
  explicit LossRun(const LossCase& from, int threads = 2)
      : case_(from),
        executor_(threads),
        context_(Device::cpu(), executor_),
        loss_(make_loss(from.kind, from.options)),
        prediction_(padded({from.row, from.dtype})),
        gradient_(padded({from.row, from.dtype})),
        label_(padded({from.label_shape(), loss_->label({from.row, from.dtype}).dtype})),
        weight_(padded({Shape{1}, DType::f32})),
        value_(Device::cpu(), {Shape{2}, from.dtype}) {
    loss_->check({from.row, from.dtype}, {from.label_shape(), label_.spec().dtype});
    plan_ =
        loss_->plan(context_, {.prediction = prediction_.view(), .label = label_.view(), .weighted = from.weighted});
    scratch_ = Memory(Device::cpu(), plan_->scratch_bytes());
  }

  void set_prediction(const std::vector<double>& values) { write_values(prediction_.view(), values); }
  void set_label(const std::vector<double>& values) { write_values(label_.view(), values); }
  void set_weight(const std::vector<double>& values) { write_values(weight_.view(), values); }

  double run(bool with_gradient = true) {
    write_values(gradient_.view(), nans(gradient_.spec().shape.elements()));
    write_values(value_.view(), nans(2));
    std::fill_n(static_cast<unsigned char*>(scratch_.data()), scratch_.bytes(), 0xff);
    plan_->run(context_, {.prediction = prediction_.view(),
                          .label = label_.view(),
                          .weight = case_.weighted ? ConstTensorView(weight_.view()) : ConstTensorView(),
                          .loss = value_.view().data(),
                          .gradient = with_gradient ? gradient_.view() : TensorView(),
                          .scratch = scratch_.data()});
    return read_values(value_.view())[0];
  }
  // The rows' weight that the last run() gave beside the mean.
  double weight() { return read_values(value_.view())[1]; }
  std::vector<double> prediction() { return read_values(prediction_.view()); }
  std::vector<double> gradient() { return read_values(gradient_.view()); }

 private:
  Tensor padded(const TensorSpec& row) const {
    return Tensor(Device::cpu(), {row.shape.with_batch(case_.batch), row.dtype}, Tensor::Rows::padded);
  }

  LossCase case_;
  Executor executor_;
  Context context_;
  std::unique_ptr<Loss> loss_;
  Tensor prediction_, gradient_, label_, weight_, value_;
  std::unique_ptr<LossPlan> plan_;
  Memory scratch_;
};

}  // namespace millrace::testing

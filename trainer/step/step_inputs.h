// StepFields: which fields of the rows a step reads, and in which dtype: the fields of the model, the loss's label, the
// rows' weights. StepInputs: brings these fields of one batch into a step that was planned for the batch's size.
//
//   const StepFields fields({.model = model, .rows = rows, .loss = loss.get(), .label = "label"});
//   StepInputs inputs(fields, device, 23);
//   inputs.load(context, batch);
//   plan.forward(context, inputs.model(), step);
//
// Not synchronised; what the arguments refer to must outlive them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/layers/loss.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/step/field_input.h"

namespace millrace {

// The fields of a row, as they are offered to a model.
std::vector<NamedSpec> named_specs(const RowSpec& rows);

struct StepFieldsArgs {
  const Model& model;
  const RowSpec& rows;         // of the batches
  const Loss* loss = nullptr;  // null: neither label nor weight is read
  std::string label = {};
  std::string weight = {};   // empty: none
  bool trains = false;       // whether gradients are computed from the rows
  bool keeps_label = false;  // label and weight stay until the next load(), even if the batch changes
};

class StepFields {
 public:
  // Throws ConfigError when the rows lack a field or have it in another shape than the model reads, or the loss does
  // not fit the model; it names both sides.
  explicit StepFields(const StepFieldsArgs& args);

  bool weighted() const { return weighted_; }
  // One row of the label as the loss reads it. REQUIRES: a loss.
  const TensorSpec& label() const { return label_; }

 private:
  friend class StepInputs;

  struct Source {
    const FieldSpec* field = nullptr;
    size_t index = 0;
    DType dtype = DType::f32;
    std::optional<ValueRange> range = {};
    bool keeps = false;
  };

  std::vector<Source> sources_;  // the model's fields, then label, then weight
  size_t model_fields_ = 0;
  bool weighted_ = false, trains_ = false;
  TensorSpec label_;
};

class StepInputs {
 public:
  StepInputs(const StepFields& fields, Device device, int64_t rows);

  // Shapes and strides of what load() gives; no data. The label's is null without a loss.
  std::span<const TensorView> model_shapes() const { return std::span(shapes_).first(model_fields_); }
  TensorView label_shape() const { return shape(model_fields_); }

  // Brings the batch's fields to where the step reads them. The batch must stay until the context has done what it was
  // given; after an error it may change. Throws DataError for a value that makes no sense (layers/layer.h). If
  // gradients are computed, a row of weight 0 must not have a feature that is not finite, either, because 0 times that
  // is NaN. The row at fault is then error_row().
  void load(Context& context, const RowBlock& batch);
  int64_t error_row() const { return error_row_; }

  // The fields of the last load(). The label is null without a loss, the weight without weights.
  std::span<const ConstTensorView> model() const { return std::span(views_).first(model_fields_); }
  ConstTensorView label() const { return view(model_fields_); }
  ConstTensorView weight() const { return view(model_fields_ + 1); }

  size_t bytes() const;

 private:
  void check_weightless(const RowBlock& batch);
  TensorView shape(size_t i) const { return i < shapes_.size() ? shapes_[i] : TensorView(); }
  ConstTensorView view(size_t i) const { return i < views_.size() ? views_[i] : ConstTensorView(); }

  size_t model_fields_;
  bool checks_weightless_;
  std::vector<size_t> indices_;  // of the fields in a batch
  std::vector<FieldInput> inputs_;
  std::vector<TensorView> shapes_;
  std::vector<ConstTensorView> views_;
  int64_t error_row_ = -1;
};

}  // namespace millrace

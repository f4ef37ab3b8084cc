// StepFields: which fields of the rows a step reads, and in which dtype: the fields of the model, the loss's label, the
// rows' weights. StepInputs: brings these fields of one batch into a step that was planned for the batch's size. It
// checks the values if only some make sense, converts them if the step reads another dtype, and copies them to the
// device if that is not the host. Labels of rows of weight 0 are not checked: what makes no sense is replaced. On the
// CPU and without conversion the batch's own memory is used, unless the values must outlive it. Bytes are copied to a
// device as they are, and become float32 there.
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
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/tensor.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/layers/loss.h"
#include "millrace/layers/model/model.h"

namespace millrace {

// A value of a batch makes no sense. The code that catches it knows where the row came from, and sets the place.
struct RowError final : DataError {
  RowError(int64_t row_of_batch, std::string_view message, std::string_view hint)
      : DataError(message, {}, hint), row(row_of_batch) {}
  [[noreturn]] void raise() const override { throw *this; }

  int64_t row;
};

// The fields of a row, as they are offered to a model.
std::vector<NamedSpec> named_specs(const RowSpec& rows);

// A field that a step reads.
struct FieldUse {
  const FieldSpec& field;
  size_t index = 0;          // of the field in a row
  DType dtype = DType::f32;  // the dtype that the step reads
  std::optional<ValueRange> range = {};
  bool keeps = false;     // its values stay until the next load(), even if the batch changes
  bool weighted = false;  // load() is given the weights of the rows
};

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

  std::vector<FieldUse> uses_;  // the model's fields, then label, then weight
  size_t model_fields_ = 0;
  bool weighted_ = false, trains_ = false;
  TensorSpec label_;
};

// One field of a StepInputs.
class FieldInput {
 public:
  FieldInput(const FieldUse& use, Device device, int64_t rows);

  // Shape and stride of what load() gives; no data.
  TensorView shape() const { return shape_; }
  // The field of a batch, ready for the step's stream. `batch` must stay until the step has read it; `pinned` says that
  // it lies in pinned memory. Throws RowError for a value outside the range, and for a number that is not a whole one,
  // or is too large, when the step reads integers; if the row's weight is 0, the step reads 0 instead, or what is
  // nearest to 0 in the range.
  ConstTensorView load(Context& context, ConstTensorView batch, bool pinned = false, ConstTensorView weights = {});
  // The values of the last load(), on the host.
  ConstTensorView on_host(ConstTensorView batch) const;
  const std::string& name() const { return name_; }
  size_t bytes() const { return converted_.bytes() + bytes_.bytes() + device_.bytes(); }

 private:
  // Checks the values, and converts them if that is needed.
  void take(ConstTensorView from, ConstTensorView weights) const;
  ConstTensorView load_bytes(Context& context, ConstTensorView batch, bool pinned);

  std::string name_;
  TensorView shape_;
  std::optional<ValueRange> range_;
  bool widens_ = false;  // bytes become float32 where the step runs, and need no check
  Memory converted_;     // host, with the device's strides; empty when the batch's own memory will do
  Memory bytes_;         // of the batch on the device, if they are widened there
  Memory device_;        // empty on the CPU
};

class StepInputs {
 public:
  StepInputs(const StepFields& fields, Device device, int64_t rows);

  // Shapes and strides of what load() gives; no data. The label's is null without a loss.
  std::span<const TensorView> model_shapes() const { return std::span(shapes_).first(model_fields_); }
  TensorView label_shape() const { return shape(model_fields_); }

  // Brings the batch's fields to where the step reads them. The batch must stay until the context has done what it was
  // given; after an error it may change. Throws RowError for a value that makes no sense (layers/layer.h). If gradients
  // are computed, a row of weight 0 must not have a feature that is not finite, either, because 0 times that is NaN.
  void load(Context& context, const RowBlock& batch);

  // The fields of the last load(). The label is null without a loss, the weight without weights.
  std::span<const ConstTensorView> model() const { return std::span(views_).first(model_fields_); }
  ConstTensorView label() const { return view(model_fields_); }
  ConstTensorView weight() const { return view(model_fields_ + 1); }

  size_t bytes() const;

 private:
  void check_weightless(const RowBlock& batch, const ConstTensorView& weights) const;
  TensorView shape(size_t i) const { return i < shapes_.size() ? shapes_[i] : TensorView(); }
  ConstTensorView view(size_t i) const { return i < views_.size() ? views_[i] : ConstTensorView(); }

  size_t model_fields_;
  bool checks_weightless_;
  std::vector<size_t> indices_;  // indices of the fields in a batch
  std::vector<FieldInput> inputs_;
  std::vector<TensorView> shapes_;
  std::vector<ConstTensorView> views_;
};

}  // namespace millrace

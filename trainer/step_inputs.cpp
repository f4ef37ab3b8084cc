#include "millrace/trainer/step_inputs.h"

#include <limits>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr ValueRange kWeights{
    .min = 0, .max = std::numeric_limits<double>::infinity(), .hint = "a row of weight 0 does not count"};

size_t find_field(const RowSpec& rows, std::string_view name, std::string_view reader) {
  const int index = rows.find(name);
  if (index < 0) {
    std::vector<std::string> names;
    for (const FieldSpec& field : rows.fields) names.push_back(field.name);
    const std::string near = nearest(name, names);
    throw ConfigError(cat(reader, " reads the field ", quote(name), ", but the input gives ", rows.text()), {},
                      near.empty() ? cat("name the field in decode_csv: {fields: {", name, ": ..}}, or set from")
                                   : cat("did you mean ", near, "?"));
  }
  return static_cast<size_t>(index);
}

size_t find_weight(const RowSpec& rows, std::string_view name) {
  const size_t index = find_field(rows, name, "the loss's weight");
  const FieldSpec& field = rows.fields[index];
  if (field.shape.elements() == 1) return index;
  throw ShapeError(
      cat("the field ", field.name, " of row weights is ", field.tensor().text(), ", expected one number a row"));
}

}  // namespace

std::vector<NamedSpec> named_specs(const RowSpec& rows) {
  std::vector<NamedSpec> out;
  for (const FieldSpec& field : rows.fields) out.push_back({field.name, field.tensor()});
  return out;
}

StepFields::StepFields(const StepFieldsArgs& args) : model_fields_(args.model.fields().size()) {
  const auto add = [&](size_t index, DType dtype, std::optional<ValueRange> range = {}) {
    sources_.push_back({&args.rows.fields[index], index, dtype, range});
  };
  for (const NamedSpec& field : args.model.fields()) {
    add(find_field(args.rows, field.name, "the model"), field.spec.dtype);
  }
  if (args.loss == nullptr) return;
  const size_t label = find_field(args.rows, args.label, "the loss");
  label_ = args.rows.fields[label].tensor();
  args.loss->check(args.model.output(), label_);
  const LabelSpec wanted = args.loss->label(args.model.output());
  label_.dtype = wanted.dtype;
  add(label, wanted.dtype, wanted.range);
  weighted_ = !args.weight.empty();
  if (weighted_) add(find_weight(args.rows, args.weight), DType::f32, kWeights);
}

StepInputs::StepInputs(const StepFields& fields, Device device, int64_t rows) : model_fields_(fields.model_fields_) {
  for (const StepFields::Source& source : fields.sources_) {
    indices_.push_back(source.index);
    inputs_.emplace_back(FieldInputArgs{
        .device = device, .field = *source.field, .dtype = source.dtype, .rows = rows, .range = source.range});
    shapes_.push_back(inputs_.back().shape());
  }
  views_.resize(inputs_.size());
}

void StepInputs::load(Context& context, const RowBlock& batch) {
  error_row_ = -1;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    try {
      views_[i] = inputs_[i].load(context, batch.view(indices_[i]));
    } catch (const DataError&) {
      error_row_ = inputs_[i].error_row();
      throw;
    }
  }
  context.synchronize();
}

size_t StepInputs::bytes() const {
  size_t total = 0;
  for (const FieldInput& input : inputs_) total += input.bytes();
  return total;
}

}  // namespace millrace

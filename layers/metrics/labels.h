// The predictions and labels that metrics of classes read: one logit and one label a row, or several logits and the
// index of a class.
//
// One logit says yes if it is above 0; a label says yes if it is above 0.5. With several logits, the largest names the
// class, the first one if several are equal. A NaN says nothing, whether it is the only logit or one of several.
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/core/parallel.h"
#include "millrace/core/tensor.h"
#include "millrace/core/text.h"
#include "millrace/layers/layer.h"

namespace millrace {

inline namespace MILLRACE_UNIT {

inline bool is_class_dtype(DType label) { return label == DType::i32 || label == DType::i64; }

inline bool is_label_dtype(DType label) { return label == DType::f32 || is_class_dtype(label); }

// Throws ShapeError unless one row of prediction and label has one of the two forms above.
inline void check_logits(std::string_view metric, const TensorSpec& prediction, const TensorSpec& label) {
  require_float(prediction);
  require_vector(metric, prediction);
  const bool one_label = label.shape.elements() == 1 && is_label_dtype(label.dtype);
  if (one_label && (prediction.shape[0] == 1 || is_class_dtype(label.dtype))) return;
  throw ShapeError(cat(metric, " does not fit the prediction ", prediction.text(), " and the label ", label.text()), {},
                   "it takes one logit and one label per row, or several logits and one class index");
}

// Throws ShapeError unless a plan can read labels of this dtype.
inline void require_label_dtype(std::string_view metric, const TensorSpec& label) {
  if (is_label_dtype(label.dtype)) return;
  throw ShapeError(cat(metric, " reads float32, int32 or int64 labels, got ", label.text()));
}

// Calls a generic lambda with the C++ type of a label, as dispatch_float() does. REQUIRES: is_label_dtype(dtype).
template <class F>
void dispatch_label(DType dtype, F&& call) {
  switch (dtype) {
    case DType::i32: call.template operator()<int32_t>(); return;
    case DType::i64: call.template operator()<int64_t>(); return;
    default: call.template operator()<float>();
  }
}

template <class Label>
MILLRACE_HD bool says_yes(Label label) {
  return static_cast<double>(label) > 0.5;
}

// The rows of a batch: which class is predicted for a row, and which one its label names. With one logit, 1 means yes
// and 0 no.
template <class T, class Label>
struct ClassRows {
  const T* logits;
  const Label* labels;
  int64_t logit_stride, label_stride, columns;

  // -1: a NaN says nothing.
  MILLRACE_HD int64_t predicted(int64_t row) const {
    const T* const x = logits + row * logit_stride;
    if (columns == 1) return *x > T(0) ? 1 : (*x <= T(0) ? 0 : -1);
    int64_t best = 0;
    bool ordered = true;
    for (int64_t i = 0; i < columns; ++i) {
      best = x[i] > x[best] ? i : best;
      ordered = ordered && x[i] == x[i];
    }
    return ordered ? best : -1;
  }
  // May be any number: a label need not name a class that exists.
  MILLRACE_HD int64_t labelled(int64_t row) const {
    const Label label = labels[row * label_stride];
    return columns == 1 ? (says_yes(label) ? 1 : 0) : static_cast<int64_t>(label);
  }
};

// Calls for_each_row() with make(ClassRows<T, Label>), where T and Label are the types of these tensors.
// REQUIRES: is_label_dtype(label.dtype()).
template <class Make>
void for_each_class_row(Context& context, const ConstTensorView& logits, const ConstTensorView& label,
                        const Make& make) {
  dispatch_float(logits.dtype(), [&]<class T>() {
    dispatch_label(label.dtype(), [&]<class Label>() {
      for_each_row(context, logits.rows(), logits.columns(),
                   make(ClassRows<T, Label>{logits.as<T>(), label.as<Label>(), logits.stride(), label.stride(),
                                            logits.columns()}));
    });
  });
}

}  // namespace MILLRACE_UNIT
}  // namespace millrace

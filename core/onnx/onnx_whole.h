// OnnxWhole: an int64 tensor of an OnnxGraph, to write formulas with. Divisions and remainders are right if no number
// is negative.
#pragma once

#include <string>

#include "millrace/core/onnx/onnx_graph.h"

namespace millrace {

struct OnnxWhole {
  OnnxGraph* graph;
  OnnxValue value;

  OnnxWhole number(int64_t number) const { return {graph, graph->constant(number)}; }
  OnnxWhole with(const char* op, const OnnxWhole& other) const { return {graph, graph->add(op, {value, other.value})}; }
  // A truth value, as 0 or 1.
  OnnxWhole compared(const char* op, int64_t other) const {
    return {graph, graph->cast(with(op, number(other)).value, OnnxType::i64)};
  }
};

inline OnnxWhole operator+(const OnnxWhole& a, const OnnxWhole& b) { return a.with("Add", b); }
inline OnnxWhole operator-(const OnnxWhole& a, const OnnxWhole& b) { return a.with("Sub", b); }
inline OnnxWhole operator+(const OnnxWhole& a, int64_t b) { return a + a.number(b); }
inline OnnxWhole operator-(const OnnxWhole& a, int64_t b) { return a - a.number(b); }
inline OnnxWhole operator*(const OnnxWhole& a, int64_t b) { return a.with("Mul", a.number(b)); }
inline OnnxWhole operator/(const OnnxWhole& a, int64_t b) { return a.with("Div", a.number(b)); }
inline OnnxWhole operator%(const OnnxWhole& a, int64_t b) { return a.with("Mod", a.number(b)); }

}  // namespace millrace

// OnnxRows: the rows of an input list on their way through its transforms, as tensors of an ONNX graph.
// Transform::to_onnx() reads and replaces them.
//
//   rows.set(field, rows.graph().add("Sub", {rows.tensor(field.name), mean}));
//
// A field is a tensor of (rows, shape...) in its own type; the values of a field of texts are texts. A field that no op
// makes is an input of the graph with the field's name. One thread uses it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/onnx/onnx_graph.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

// An input whose values are columns of text.
struct OnnxTextInput {
  std::string name;                  // of the input
  std::vector<std::string> columns;  // names of the header, numbers from 0, or ranges 0-9
  bool text = false;                 // the texts as they are; else numbers, NaN for a missing one
};

class OnnxRows {
 public:
  OnnxRows(OnnxGraph& graph, const RowSpec& rows);
  ~OnnxRows();
  OnnxRows(const OnnxRows&) = delete;
  OnnxRows& operator=(const OnnxRows&) = delete;

  OnnxGraph& graph() { return graph_; }
  // Null if there is no such field.
  const FieldSpec* find(std::string_view field);
  // The values of a field. Throws ConfigError if rows differ in how many they have.
  OnnxValue tensor(std::string_view field);
  // Replaces the field of this name, or adds it.
  void set(FieldSpec field, OnnxValue tensor);

  // A field whose rows differ in how many values they have: (rows, most) with 0 or "" after the values of a row, and
  // (rows) with their number, of int64.
  struct Ragged {
    OnnxValue values = kNoOnnxValue, counts = kNoOnnxValue;
  };
  // Throws ConfigError if the op that makes the field cannot be written as ONNX.
  const Ragged& ragged(std::string_view field);
  void set_ragged(std::string_view field, Ragged values);

  // Rows with a true value in this tensor, which has any number of values for each row, are errors for `trainer
  // predict`. The graph answers them with NaN, and with class -1.
  void refuse(OnnxValue bools);
  // A truth value for each row, (rows): whether it is refused. kNoOnnxValue if none ever is.
  OnnxValue refused();

  // If it is there already, nothing changes. Throws ConfigError if other columns have the name.
  void add_text_input(OnnxTextInput input);
  const std::vector<OnnxTextInput>& text_inputs() const { return text_inputs_; }

 private:
  struct Field {
    FieldSpec spec;
    OnnxValue tensor = kNoOnnxValue;  // none: an input that nobody has read
    Ragged ragged = {};               // none for others
  };
  // Null if there is none.
  Field* entry(std::string_view field);

  OnnxGraph& graph_;
  std::vector<Field> fields_;
  std::vector<OnnxValue> refused_;
  std::vector<OnnxTextInput> text_inputs_;
};

}  // namespace millrace

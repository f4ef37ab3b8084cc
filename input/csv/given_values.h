// GivenValues: a transform for rows that a program gives in place of rows from CSV text. A missing value in them
// becomes what decode_csv makes of a missing value: the default of its field. Dates and times are given as seconds.
//
// These are missing values: a text that is empty or that means a missing value in CSV text; in a field of numbers with
// a default, NaN and a number that such a text writes. A missing text without a default is an error. Ragged fields stay
// as they are, and so do fields that decode_csv does not make, or makes of another type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "millrace/input/csv/field_selection.h"
#include "millrace/input/csv/row_converter.h"
#include "millrace/input/transform.h"

namespace millrace {

class GivenValues final : public Transform {
 public:
  GivenValues(std::vector<FieldRequest> requests, ValueRules rules);

  Port bind(const BindArgs& args) override;
  void apply(Chunk& chunk) const override;
  // decode_csv has done the same to its columns.
  void to_onnx(OnnxRows&) const override {}

 private:
  // A field of the rows that may have missing values.
  struct Field {
    size_t index = 0;
    SelectedField selected;
    std::vector<std::string> missing = {};  // texts besides the empty one
    std::vector<std::byte> numbers = {};    // what these texts write, if they do, in the type of the field
  };

  static bool give_texts(const Field& field, Varying& texts, Varying& spare);
  template <class T>
  static void give_numbers(const Field& field, T* values);

  const std::vector<FieldRequest> requests_;
  const ValueRules rules_;
  std::vector<Field> fields_;
};

}  // namespace millrace

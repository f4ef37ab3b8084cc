// ExampleDecoder: the features of a tf.Example become the fields of a row.
//
// A tf.Example is a message of protobuf that gives names to lists of floats, integers or texts ("bytes"). As protobuf
// says, a name that comes twice has its last list, lists may be packed or not, and what is unknown is skipped. Constant
// after construction: any thread may use it, with memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/csv/default_values.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

struct ExampleField {
  FieldSpec spec;
  std::string key;  // the name of its feature
  DefaultValues defaults = {};
};

// What is wrong with an example; nothing if there is no text.
struct ExampleFault {
  std::string text = {}, hint = {};
};

class ExampleDecoder {
 public:
  using Features = std::vector<std::string_view>;

  explicit ExampleDecoder(std::vector<ExampleField> fields);

  RowSpec rows() const;
  // Writes the values of an example into row `row`, which has undefined contents if something is wrong. `features` is
  // memory. REQUIRES: the rows begin with the fields of rows(), and have room for the row.
  ExampleFault decode(std::string_view example, Features& features, RowBlock& rows, int64_t row) const;
  // How many bytes an example has at least that nothing is wrong with.
  uint64_t least_bytes() const { return least_bytes_; }

 private:
  bool find_features(std::string_view example, Features& features) const;
  ExampleFault missing(const ExampleField& field, std::string_view example) const;

  const std::vector<ExampleField> fields_;
  std::vector<std::string> keys_;  // sorted
  std::vector<size_t> feature_;    // by field: the number of its key
  uint64_t least_bytes_ = 0;
};

}  // namespace millrace

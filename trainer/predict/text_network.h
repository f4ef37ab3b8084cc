// TextNetwork: a trained model that predicts rows which a program gives as texts, one for each column, such as a server
// gets them. A text becomes the value that it becomes in a CSV file, so the answers are those of `trainer predict`.
//
//   const TextNetwork network(ModelFile::read("model.safetensors"), {}, Catalog::builtin());
//   TextNetwork::Memory memory;
//   RowBlock rows;
//   network.decode({.text = "31,Rome\n", .begins = begins}, 0, rows, memory);     // columns as in network.dialect()
//   network.predict(rows, outputs);
//
// Constant; any number of threads may use one, each with a Memory of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/input/graph/row_transforms.h"
#include "millrace/trainer/predict/answers.h"
#include "millrace/trainer/predict/given_texts.h"
#include "millrace/trainer/predict/network.h"

namespace millrace {

class TextNetwork {
 public:
  using Memory = RowTransforms::Memory;

  // Throws as Network's constructor, and as given_texts().
  TextNetwork(ModelFile file, const NetworkOptions& options, const Catalog& catalog);

  // How the text of rows is written; its header names the columns.
  const CsvDialect& dialect() const { return texts_->dialect; }
  const std::vector<GivenKey>& keys() const { return texts_->keys; }
  const std::vector<std::string>& unread() const { return texts_->unread; }
  // Upper bound of the bytes that one row takes from its text to the model's input.
  size_t row_bytes() const { return transforms_->row_bytes(); }
  Answers answers(double threshold) const;

  // Makes what the model reads of the texts, which are the rows from `first` on. Throws DataError that names the first
  // row which cannot be read, or which an op of the input list refuses or leaves out.
  void decode(const RowTexts& texts, uint64_t first, RowBlock& rows, Memory& memory) const;
  // As Network::predict(), for rows as decode() makes them; but an error of the model is a RowError (step_inputs.h),
  // whose text does not name the row.
  void predict(const RowBlock& rows, std::span<float> outputs) const { network_->predict_numbered(rows, outputs); }
  int64_t outputs() const { return network_->output().shape.elements(); }

 private:
  std::optional<GivenTexts> texts_;
  FieldHistory label_;
  std::optional<RowTransforms> transforms_;
  std::optional<Network> network_;
};

}  // namespace millrace

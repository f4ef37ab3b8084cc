// Small checkpoints for tests.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/tensor.h"
#include "millrace/trainer/checkpoint/checkpoint_file.h"
#include "millrace/trainer/files/checksum.h"
#include "millrace/trainer/files/model_header.h"
#include "millrace/trainer/files/seal.h"

namespace millrace::test {

// The parts of a checkpoint, and the values that they view: a tensor of each dtype, and an empty one.
struct MadeCheckpoint {
  explicit MadeCheckpoint(uint64_t step) {
    add("dense.weight", {Shape{3, 2}, DType::f32});
    add("dense.bias", {Shape{3}, DType::f32});
    add("optimizer/0/dense.weight", {Shape{3, 2}, DType::f32});
    add("gradients/dense.bias", {Shape{3}, DType::f64});
    add("best/dense.weight", {Shape{3, 2}, DType::f32});
    add("best/dense.bias", {Shape{3}, DType::f32});
    add("before/none", {Shape{0, 4}, DType::f32});
    parts.step = step;
    parts.metadata = {{"config", "seed: 1\n"}, {"format", "millrace"}, {"version", "0.2.0"}};
    parts.numbers.set("steps", step);
    parts.numbers.scope("input").set("rows", {step * 32, 7});
    parts.numbers.scope("input").set_text("file", "a \"b\".csv");
    parts.fingerprint = {.version = "0.2.0",
                         .compiler = "g++ 12.2.0",
                         .libraries = "oneDNN 2.6.3",
                         .processor = "a \"fast\" one (avx2)",
                         .device = "cpu"};
    for (size_t i = 0; i < values.size(); ++i) {
      auto* bytes = static_cast<unsigned char*>(values[i].view().data());
      const size_t count = values[i].spec().bytes();
      for (size_t k = 0; k < count; ++k) bytes[k] = static_cast<unsigned char>(step + 31 * i + k);
      parts.tensors[i].values = std::as_const(values[i]).view();
    }
  }

  CheckpointParts parts;
  std::vector<Tensor> values;

 private:
  void add(std::string name, const TensorSpec& spec) {
    parts.tensors.push_back({std::move(name), {}});
    values.emplace_back(Device::cpu(), spec);
  }
};

// The bytes of a file with the right checksum in place. Tests that change a file on purpose end with this call.
inline std::string sealed_again(std::string bytes) {
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const size_t at = kModelLengthBytes + find_seal(std::string_view(bytes).substr(kModelLengthBytes, length));
  bytes.replace(at, kOpenSeal.size(), kOpenSeal);
  Checksum sum;
  sum.update(std::as_bytes(std::span(bytes)));
  return bytes.replace(at, kOpenSeal.size(), sum.hex());
}

// Changes `from`, in the header, to `to`, and seals the bytes again. REQUIRES: both texts have the same length.
inline std::string changed_header(std::string bytes, std::string_view from, std::string_view to) {
  const size_t at = bytes.find(from);
  return at == bytes.npos ? std::string() : sealed_again(bytes.replace(at, from.size(), to));
}

}  // namespace millrace::test

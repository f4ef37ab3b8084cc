// The file of an OnnxGraph: its bytes, in the wire format of protocol buffers. The format is written by hand, because a
// library of protocol buffers in this one would clash with another version in a program that embeds it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "millrace/core/onnx/onnx_graph.h"

namespace millrace {

struct OnnxFileArgs {
  std::string producer, version;                  // the program that made the model, and its version
  std::string name = "model";                     // the graph's
  std::map<std::string, std::string> facts = {};  // metadata_props
};

// A ModelProto. Throws DataError if it would have 2 GiB or more, which no reader accepts in one file.
std::string onnx_bytes(const OnnxGraph& graph, const OnnxFileArgs& args);
// Throws that error for so many bytes.
void check_onnx_size(uint64_t bytes);

}  // namespace millrace

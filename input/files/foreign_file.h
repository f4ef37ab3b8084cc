// Recognises files that hold no CSV text by their first bytes, and says in messages how their data become CSV. One
// table for everything that reads files. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

struct ForeignFile {
  std::string what;       // "is compressed by gzip"
  std::string remedy;     // "decompress it first: zcat FILE > data.csv"
  bool certain = false;   // no CSV text begins like this
  bool readable = false;  // csv_reader reads the text in it all the same
  std::string unpack{};   // of a compressed file, the remedy where it holds no text: "unpack it first: gzip -d FILE"

  std::string hint() const { return "the file " + what + ": " + remedy; }
  // For a file that should have held numbers in binary.
  std::string binary_hint() const { return "the file " + what + ": " + (unpack.empty() ? remedy : unpack); }
};

// No value if `start`, the first bytes of a file, may well be text. More bytes tell more: 512 are enough. `from_pipe`:
// the remedy may be a pipe to standard input.
std::optional<ForeignFile> foreign_file(std::string_view start, bool from_pipe = true);

}  // namespace millrace

// decode_all: everything that is in compressed bytes, by a decoder.
#pragma once

#include <string>

#include "millrace/core/errors.h"
#include "millrace/input/compressed/text_decoder.h"
#include "tests/input/compressed/compressing.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace::testing_support {

struct Decoded {
  std::string text;
  std::string error;  // behind the text; empty: there is none
  uint64_t at = 0;    // how much of the bytes was used
};

// Asks for `piece` bytes at a time, of a file "f".
inline Decoded decode_all(const std::string& bytes, size_t piece) {
  Decoded out;
  const CountedFile raw(bytes);
  try {
    const auto decoder = make_decoder(compression_of(bytes), "f");
    decoder->start({.entry = entry_of("f", bytes.size()), .end = bytes.size(), .most_window = 1 << 27}, {});
    std::string some(piece, ' ');
    try {
      while (const size_t got = decoder->read(raw, some.data(), piece)) {
        out.text.append(some, 0, got);
        out.at = decoder->at();
      }
    } catch (const Error& error) {
      out.error = error.what();
    }
    out.at = decoder->at();
  } catch (const Error& error) {
    out.error = error.what();
  }
  return out;
}

}  // namespace millrace::testing_support

#endif

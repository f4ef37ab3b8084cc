// The seal of a checkpoint: its header begins with the version of the format and a checksum of the whole file, taken
// with zeros in place of the checksum's digits.
//
//   {"__metadata__":{"checkpoint":"1","checksum":"5f0d3c1e9a7b2468",..
//
// Both are entries of the metadata, which are sorted by name; no other one comes before them.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace {

inline constexpr std::string_view kSealFormatKey = "checkpoint", kSealChecksumKey = "checksum";
// The digits before they are known.
inline constexpr std::string_view kOpenSeal = "0000000000000000";

// Where the digits of the checksum begin in a header, or npos if it does not begin with a seal.
size_t find_seal(std::string_view header);

}  // namespace millrace

// The seal of a checkpoint: the version of its format and a checksum of the whole file, at the beginning of its header.
// The checksum is computed with zeros in place of its own digits.
//
//   {"__metadata__":{"checkpoint":"1","checksum":"5f0d3c1e9a7b2468",..
//
// Both are entries of the metadata. Entries are sorted by name, and no other name comes before these two.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace {

inline constexpr std::string_view kSealFormatKey = "checkpoint", kSealChecksumKey = "checksum";
// The checksum's digits before they are known.
inline constexpr std::string_view kOpenSeal = "0000000000000000";

// Where the digits of the checksum begin in a header; npos if the header does not begin with a seal.
size_t find_seal(std::string_view header);

}  // namespace millrace

#include "millrace/trainer/files/seal.h"

namespace millrace {

size_t find_seal(std::string_view header) {
  constexpr std::string_view kBegin = "{\"__metadata__\":{\"checkpoint\":\"", kMiddle = "\",\"checksum\":\"";
  if (!header.starts_with(kBegin)) return header.npos;
  const size_t format_end = header.find_first_of("\"\\", kBegin.size());
  if (format_end == header.npos || !header.substr(format_end).starts_with(kMiddle)) return header.npos;
  const size_t digits = format_end + kMiddle.size();
  const std::string_view sum = header.substr(digits, kOpenSeal.size());
  const bool closed = header.substr(digits + sum.size()).starts_with('"');
  return closed && sum.find_first_not_of("0123456789abcdef") == sum.npos ? digits : header.npos;
}

}  // namespace millrace

#include "millrace/core/utf8.h"

namespace millrace {

namespace {

constexpr unsigned byte_at(std::string_view text, size_t index) { return static_cast<unsigned char>(text[index]); }

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Whether the character changes the writing direction, which could make a line look like another one.
bool is_direction(char32_t character) {
  return character == 0x61c || character == 0x200e || character == 0x200f ||
         (character >= 0x202a && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
}

bool is_control(char32_t character) {
  return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x2028 || character == 0x2029 ||
         is_direction(character);
}

}  // namespace

size_t utf8_length(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte_at(text, 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool too_large = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

char32_t utf8_decode(std::string_view text, size_t length) {
  const unsigned first = byte_at(text, 0);
  if (length == 1) return first;
  char32_t value = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) value = value << 6 | (byte_at(text, i) & 0x3f);
  return value;
}

size_t find_invalid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::string_view::npos;
}

std::string_view short_escape(char byte) {
  switch (byte) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return {};
  }
}

void append_hex(std::string& out, std::string_view prefix, unsigned byte) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += prefix;
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

std::string escape_controls(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      append_hex(out, "\\x", byte_at(text, i++));
      continue;
    }
    const std::string_view character = text.substr(i, length);
    i += length;
    if (!is_control(utf8_decode(character, length))) {
      out += character;
    } else if (const std::string_view escape = short_escape(character[0]); !escape.empty()) {
      out += escape;
    } else {
      for (size_t k = 0; k < length; ++k) append_hex(out, "\\x", byte_at(character, k));
    }
  }
  return out;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    const std::string_view character = length == 0 ? kReplacement : text.substr(i, length);
    i += length == 0 ? 1 : length;
    if (const std::string_view escape = short_escape(character[0]); !escape.empty()) {
      out += escape;
    } else if (const unsigned first = byte_at(character, 0); first < 0x20) {
      append_hex(out, "\\u00", first);
    } else {
      out += character;
    }
  }
  return out + '"';
}

}  // namespace millrace

// UTF-8: the encoding of configuration texts and JSON strings.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

// Bytes of the character with which `text` begins: 1 to 4, or 0 if it begins with no valid character (overlong forms,
// surrogates and values beyond U+10FFFF are not valid). REQUIRES: !text.empty().
size_t utf8_length(std::string_view text);

// The code point of a valid character of `length` bytes.
char32_t utf8_decode(std::string_view text, size_t length);

// The position of the first byte that is not UTF-8, or npos.
size_t find_invalid_utf8(std::string_view text);

// How quoted texts write a quote, a backslash, \n, \r and \t; empty for a byte that has no such short form.
std::string_view short_escape(char byte);
// Appends `prefix` and the byte as two hexadecimal digits.
void append_hex(std::string& out, std::string_view prefix, unsigned byte);

// For terminals and log files: control characters (C1, DEL and the ones for the writing direction, too) and bytes that
// are not UTF-8 become \n, \t, \xNN; everything else stays.
std::string escape_controls(std::string_view text);

// `text` as a JSON string, in quotes; each byte that is not UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

}  // namespace millrace

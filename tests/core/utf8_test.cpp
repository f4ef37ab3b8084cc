#include "millrace/core/utf8.h"

#include <gtest/gtest.h>

#include "millrace/core/text.h"

namespace millrace {
namespace {

std::string encode(char32_t code) {
  std::string out;
  const auto tail = [&](int shift) { out.push_back(static_cast<char>(0x80 | (code >> shift & 63))); };
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xc0 | code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | code >> 12));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xf0 | code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
  return out;
}

TEST(Utf8, AcceptsEveryCodePointButSurrogates) {
  for (char32_t code = 1; code <= 0x10ffff; code += code < 0x3000 ? 1 : 251) {
    const std::string text = encode(code);
    std::string longer = text;
    longer.push_back('x');
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    ASSERT_EQ(utf8_length(longer), surrogate ? 0u : text.size()) << std::hex << static_cast<uint32_t>(code);
    if (surrogate) continue;
    ASSERT_EQ(utf8_decode(text, text.size()), code);
  }
}

TEST(Utf8, RejectsOverlongTruncatedAndForeignBytes) {
  for (const char* bad :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2x", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xe2\x82",
        "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(utf8_length(bad), 0u) << escape_controls(bad);
  }
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  EXPECT_EQ(find_invalid_utf8("a\xc3\xa9z"), std::string_view::npos);
  EXPECT_EQ(find_invalid_utf8(""), std::string_view::npos);
  EXPECT_EQ(find_invalid_utf8("a\xc3\xa9\xa9z"), 3u);
}

TEST(Utf8, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(escape_controls("a\x1b[31mb\n\t\r\x7f"), "a\\x1b[31mb\\n\\t\\r\\x7f");
  for (const char* turning :
       {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"}) {
    EXPECT_EQ(escape_controls(turning).substr(0, 2), "\\x") << "it would turn what stands beside it round";
  }
  EXPECT_EQ(escape_controls("a\xe2\x80\xae"), "a\\xe2\\x80\\xae");
  EXPECT_EQ(escape_controls("\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa"), "\xe2\x80\x90\xe2\x80\xaf\xe2\x81\xaa");
  EXPECT_EQ(escape_controls("caf\xc3\xa9 \xe2\x82\xac"), "caf\xc3\xa9 \xe2\x82\xac");
  EXPECT_EQ(escape_controls("\xc2\x9b"
                            "0m"),
            "\\xc2\\x9b0m");
  EXPECT_EQ(escape_controls("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(escape_controls(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(JsonString, EscapesAndKeepsUtf8) {
  EXPECT_EQ(json_string("a\"b\\c\n\r\t\x01\x1f\x7f"), "\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u001f\x7f\"");
  EXPECT_EQ(json_string("\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82"), "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82\"");
  EXPECT_EQ(json_string(std::string_view("\0", 1)), "\"\\u0000\"");
}

TEST(JsonString, ReplacesWhatIsNoUtf8) {
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(json_string("\xff"), cat('"', replaced, '"'));
  EXPECT_EQ(json_string("a\xc3"), cat("\"a", replaced, '"')) << "cut off";
  EXPECT_EQ(json_string("\xc3x"), cat('"', replaced, "x\""));
  EXPECT_EQ(json_string("\xc0\xaf"), cat('"', replaced, replaced, '"')) << "a long form";
  EXPECT_EQ(json_string("\xe0\x80\xaf"), cat('"', replaced, replaced, replaced, '"'));
  EXPECT_EQ(json_string("\xed\xa0\x80"), cat('"', replaced, replaced, replaced, '"')) << "a surrogate";
  EXPECT_EQ(json_string("\xf4\x90\x80\x80"), cat('"', replaced, replaced, replaced, replaced, '"'));
  EXPECT_EQ(json_string("\xf5"), cat('"', replaced, '"'));
}

TEST(ShortEscape, IsThereForFiveCharacters) {
  std::string all;
  for (const char c : std::string_view("\"\\\n\r\t a\x01")) all += short_escape(c);
  EXPECT_EQ(all, "\\\"\\\\\\n\\r\\t");
}

}  // namespace
}  // namespace millrace

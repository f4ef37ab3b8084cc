#include "millrace/core/text.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>

#include "millrace/core/utf8.h"
#include "millrace/core/wildcard.h"

namespace millrace {

namespace {

// The largest length up to `limit` that does not end inside a UTF-8 character.
size_t whole_characters(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text.size();
  const auto continues = [&](size_t i) { return (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80; };
  size_t length = limit;
  while (length > 0 && limit - length < 3 && continues(length)) --length;
  return continues(length) ? limit : length;
}

void append(std::string& out, std::string_view value) { out += value; }
void append(std::string& out, char value) { out += value; }
void append(std::string& out, bool value) { out += value ? "true" : "false"; }
template <class T>
void append(std::string& out, T number) {
  char buffer[40];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}

}  // namespace

std::string text_detail::join_values(std::initializer_list<Value> values) {
  std::string out;
  for (const Value& value : values) {
    std::visit([&](auto held) { append(out, held); }, value);
  }
  return out;
}

std::string shortened(std::string_view text, size_t limit) {
  std::string out(text.substr(0, whole_characters(text, limit)));
  if (text.size() > limit) out += "...";
  return out;
}

double rounded(double value, int digits) {
  char buffer[40];
  const char* end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, digits).ptr;
  std::from_chars(buffer, end, value);
  return value;
}

std::string quote(std::string_view text, size_t limit) {
  std::string out = "\"";
  for (const char c : text.substr(0, whole_characters(text, limit))) {
    const auto byte = static_cast<unsigned char>(c);
    if (const std::string_view escape = short_escape(c); !escape.empty()) {
      out += escape;
    } else if (byte < 0x20 || byte == 0x7f) {
      append_hex(out, "\\x", byte);
    } else {
      out += c;
    }
  }
  out += text.size() > limit ? "...\"" : "\"";
  return out;
}

std::string join(const std::vector<std::string>& items, std::string_view joint) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += i + 1 == items.size() ? joint : std::string_view(", ");
    out += items[i];
  }
  return out;
}

namespace {

bool same_letter(char a, char b) {
  const auto folded = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return folded(a) == folded(b);
}

// The Levenshtein distance, but swapping two neighbours costs 1, and capitals equal small letters.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = d[i - 1][j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      d[i][j] = std::min({replace, d[i - 1][j] + 1, d[i][j - 1] + 1});
      if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1])) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

bool begins_with(std::string_view text, std::string_view start) {
  return same_text(text.substr(0, start.size()), start);
}

bool contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same_letter) != text.end();
}

// The first candidate with the best length among those that fit; empty if none fits.
template <class Fits, class Better>
std::string best_of(const std::vector<std::string>& candidates, const Fits& fits, const Better& better) {
  const std::string* best = nullptr;
  for (const std::string& candidate : candidates) {
    if (fits(candidate) && (best == nullptr || better(candidate.size(), best->size()))) best = &candidate;
  }
  return best == nullptr ? std::string() : *best;
}

std::string nearest_typo(std::string_view word, const std::vector<std::string>& candidates) {
  // Two edits could turn any short word into another.
  const size_t most = word.size() < 5 ? 1 : std::max<size_t>(2, word.size() / 3);
  std::string best;
  size_t best_distance = most + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() >= word.size() + best_distance) continue;  // too long, whatever its letters
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace

bool same_text(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_letter);
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kMost = 64, kMostFound = 256, kLeastStart = 3, kLeastPart = 5;
  if (word.size() > kMost) return {};
  for (const std::string& candidate : candidates) {
    if (same_text(word, candidate)) return candidate;
  }
  const auto abbreviated = [&](std::string_view candidate) {
    return word.size() >= kLeastStart && begins_with(candidate, word);
  };
  const auto lengthened = [&](std::string_view candidate) {
    return candidate.size() >= kLeastPart && begins_with(word, candidate);
  };
  const auto part = [&](std::string_view candidate) { return word.size() >= kLeastPart && contains(candidate, word); };
  std::string found = best_of(candidates, abbreviated, std::less<>());
  if (found.empty()) found = nearest_typo(word, candidates);
  if (found.empty()) found = best_of(candidates, lengthened, std::greater<>());
  if (found.empty()) found = best_of(candidates, part, std::less<>());
  return found.size() > kMostFound ? std::string() : found;
}

bool wildcard_matches(std::string_view pattern, std::string_view name) {
  return matches_with_stars(pattern, name, [](std::string_view rest, char byte) -> size_t {
    return rest[0] == '?' || rest[0] == byte ? 1 : 0;
  });
}

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  return !text.empty() && letter(text.front()) && std::all_of(text.begin(), text.end(), inner);
}

std::string count_of(int64_t count, std::string_view noun) { return cat(count, ' ', noun, count == 1 ? "" : "s"); }

std::string errno_text(int code) {
  const char* known = strerrordesc_np(code);
  return known != nullptr ? std::string(known) : cat("error ", code);
}

}  // namespace millrace

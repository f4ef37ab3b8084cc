#include "millrace/trainer/files/yaml_writer.h"

#include <algorithm>
#include <array>

#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace {

namespace {

constexpr size_t kWidth = 110, kComments = 48;  // kComments: where comments begin, if there is room

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Words that some version of YAML, or this library, reads as something other than a text.
bool is_reserved(std::string_view text) {
  static constexpr std::array<std::string_view, 13> kWords = {"true", "false", "null", "yes", "no",       "on", "off",
                                                              "y",    "n",     "nan",  "inf", "infinity", "~"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return same_text(word, text); });
}

bool is_null_word(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

// Whether a plain scalar of this text is read as exactly this text, in block and flow style, as key and as value.
bool is_plain(std::string_view text) {
  if (is_null_word(text)) return false;
  const bool signed_start = text[0] == '-' || text[0] == '+' || text[0] == '.';
  if (signed_start && (text.size() < 2 || !(is_digit(text[1]) || is_letter(text[1]) || text[1] == '.'))) return false;
  if (text.starts_with("..")) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '+' || c == '/';
  });
}

std::string escaped(std::string_view character, char32_t code) {
  if (const std::string_view escape = short_escape(character[0]); !escape.empty()) return std::string(escape);
  // Whether a terminal or an editor would act upon the character, for example a mark of the writing direction.
  const bool special = code == 0x2028 || code == 0x2029 || code == 0xfeff || escape_controls(character) != character;
  if (!special) return std::string(character);
  std::string out;
  append_hex(out, "\\u", code >> 8);
  append_hex(out, "", code & 0xff);
  return out;
}

std::string quoted(const Spec& spec, std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) throw spec.error(cat("the text ", quote(text), " is not UTF-8 and cannot be written as YAML"));
    if (text[0] == '\0') throw spec.error("a text with a NUL character cannot be written as YAML");
    out += escaped(text.substr(0, length), utf8_decode(text, length));
    text.remove_prefix(length);
  }
  return out + '"';
}

std::string key_text(const Spec& value, const std::string& key) {
  if (key.size() > kMaxYamlKeyBytes) throw value.error("the key is too long to be written as YAML");
  return is_plain(key) ? key : quoted(value, key);
}

std::string scalar_text(const Spec& spec) {
  const std::string& text = spec.as_string();
  const bool plain = is_plain(text) && !(spec.quoted() && looks_typed(text));
  return plain ? text : quoted(spec, text);
}

std::string flow(const Spec& spec) {
  std::string out;
  switch (spec.kind()) {
    case Spec::Kind::null: return "null";
    case Spec::Kind::scalar: return scalar_text(spec);
    case Spec::Kind::list:
      for (const Spec& item : spec.items()) out += (out.empty() ? "" : ", ") + flow(item);
      return '[' + out + ']';
    case Spec::Kind::map:
      for (const auto& [key, value] : spec.entries()) {
        out += (out.empty() ? "" : ", ") + key_text(value, key) + ": " + flow(value);
      }
      return '{' + out + '}';
  }
  return out;
}

size_t depth(const Spec& spec) {
  size_t below = 0;
  if (spec.is_list()) {
    for (const Spec& item : spec.items()) below = std::max(below, depth(item));
  } else if (spec.is_map()) {
    for (const auto& [key, value] : spec.entries()) below = std::max(below, depth(value));
  } else {
    return 0;
  }
  return below + 1;
}

class YamlWriter {
 public:
  explicit YamlWriter(const YamlComments& comments) : comments_(comments) {}

  std::string document(const Spec& spec) && {
    if ((spec.is_map() || spec.is_list()) && spec.size() > 0) {
      write_block(spec, 0, false);
    } else {
      out_ = flow(spec) + '\n';
    }
    return std::move(out_);
  }

 private:
  // Whether there are comments on values inside `spec`.
  bool has_comments(const Spec& spec) const {
    for (auto next = comments_.upper_bound(spec.path());
         next != comments_.end() && next->first.starts_with(spec.path()); ++next) {
      const char after = next->first[spec.path().size()];
      if (after == '.' || after == '[') return true;
    }
    return false;
  }

  bool fits_on_line(const Spec& spec, size_t used) const {
    if (spec.is_null() || spec.is_scalar() || spec.size() == 0) return true;
    return depth(spec) <= 2 && !has_comments(spec) && used + flow(spec).size() <= kWidth;
  }

  // Writes a list of scalars after "key:" or "-", as many as fit on each line. With one on each line, the text would be
  // twice as long.
  void write_scalars(const Spec& list, size_t indent) {
    out_ += " [";
    size_t left = list.size(), line_start = out_.rfind('\n') + 1;
    for (const Spec& item : list.items()) {
      const std::string text = flow(item) + (--left > 0 ? ',' : ']');
      if (out_.size() - line_start + 1 + text.size() > kWidth) {
        line_start = out_.size() + 1;
        out_ += '\n' + std::string(indent, ' ');
      } else if (out_.back() != '[') {
        out_ += ' ';
      }
      out_ += text;
    }
    out_ += '\n';
  }

  // Writes `value` after "key:" or "-".
  void write_value(const Spec& value, size_t indent, bool behind_dash) {
    if (behind_dash && value.is_map() && value.size() > 0) {
      out_ += ' ';
      write_block(value, indent + 2, true);
      return;
    }
    const size_t line_start = out_.rfind('\n') + 1;
    if (fits_on_line(value, out_.size() - line_start + 1)) {
      out_ += ' ' + flow(value) + '\n';
    } else if (value.is_list() && depth(value) == 1) {
      write_scalars(value, indent + 2);
    } else {
      out_ += '\n';
      write_block(value, indent + 2, false);
    }
    if (!comments_.empty()) write_comment(value, line_start);
  }

  // Puts the comment at the end of the line, or above the line if there is too little room or the value goes on below.
  void write_comment(const Spec& value, size_t line_start) {
    const auto found = comments_.find(value.path());
    if (found == comments_.end()) return;
    const std::string comment = "# " + found->second;
    const size_t end = out_.find('\n', line_start), used = end - line_start;
    const bool goes_on = end + 1 < out_.size() && out_[end - 1] != ':';
    if (goes_on || used + 2 + comment.size() > kWidth) {
      out_.insert(line_start, std::string(out_.find_first_not_of(' ', line_start) - line_start, ' ') + comment + '\n');
    } else {
      out_.insert(end, std::string(used + 2 < kComments ? kComments - used : 2, ' ') + comment);
    }
  }

  // `on_line`: the first entry is written on the line that was begun.
  void write_block(const Spec& spec, size_t indent, bool on_line) {
    const auto begin_line = [&] {
      if (!on_line) out_.append(indent, ' ');
      on_line = false;
    };
    if (spec.is_list()) {
      for (const Spec& item : spec.items()) {
        begin_line();
        out_ += '-';
        write_value(item, indent, true);
      }
    } else {
      for (const auto& [key, value] : spec.entries()) {
        begin_line();
        out_ += key_text(value, key) + ':';
        write_value(value, indent, false);
      }
    }
  }

  const YamlComments& comments_;
  std::string out_;
};

}  // namespace

bool looks_typed(std::string_view text) {
  if (text.empty() || is_reserved(text)) return true;
  return is_digit(text[0]) || text[0] == '.' || text[0] == '-' || text[0] == '+';
}

std::string to_yaml(const Spec& spec, const YamlComments& comments) { return YamlWriter(comments).document(spec); }

}  // namespace millrace

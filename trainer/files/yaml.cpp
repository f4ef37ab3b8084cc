#include "millrace/trainer/files/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/files/read_file.h"

namespace millrace {

namespace {

// Turns events into a Spec. Whatever does not belong in a configuration is refused at once.
class TreeBuilder : public YAML::EventHandler {
 public:
  // `text` is parsed, and outlives the builder; `fixed`, if known, is the place of everything.
  TreeBuilder(std::string_view text, std::string name, Place fixed)
      : text_(text), name_(std::move(name)), fixed_(std::move(fixed)) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') line_starts_.push_back(i + 1);
    }
  }

  Spec take() { return std::move(*root_); }

  Place place(const YAML::Mark& mark) const {
    if (fixed_.known()) return fixed_;
    return mark.is_null() ? Place{name_, 0, 0} : Place{name_, mark.line + 1, mark.column + 1};
  }

  // The line where parsing stopped.
  std::string_view line(const YAML::Mark& mark) const {
    const size_t number = mark.is_null() ? 0 : static_cast<size_t>(mark.line);
    if (number >= line_starts_.size()) return {};
    const std::string_view rest = text_.substr(line_starts_[number]);
    return rest.substr(0, rest.find('\n'));
  }

  // Throws ConfigError for bytes that no configuration may hold. Call it before parsing.
  void check_bytes() const {
    for (size_t i = 0; i < text_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text_[i]);
      const bool line_end = byte == '\n' || (byte == '\r' && text_.substr(i, 2) == "\r\n");
      const bool allowed = (byte >= 0x20 && byte != 0x7f) || byte == '\t' || line_end;
      if (allowed) continue;
      const std::string shown = quote(text_.substr(i, 1));
      throw ConfigError(
          cat("expected text, got the control character ", shown), place_of(i),
          byte == 0 ? "the file must be UTF-8 text" : cat("inside double quotes it may be written ", shown));
    }
    if (const size_t bad = find_invalid_utf8(text_); bad != std::string_view::npos) {
      throw ConfigError("expected UTF-8 text, got a byte that is not UTF-8", place_of(bad),
                        fixed_.known() ? "" : "save the file as UTF-8");
    }
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root_) {
      throw ConfigError("expected one document, got a second one", place(mark),
                        "remove what follows the first document");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    if (wants_key()) throw ConfigError("expected a key, got nothing", place(mark));
    // There is no value, and the next token may be lines away, so the key is the better place.
    add(Spec::null(open_.empty() || !open_.back().is_map ? place(mark) : open_.back().key_place));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { throw alias_error(place(mark)); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (tag == "!") check_closed(mark);
    if (value.find('\0') != std::string::npos) throw ConfigError("a text may not hold a NUL character", place(mark));
    if (wants_key()) {
      set_key(mark, value);
    } else {
      add(Spec::scalar(value, tag == "!", place(mark)));
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, false);
  }
  void OnSequenceEnd() override {
    Frame frame = close();
    add(Spec::list(std::move(frame.items), std::move(frame.place)));
  }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, true);
  }
  void OnMapEnd() override {
    Frame frame = close();
    add(Spec::map(std::move(frame.entries), std::move(frame.place)));
  }

  static ConfigError alias_error(const Place& where) {
    return ConfigError("aliases (*name) are not supported", where, "put a text that begins with * into quotes");
  }
  static ConfigError anchor_error(const Place& where) {
    return ConfigError("anchors (&name) are not supported", where, "put a text that begins with & into quotes");
  }

 private:
  // A list or map that is still open.
  struct Frame {
    bool is_map = false;
    Place place;
    std::vector<Spec> items;
    std::vector<Spec::Entry> entries;
    std::unordered_map<std::string, Place> keys;
    std::optional<std::string> key;  // a key without its value yet
    Place key_place;
  };

  // The place of a byte.
  Place place_of(size_t offset) const {
    if (fixed_.known()) return fixed_;
    const auto line = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset) - 1;
    return {name_, line - line_starts_.begin() + 1, static_cast<int64_t>(offset - *line) + 1};
  }

  bool wants_key() const { return !open_.empty() && open_.back().is_map && !open_.back().key; }

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) throw anchor_error(place(mark));
  }

  // Plain values have the tag "?", quoted ones "!", lists and maps "?" or none.
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw ConfigError("tags (!name) are not supported", place(mark), "put a text that begins with ! into quotes");
  }

  // yaml-cpp accepts the end of the file as the end of a quoted text that spans lines.
  void check_closed(const YAML::Mark& mark) const {
    const auto line = static_cast<size_t>(mark.line);
    if (line >= line_starts_.size()) return;
    const size_t start = line_starts_[line] + static_cast<size_t>(mark.column);
    const char quote = start < text_.size() ? text_[start] : '\0';
    if (quote != '"' && quote != '\'') return;
    for (size_t i = start + 1; i < text_.size(); ++i) {
      const bool escape = quote == '"' ? text_[i] == '\\' : text_.substr(i, 2) == "''";
      if (!escape && text_[i] == quote) return;
      if (escape) ++i;
    }
    throw ConfigError("the text that begins with this quote has no end", place(mark), cat("add a closing ", quote));
  }

  void set_key(const YAML::Mark& mark, const std::string& key) {
    Frame& frame = open_.back();
    frame.key_place = place(mark);
    if (key.size() > kMaxYamlKeyBytes) {
      throw ConfigError(cat("expected a key of at most ", kMaxYamlKeyBytes, " bytes, got one of ", key.size()),
                        frame.key_place);
    }
    const auto [before, added] = frame.keys.emplace(key, frame.key_place);
    if (!added) {
      throw ConfigError(cat("duplicate key ", key), frame.key_place,
                        cat("it is already written at ", before->second.text(), "; keep one of the two"));
    }
    frame.key = key;
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, bool is_map) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (wants_key()) {
      throw ConfigError(cat("expected a text as key, got a ", is_map ? "map" : "list"), place(mark),
                        "check that every { and [ is closed");
    }
    if (open_.size() == kMaxYamlDepth) {
      throw ConfigError(cat("lists and maps are nested more than ", kMaxYamlDepth, " levels deep"), place(mark));
    }
    open_.emplace_back();
    open_.back().is_map = is_map;
    open_.back().place = place(mark);
  }

  Frame close() {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    return frame;
  }

  void add(Spec value) {
    if (open_.empty()) {
      root_ = std::move(value);
      root_->set_path({});
      return;
    }
    Frame& frame = open_.back();
    if (frame.is_map) {
      value.set_key_place(std::move(frame.key_place));
      frame.entries.emplace_back(std::move(*frame.key), std::move(value));
      frame.key.reset();
    } else {
      frame.items.push_back(std::move(value));
    }
  }

  std::string_view text_;
  std::vector<size_t> line_starts_ = {0};
  std::string name_;
  Place fixed_;
  std::vector<Frame> open_;
  std::optional<Spec> root_;
};

// A hint for a message of yaml-cpp.
std::string syntax_hint(std::string_view message, std::string_view line) {
  if (line.substr(0, line.find_first_not_of(" \t")).find('\t') != std::string_view::npos) {
    return "indent with blanks, not with tabs";
  }
  if (message == YAML::ErrorMsg::MAP_VALUE || message == YAML::ErrorMsg::END_OF_MAP ||
      message == YAML::ErrorMsg::END_OF_SEQ) {
    return "check the indentation, and put texts that hold \": \" into quotes";
  }
  if (message == YAML::ErrorMsg::END_OF_MAP_FLOW)
    return "check that every { is closed and that commas stand between the entries";
  if (message == YAML::ErrorMsg::END_OF_SEQ_FLOW)
    return "check that every [ is closed and that commas stand between the items";
  if (message == YAML::ErrorMsg::EOF_IN_SCALAR) return "a quote is not closed";
  if (message == YAML::ErrorMsg::UNKNOWN_TOKEN) return "put a text that begins with @, ` or % into quotes";
  return {};
}

// If the name of an alias or anchor is odd, as in `files: *.csv`, yaml-cpp refuses it before the builder sees it.
ConfigError syntax_error(std::string_view message, const Place& place, std::string_view line) {
  const auto is = [&](std::string_view known) { return message.starts_with(known); };
  if (is(YAML::ErrorMsg::UNKNOWN_ANCHOR) || is(YAML::ErrorMsg::ALIAS_NOT_FOUND) || is(YAML::ErrorMsg::CHAR_IN_ALIAS)) {
    return TreeBuilder::alias_error(place);
  }
  if (is(YAML::ErrorMsg::ANCHOR_NOT_FOUND) || is(YAML::ErrorMsg::CHAR_IN_ANCHOR)) {
    return TreeBuilder::anchor_error(place);
  }
  return ConfigError(cat("not valid YAML: ", message), place, syntax_hint(message, line));
}

Spec parse(std::string_view text, const std::string& name, const Place& fixed) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  if (text.size() > kMaxYamlBytes) {
    throw ConfigError(cat("expected at most ", kMaxYamlBytes, " bytes of configuration, got more"),
                      fixed.known() ? fixed : Place{name, 0, 0});
  }
  TreeBuilder builder(text, name, fixed);
  builder.check_bytes();
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return Spec::null(fixed.known() ? fixed : Place{name, 1, 1});
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& failure) {
    throw syntax_error(failure.msg, builder.place(failure.mark), builder.line(failure.mark));
  }
  return builder.take();
}

}  // namespace

Spec parse_yaml(std::string_view text, std::string name) { return parse(text, name, {}); }

Spec parse_yaml_value(std::string_view text, const Place& where) { return parse(text, where.file, where); }

Spec read_yaml_file(const std::string& path) {
  // Four bytes more than allowed: a byte order mark, and one byte by which parse() sees that the file is too large.
  const std::string text = read_file(path, kMaxYamlBytes + 4, "the configuration");
  // A model file begins with a length in binary, then JSON.
  if (std::string_view(text).substr(0, 32).find("{\"__metadata__\"") == 8) {
    throw ConfigError("expected a configuration, got a model file", {path},
                      "trainer evaluate and trainer predict use it; the key load of a configuration trains it on");
  }
  return parse_yaml(text, path);
}

}  // namespace millrace

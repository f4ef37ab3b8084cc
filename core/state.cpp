#include "millrace/core/state.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

// magic, version, the root scope, FNV-1a of everything before. All integers are little-endian.
constexpr std::string_view kMagic = "millrace state\n";
constexpr uint64_t kVersion = 1;
constexpr int kMaxDepth = 32;
constexpr size_t kNumberBytes = 8;

void append_number(std::string& out, uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift & 0xff);
}

void append_text(std::string& out, std::string_view text) {
  append_number(out, text.size());
  out += text;
}

[[noreturn]] void refuse(std::string_view why) {
  throw DataError(cat("this is not a saved state: ", why), {}, "it was cut off, changed, or written by something else");
}

}  // namespace

// Reads what append_*() wrote; every length is checked against the bytes that are left.
class StateReader {
 public:
  explicit StateReader(std::string_view bytes) : rest_(bytes) {}

  uint64_t number() {
    const std::string_view bytes = take(kNumberBytes);
    uint64_t value = 0;
    for (size_t i = 0; i < kNumberBytes; ++i) value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return value;
  }

  // A count of things that take at least `bytes_each`.
  size_t count(size_t bytes_each) {
    const uint64_t value = number();
    if (value > rest_.size() / bytes_each) refuse("a length reaches beyond its end");
    return static_cast<size_t>(value);
  }

  std::string text() { return std::string(take(count(1))); }

  std::vector<uint64_t> numbers() {
    std::vector<uint64_t> values(count(kNumberBytes));
    for (uint64_t& value : values) value = number();
    return values;
  }

  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view take(size_t bytes) {
    if (bytes > rest_.size()) refuse("it ends too early");
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::string_view rest_;
};

namespace {

template <class Map>
const typename Map::mapped_type& find_in(const Map& map, std::string_view key, std::string_view what) {
  const auto found = map.find(key);
  if (found == map.end()) {
    throw DataError(cat("the saved state has no ", what, ' ', quote(key)), {},
                    "it was saved by another version or another configuration");
  }
  return found->second;
}

[[noreturn]] void refuse_count(std::string_view key, uint64_t found, uint64_t most) {
  throw DataError(cat("the saved state has ", found, " for ", quote(key), ", expected at most ", most), {},
                  "it was changed, or it was saved by another version or another configuration");
}

// Calls write(value) after each key.
template <class Map, class Write>
void append_map(std::string& out, const Map& map, const Write& write) {
  append_number(out, map.size());
  for (const auto& [key, value] : map) {
    append_text(out, key);
    write(value);
  }
}

// Reads what append_map() wrote; read() gives a value. An entry takes at least `least_bytes`.
template <class Map, class Read>
void read_map(StateReader& reader, size_t least_bytes, Map& map, const Read& read) {
  for (size_t left = reader.count(least_bytes); left > 0; --left) {
    std::string key = reader.text();
    auto value = read();
    // encode() writes keys in order, so that one state has one encoding.
    if (!map.empty() && !(map.rbegin()->first < key)) refuse(cat("the key ", quote(key), " is out of order"));
    map.emplace_hint(map.end(), std::move(key), std::move(value));
  }
}

// The entry of `key`; one that was spare has its old value.
template <class Entries>
auto& entry_of(Entries& entries, std::string_view key) {
  if (const auto found = entries.used.find(key); found != entries.used.end()) return found->second;
  if (const auto found = entries.spare.find(key); found != entries.spare.end()) {
    return entries.used.insert(entries.spare.extract(found)).position->second;
  }
  return entries.used[std::string(key)];
}

template <class Entries>
void make_spare(Entries& entries) {
  entries.used.swap(entries.spare);  // spare ones are few: most keys are set again
  entries.spare.merge(entries.used);
  entries.used.clear();
}

}  // namespace

void State::set(std::string_view key, std::span<const uint64_t> values) {
  std::ranges::copy(values, list(key, values.size()).begin());
}

// reserve() takes as much as the numbers need, resize() alone might take twice that.
std::span<uint64_t> State::list(std::string_view key, size_t size) {
  std::vector<uint64_t>& numbers = entry_of(numbers_, key);
  numbers.reserve(size);
  numbers.resize(size);
  return numbers;
}

void State::set_reals(std::string_view key, const std::vector<double>& values) {
  std::ranges::transform(values, list(key, values.size()).begin(),
                         [](double value) { return std::bit_cast<uint64_t>(value); });
}

void State::set_real(std::string_view key, double value) { set(key, std::bit_cast<uint64_t>(value)); }

void State::set_text(std::string_view key, std::string_view value) { entry_of(texts_, key) = value; }

State& State::scope(std::string_view name) { return entry_of(scopes_, name); }

void State::clear() {
  for (auto& [name, part] : scopes_.used) part.clear();
  make_spare(numbers_);
  make_spare(texts_);
  make_spare(scopes_);
}

const std::vector<uint64_t>& State::values(std::string_view key) const { return find_in(numbers_.used, key, "value"); }

uint64_t State::value(std::string_view key) const {
  const std::vector<uint64_t>& found = values(key);
  if (found.size() != 1) {
    throw DataError(cat("the saved state has ", found.size(), " values for ", quote(key), ", but 1 is expected"));
  }
  return found.front();
}

std::vector<double> State::reals(std::string_view key) const {
  std::vector<double> out;
  for (const uint64_t bits : values(key)) out.push_back(std::bit_cast<double>(bits));
  return out;
}

double State::real(std::string_view key) const { return std::bit_cast<double>(value(key)); }

uint64_t State::count_up_to(std::string_view key, uint64_t most) const {
  const uint64_t found = value(key);
  if (found > most) refuse_count(key, found, most);
  return found;
}

const std::vector<uint64_t>& State::counts(std::string_view key, std::initializer_list<uint64_t> most) const {
  const std::vector<uint64_t>& found = values(key);
  if (found.size() % most.size() != 0) {
    throw DataError(cat("the saved state has ", found.size(), " values for ", quote(key),
                        ", which is not a multiple of ", most.size()));
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const uint64_t limit = most.begin()[i % most.size()];
    if (found[i] > limit) refuse_count(key, found[i], limit);
  }
  return found;
}

const std::string& State::text(std::string_view key) const { return find_in(texts_.used, key, "text"); }

const State& State::scope(std::string_view name) const { return find_in(scopes_.used, name, "part"); }

bool State::has(std::string_view key) const {
  return numbers_.used.contains(key) || texts_.used.contains(key) || scopes_.used.contains(key);
}

std::vector<std::string> State::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, values] : numbers_.used) out.push_back(key);
  return out;
}

bool State::operator==(const State& other) const {
  return numbers_.used == other.numbers_.used && texts_.used == other.texts_.used && scopes_.used == other.scopes_.used;
}

void State::append_to(std::string& out) const {
  append_map(out, numbers_.used, [&](const std::vector<uint64_t>& values) {
    append_number(out, values.size());
    for (uint64_t value : values) append_number(out, value);
  });
  append_map(out, texts_.used, [&](const std::string& text) { append_text(out, text); });
  append_map(out, scopes_.used, [&](const State& scope) { scope.append_to(out); });
}

std::string State::encode() const {
  std::string out(kMagic);
  append_number(out, kVersion);
  append_to(out);
  append_number(out, fnv1a64(out));
  return out;
}

State State::read(StateReader& reader, int depth) {
  if (depth > kMaxDepth) refuse("its parts are nested too deeply");
  State state;
  read_map(reader, 2 * kNumberBytes, state.numbers_.used, [&] { return reader.numbers(); });
  read_map(reader, 2 * kNumberBytes, state.texts_.used, [&] { return reader.text(); });
  read_map(reader, 4 * kNumberBytes, state.scopes_.used, [&] { return read(reader, depth + 1); });
  return state;
}

State State::decode(std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic) refuse("it does not begin like one");
  if (bytes.size() < kMagic.size() + 2 * kNumberBytes) refuse("it ends too early");
  const std::string_view body = bytes.substr(0, bytes.size() - kNumberBytes);
  if (StateReader(bytes.substr(body.size())).number() != fnv1a64(body)) refuse("its checksum does not match");
  StateReader reader(body.substr(kMagic.size()));
  if (const uint64_t version = reader.number(); version != kVersion) {
    throw DataError(cat("the saved state has version ", version, ", this library reads version ", kVersion));
  }
  State state = read(reader, 0);
  if (!reader.at_end()) refuse("something follows its end");
  return state;
}

}  // namespace millrace

// State: everything that an object must know to go on from where another one was: named numbers and texts, in parts
// that have names, too. Ops of an input have one (input/graph/pipeline.h), and a training has one.
//
//   state.scope("window").set("rows", rows_);          // save()
//   rows_ = state.scope("window").count("rows");       // restore()
//
// A value. encode() gives bytes that decode() checks (magic, version, checksum), so a truncated or foreign file is an
// error. Whoever saves often into one object calls clear() before: the same keys as last time then allocate nothing.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/export.h"

namespace millrace {

class MILLRACE_EXPORT State {
 public:
  void set(std::string_view key, std::span<const uint64_t> values);
  void set(std::string_view key, std::initializer_list<uint64_t> values) {
    set(key, std::span<const uint64_t>(values.begin(), values.size()));
  }
  void set(std::string_view key, uint64_t value) { set(key, std::span<const uint64_t>(&value, 1)); }
  // Sets `size` numbers, which the caller then writes; until then they may be anything. Valid until `key` is set again
  // or clear() is called.
  std::span<uint64_t> list(std::string_view key, size_t size);
  // Any doubles, also NaN; they come back with the same bits.
  void set_reals(std::string_view key, const std::vector<double>& values);
  void set_real(std::string_view key, double value);
  void set_text(std::string_view key, std::string_view value);
  // A part; it is made if it is absent.
  State& scope(std::string_view name);
  // Removes everything, but keeps the memory for the same keys. A copy does not have that memory.
  void clear();

  // More than any count of rows, bytes or lines, and so little that two of them can be added.
  static constexpr uint64_t kMostCount = (uint64_t{1} << 62) - 1;

  // These throw DataError, which names the key, if the key is absent.
  const std::vector<uint64_t>& values(std::string_view key) const;
  uint64_t value(std::string_view key) const;
  std::vector<double> reals(std::string_view key) const;
  double real(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  // The same as value(), but DataError if the number is above `most`. A checksum keeps nobody from writing lies into a
  // file, so whoever goes on with a number reads it by count(). REQUIRES: `most` is at least 0.
  template <std::integral T = uint64_t>
  T count(std::string_view key, T most = static_cast<T>(kMostCount)) const {
    return static_cast<T>(count_up_to(key, static_cast<uint64_t>(most)));
  }
  // The same as values(), but DataError unless they are groups in which number i is at most most[i].
  const std::vector<uint64_t>& counts(std::string_view key, std::initializer_list<uint64_t> most) const;
  const State& scope(std::string_view name) const;
  bool has(std::string_view key) const;
  // The keys of the numbers, sorted.
  std::vector<std::string> keys() const;

  std::string encode() const;
  // Throws DataError for anything that encode() did not write.
  static State decode(std::string_view bytes);

  bool operator==(const State&) const;

 private:
  // Entries by key, and entries that clear() removed. A copy has no spare ones.
  template <class T>
  struct Entries {
    using Map = std::map<std::string, T, std::less<>>;

    Entries() = default;
    Entries(const Entries& other) : used(other.used) {}
    Entries(Entries&&) noexcept = default;
    Entries& operator=(const Entries& other) {
      used = other.used;
      return *this;
    }
    Entries& operator=(Entries&&) noexcept = default;
    ~Entries() = default;

    Map used, spare;
  };

  uint64_t count_up_to(std::string_view key, uint64_t most) const;
  void append_to(std::string& out) const;
  static State read(class StateReader& reader, int depth);

  Entries<std::vector<uint64_t>> numbers_;
  Entries<std::string> texts_;
  Entries<State> scopes_;
};

}  // namespace millrace

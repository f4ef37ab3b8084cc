// State: what a pipeline must know to go on where it was: named numbers and texts, in scopes named after ops.
//
// A value. encode() gives bytes that decode() checks (magic, version, checksum), so a truncated or foreign file is an
// error.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/export.h"

namespace millrace {

class MILLRACE_EXPORT State {
 public:
  void set(std::string_view key, std::vector<uint64_t> values);
  void set(std::string_view key, uint64_t value) { set(key, std::vector<uint64_t>{value}); }
  void set_text(std::string_view key, std::string value);
  // The part of one op; made when absent.
  State& scope(std::string_view name);

  // Throw DataError that names the key when it is absent.
  const std::vector<uint64_t>& values(std::string_view key) const;
  uint64_t value(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  const State& scope(std::string_view name) const;
  bool has(std::string_view key) const;
  // The keys of the numbers, sorted.
  std::vector<std::string> keys() const;

  std::string encode() const;
  // Throws DataError for anything that encode() did not write.
  static State decode(std::string_view bytes);

  bool operator==(const State&) const;

 private:
  void append_to(std::string& out) const;
  static State read(class StateReader& reader, int depth);

  std::map<std::string, std::vector<uint64_t>, std::less<>> numbers_;
  std::map<std::string, std::string, std::less<>> texts_;
  std::map<std::string, State, std::less<>> scopes_;
};

}  // namespace millrace

// Facts of columns for tests.
#pragma once

#include <string>
#include <vector>

#include "millrace/cli/init/data_look.h"
#include "millrace/core/text.h"

namespace millrace {

// The texts again and again, `rows` of them.
inline ColumnFacts facts_of(const std::vector<std::string>& texts, size_t rows = 100) {
  ColumnFacts facts({.bytes = 4096});
  TextBudget budget;
  for (size_t i = 0; i < rows; ++i) facts.add(texts[i % texts.size()], budget);
  return facts;
}

// A look at one column of that name.
inline DataLook look_at(const ColumnFacts& facts, const std::string& name = "c") {
  DataLook out;
  out.form.header = true;
  out.form.names = {name};
  out.columns = {facts};
  return out;
}

// `before` and numbers that differ.
inline std::vector<std::string> numbered(const std::string& before, int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(cat(before, (i * 7919) % 10007));
  return out;
}

inline std::string listed(const std::vector<std::string>& texts) {
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i) out += cat(i > 0 ? "," : "", texts[i]);
  return out;
}

}  // namespace millrace

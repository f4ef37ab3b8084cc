#include "millrace/core/row_sizes.h"

#include <algorithm>

#include "millrace/core/text.h"

namespace millrace {

namespace {

// Stands for the size that is left open.
constexpr int64_t kRest = -1;

// The sizes, with `rest` in place of the open one.
Shape with_rest(std::vector<int64_t> sizes, int64_t rest) {
  std::replace(sizes.begin(), sizes.end(), kRest, rest);
  return Shape(sizes);
}

bool is_open(const std::vector<int64_t>& sizes) { return std::find(sizes.begin(), sizes.end(), kRest) != sizes.end(); }

}  // namespace

std::optional<Shape> RowSizes::shape_of(int64_t values) const {
  const int64_t others = with_rest(sizes, 1).elements();
  const Shape shape = with_rest(sizes, values / others);
  return shape.elements() == values ? std::optional(shape) : std::nullopt;
}

std::string RowSizes::wanted(std::string_view noun) const {
  return cat(is_open(sizes) ? "a multiple of " : "", count_of(with_rest(sizes, 1).elements(), noun));
}

std::string RowSizes::text() const {
  std::vector<std::string> texts;
  for (const int64_t size : sizes) texts.push_back(cat(size));
  return cat('(', join(texts, ", "), ')');
}

RowSizes OptionType<RowSizes>::read(const Spec& spec) {
  constexpr size_t most = Shape::kMaxRank - 1;
  RowSizes out{OptionType<std::vector<int64_t>>::read(spec)};
  if (out.sizes.empty() || out.sizes.size() > most) {
    throw spec.error(cat("expected 1 to ", most, " sizes, got ", out.sizes.size()));
  }
  for (size_t i = 0; i < out.sizes.size(); ++i) {
    if (out.sizes[i] > 0 || out.sizes[i] == kRest) continue;
    const Spec& size = spec.is_list() ? spec.items()[i] : spec;
    throw size.error(cat("expected at least 1, or -1, got ", size.describe()));
  }
  const auto rests = std::count(out.sizes.begin(), out.sizes.end(), kRest);
  if (rests > 1) throw spec.error(cat("expected -1 at most once, got it ", rests, " times"));
  return out;
}

}  // namespace millrace

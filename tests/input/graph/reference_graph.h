// What the pipeline is compared with: transforms and batches, over the rows of reference_rows.h.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "millrace/core/random.h"
#include "tests/input/graph/reference_rows.h"

namespace millrace::testing_support::reference {

// Changes a row in place, or leaves it out.
struct Transform {
  std::string name;
  std::function<bool(Row&)> apply;
};

// In double and rounded once, or exactly; nothing when the result is out of range.
template <class T>
std::optional<T> scaled(T value, double scale, double offset) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<double>(value) * scale + offset);
  } else {
    __extension__ using Wide = __int128;
    const Wide result = static_cast<Wide>(value) * static_cast<int64_t>(scale) + static_cast<int64_t>(offset);
    if (result < std::numeric_limits<T>::min() || result > std::numeric_limits<T>::max()) return std::nullopt;
    return static_cast<T>(result);
  }
}

inline Transform map_of(std::string field, double scale, double offset, std::optional<std::string> as) {
  return {"map", [=](Row& row) {
            Field result = row.field(field);
            std::visit(
                [&](auto& values) {
                  for (auto& value : values) {
                    const auto changed = scaled(value, scale, offset);
                    if (!changed) throw Failure{"data", row.place()};
                    value = *changed;
                  }
                },
                result.values);
            if (as) {
              row.fields.push_back({*as, result.values});
            } else {
              row.field(field) = result;
            }
            return true;
          }};
}

// `mean` and `deviation` have a number for each column.
inline Transform normalize_of(std::string field, std::vector<double> mean, std::vector<double> deviation) {
  return {"normalize", [=](Row& row) {
            std::visit(
                [&](auto& values) {
                  for (size_t i = 0; i < values.size(); ++i) {
                    using T = std::decay_t<decltype(values[i])>;
                    values[i] = static_cast<T>((static_cast<double>(values[i]) - mean[i]) / deviation[i]);
                  }
                },
                row.field(field).values);
            return true;
          }};
}

inline Transform one_hot_of(std::string field, size_t classes, std::string as) {
  return {"one_hot", [=](Row& row) {
            const int32_t wanted = std::get<std::vector<int32_t>>(row.field(field).values)[0];
            if (wanted < 0 || static_cast<size_t>(wanted) >= classes) throw Failure{"data", row.place()};
            std::vector<float> values(classes);
            values[static_cast<size_t>(wanted)] = 1;
            row.fields.push_back({as, values});
            return true;
          }};
}

inline Transform filter_of(std::string name, std::string field, std::string comparison, double value) {
  return {std::move(name), [=](Row& row) {
            return std::visit(
                [&](const auto& values) {
                  using T = std::decay_t<decltype(values[0])>;
                  // Holds every int64 and every double.
                  const long double left = values[0];
                  const long double right = std::is_same_v<T, float> ? static_cast<float>(value) : value;
                  if (comparison == "==") return left == right;
                  if (comparison == "!=") return left != right;
                  if (comparison == "<") return left < right;
                  if (comparison == "<=") return left <= right;
                  if (comparison == ">") return left > right;
                  return left >= right;
                },
                row.field(field).values);
          }};
}

class Transformed final : public Rows {
 public:
  Transformed(RowsPtr from, Transform transform) : Rows({std::move(from)}), transform_(std::move(transform)) {}
  std::optional<Row> pull() override {
    // Far more than the rows of any finite data: these come from endless ones, none of which is left.
    for (int tries = 0; tries < 20000; ++tries) {
      std::optional<Row> row = input().pull();
      if (!row || transform_.apply(*row)) return row;
      ++dropped_;
    }
    throw Failure{"data", ""};
  }
  void count(Counts& counts) const override {
    counts.dropped[transform_.name] += dropped_;
    Rows::count(counts);
  }

 private:
  Transform transform_;
  uint64_t dropped_ = 0;
};

struct BatchOptions {
  uint64_t seed = 0;
  std::string name;
  size_t batch_size = 1;
  std::optional<size_t> min_after_dequeue;  // of a shuffle_batch
  bool allow_smaller_final_batch = false;
};

// The last op, and transforms behind it.
class Batches {
 public:
  Batches(RowsPtr from, BatchOptions options, std::vector<Transform> behind)
      : input_(std::move(from)), options_(std::move(options)), behind_(std::move(behind)) {}

  // The next batch, empty at the end. Throws Failure.
  std::vector<Row> next() {
    for (int tries = 0; tries < 20000; ++tries) {
      std::vector<Row> rows = gather(), kept;
      if (rows.empty()) return {};
      for (Row& row : rows) {
        if (transformed(row)) kept.push_back(row);
      }
      if (!kept.empty()) return kept;
    }
    throw Failure{"data", ""};
  }
  Counts counts() const {
    Counts out = dropped_;
    input_->count(out);
    return out;
  }

 private:
  std::vector<Row> gather() {
    std::vector<Row> rows;
    while (rows.size() < options_.batch_size) {
      std::optional<Row> row = options_.min_after_dequeue ? draw() : pull();
      if (!row) break;
      rows.push_back(std::move(*row));
    }
    if (rows.size() == options_.batch_size || options_.allow_smaller_final_batch) return rows;
    dropped_.dropped["last partial batch"] += rows.size();
    return {};
  }

  std::optional<Row> draw() {
    if (hole_) {
      if (std::optional<Row> row = pull()) {
        window_[*hole_] = std::move(*row);
      } else {
        window_[*hole_] = window_.back();
        window_.pop_back();
      }
      hole_.reset();
    }
    while (window_.size() < *options_.min_after_dequeue + options_.batch_size) {
      std::optional<Row> row = pull();
      if (!row) break;
      window_.push_back(std::move(*row));
    }
    if (window_.empty()) return std::nullopt;
    hole_ = scale_to(philox64(options_.seed, fnv1a64(options_.name), draws_++), window_.size());
    return window_[*hole_];
  }

  std::optional<Row> pull() {
    std::optional<Row> row = ended_ ? std::nullopt : input_->pull();
    ended_ = !row;
    return row;
  }

  bool transformed(Row& row) {
    for (const Transform& transform : behind_) {
      if (transform.apply(row)) continue;
      ++dropped_.dropped[transform.name];
      return false;
    }
    return true;
  }

  RowsPtr input_;
  BatchOptions options_;
  std::vector<Transform> behind_;
  std::vector<Row> window_;
  std::optional<size_t> hole_;  // the place that was drawn last
  uint64_t draws_ = 0;
  bool ended_ = false;
  Counts dropped_;
};

}  // namespace millrace::testing_support::reference

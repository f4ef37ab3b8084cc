// TileGrid: how the result of a matrix product is cut into tiles. It depends only on the shape, never on threads.
// A value; any thread may read it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "millrace/core/sizes.h"

namespace millrace::cpu {

struct Tile {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

class TileGrid {
 public:
  struct Limits {
    int64_t most_rows, most_columns;    // of a tile
    int64_t least_rows, least_columns;  // tiles are not made smaller than this to get more of them
  };

  // Tiles are as large as allowed. They are smaller if there would be fewer than sixteen, as long as each is worth a
  // task: with few large tiles, threads wait for the last one. Columns are cut first.
  TileGrid(int64_t m, int64_t n, int64_t k, const Limits& limits)
      : m_(m), n_(n), rows_(limits.most_rows), columns_(limits.most_columns) {
    constexpr int64_t kEnoughTiles = 16, kWorthATask = int64_t{1} << 21;  // multiplications
    for (;;) {
      const int64_t rows = balanced(m, rows_, 8), columns = balanced(n, columns_, 16);
      if (ceil_div(m, rows) * ceil_div(n, columns) >= kEnoughTiles || rows * columns * k < 2 * kWorthATask) break;
      const bool rows_may = rows_ >= 2 * limits.least_rows, columns_may = columns_ >= 2 * limits.least_columns;
      if (!rows_may && !columns_may) break;
      (columns_may ? columns_ : rows_) /= 2;
    }
    rows_ = balanced(m, rows_, 8);
    columns_ = balanced(n, columns_, 16);
  }

  int64_t count() const { return ceil_div(m_, rows_) * ceil_div(n_, columns_); }
  // The size of the largest tile.
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  // Tiles with neighbouring indices share columns, so that they find them in a cache.
  Tile tile(int64_t index) const {
    const int64_t across = ceil_div(m_, rows_);
    const int64_t row = index % across * rows_, column = index / across * columns_;
    return {row, std::min(rows_, m_ - row), column, std::min(columns_, n_ - column)};
  }

 private:
  // The tile size that cuts `size` into as few parts as `most` does, of nearly the same size.
  static int64_t balanced(int64_t size, int64_t most, int64_t multiple) {
    const int64_t even = ceil_div(size, ceil_div(size, most));
    return std::min(size, ceil_div(even, multiple) * multiple);
  }

  int64_t m_, n_, rows_, columns_;
};

}  // namespace millrace::cpu

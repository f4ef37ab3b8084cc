#include "millrace/trainer/predict/piece_runner.h"

#include "millrace/input/op.h"

namespace millrace {

namespace {

int64_t first_good(const RowBlock& rows) {
  int64_t row = 0;
  while (row < rows.size() && !row_error(rows, row).empty()) ++row;
  return row;
}

bool all_good(const RowBlock& rows) {
  for (int64_t row = 0; row < rows.size(); ++row) {
    if (!row_error(rows, row).empty()) return false;
  }
  return true;
}

}  // namespace

std::string_view row_error(const RowBlock& rows, int64_t row) {
  const int field = rows.spec().find(kRowError);
  if (field < 0) return {};
  const Varying& error = rows.varying(static_cast<size_t>(field), row);
  return error.texts() == 0 ? std::string_view() : error.text(0);
}

void PieceRunner::run(RowBlock& piece, bool begins) {
  const int64_t whole = args_.batch.capacity();
  first_ = begins ? 0 : end_;
  end_ = first_ + piece.size();
  for (;;) {
    const int64_t good = first_good(piece);
    if (good == piece.size()) return;
    const RowBlock& batch = piece.size() == whole && all_good(piece) ? piece : batch_of(piece, good);
    try {
      args_.executor.run([&] { args_.plan.run(batch); });
      return;
    } catch (RowError& error) {
      // Every row that is not a good one of the piece is a copy of `good`.
      const int64_t row = error.row - first_;
      const bool own = row >= 0 && row < piece.size() && row_error(piece, row).empty();
      error.row = own ? row : good;
      const int field = piece.spec().find(kRowError);
      if (field < 0) throw;
      Varying& text = piece.varying(static_cast<size_t>(field), error.row);
      text.clear();
      text.add_text(error.message());
    }
  }
}

// A batch with the good rows of the piece in their place, and copies of the row `good` elsewhere. It has no fields
// whose size varies, which models do not read.
const RowBlock& PieceRunner::batch_of(const RowBlock& piece, int64_t good) {
  RowBlock& batch = args_.batch;
  batch.resize(batch.capacity());
  for (int64_t to = 0; to < batch.size(); ++to) {
    const int64_t row = to - first_;
    const bool own = row >= 0 && row < piece.size() && row_error(piece, row).empty();
    for (size_t field = 0; field < piece.spec().fields.size(); ++field) {
      if (!piece.spec().fields[field].varies()) batch.copy_field(field, piece, own ? row : good, to);
    }
  }
  return batch;
}

std::span<const float> PieceRunner::output(int64_t row) {
  const ConstTensorView output = args_.plan.output();
  return {output.as<float>() + (first_ + row) * output.stride(), static_cast<size_t>(output.columns())};
}

}  // namespace millrace

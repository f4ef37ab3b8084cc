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
  first_ = begins ? 0 : end_;
  end_ = first_ + piece.size();
  int64_t good = first_good(piece);
  const RowBlock* batch = piece.size() == args_.batch.capacity() && all_good(piece) ? &piece : nullptr;
  while (good < piece.size()) {
    if (batch == nullptr) batch = &batch_of(piece, good);
    try {
      args_.executor.run([&] { args_.plan.run(*batch); });
      return;
    } catch (RowError& error) {
      // Each row of the batch is a good row of the piece, or a copy of the row `good`.
      const int64_t row = error.row - first_;
      const bool own = row >= 0 && row < piece.size() && row_error(piece, row).empty();
      error.row = own ? row : good;
      const int field = piece.spec().find(kRowError);
      if (field < 0) throw;
      Varying& text = piece.varying(static_cast<size_t>(field), error.row);
      text.clear();
      text.add_text(error.message());
      if (batch != &piece && error.row != good) {
        copy(piece, good, first_ + error.row);
      } else {
        batch = nullptr;
        good = first_good(piece);
      }
    }
  }
}

// A batch with the good rows of the piece in their place, and copies of the row `good` elsewhere.
const RowBlock& PieceRunner::batch_of(const RowBlock& piece, int64_t good) {
  args_.batch.resize(args_.batch.capacity());
  for (int64_t to = 0; to < args_.batch.size(); ++to) {
    const int64_t row = to - first_;
    const bool own = row >= 0 && row < piece.size() && row_error(piece, row).empty();
    copy(piece, own ? row : good, to);
  }
  return args_.batch;
}

// Copies a row of the piece to row `to` of the batch, without fields whose size varies, which models do not read.
void PieceRunner::copy(const RowBlock& piece, int64_t row, int64_t to) {
  for (size_t field = 0; field < piece.spec().fields.size(); ++field) {
    if (!piece.spec().fields[field].varies()) args_.batch.copy_field(field, piece, row, to);
  }
}

std::span<const float> PieceRunner::output(int64_t row) {
  const ConstTensorView output = args_.plan.output();
  return {output.as<float>() + (first_ + row) * output.stride(), static_cast<size_t>(output.columns())};
}

}  // namespace millrace

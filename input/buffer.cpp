#include "millrace/input/buffer.h"

#include "millrace/core/text.h"

namespace millrace {

Port RowBuffer::bind(const BindArgs& args) {
  streams_.assign(args.streams.begin(), args.streams.end());
  host_ = args.host;
  return args.inputs.front();
}

void RowBuffer::rewind(uint32_t run) {
  for (RowStream* stream : streams_) stream->rewind(run);
}

bool RowBuffer::has_source(uint32_t source) const {
  return std::ranges::any_of(streams_, [&](const RowStream* stream) { return stream->has_source(source); });
}

void RowBuffer::fetch(const RowId& id, RowBlock& block, int64_t row) {
  for (RowStream* stream : streams_) {
    if (stream->has_source(id.source)) return stream->fetch(id, block, row);
  }
  throw DataError(cat("the saved state holds a row of source ", id.source, ", which this input does not have"));
}

void RowBuffer::set_silent(bool silent) {
  silent_ = silent;
  for (RowStream* stream : streams_) stream->set_silent(silent);
}

uint32_t RowBuffer::passes() const {
  uint32_t most = 1;
  for (const RowStream* stream : streams_) most = std::max(most, stream->passes());
  return most;
}

std::optional<double> RowBuffer::share() const {
  std::optional<double> least;
  for (const RowStream* stream : streams_) {
    const std::optional<double> one = stream->share();
    if (!one) return {};
    least = std::min(*one, least.value_or(1));
  }
  return least;
}

int64_t RowBuffer::spread() const {
  int64_t most = 0;
  for (const RowStream* stream : streams_) most = std::max(most, stream->spread());
  return most;
}

void RowBuffer::set_ahead(int64_t rows, int threads) {
  const auto inputs = static_cast<int64_t>(streams_.size());
  const auto share = [&](int64_t all) { return all == 0 ? 0 : std::max<int64_t>(all / inputs, 1); };
  for (RowStream* stream : streams_) stream->set_ahead(share(rows), static_cast<int>(share(threads)));
}

Port BatchBuffer::bind(const BindArgs& args) {
  stream_ = args.streams.front();
  return {.type = PortType::batches, .rows = args.inputs.front().rows};
}

}  // namespace millrace

#include "millrace/input/run/run_length.h"

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr std::string_view kLength = "length";

std::string epochs_text(uint64_t length) {
  return length == 0 ? std::string("endless epochs") : count_of(static_cast<int64_t>(length), "epoch");
}

}  // namespace

void save_length(State& state, uint64_t length) { state.set(kLength, length); }

uint64_t saved_length(const State& state, uint64_t now) {
  return state.has(kLength) ? state.count<uint64_t>(kLength, UINT32_MAX) : now;
}

void check_length(std::string_view op, const LengthChange& change) {
  if (change.saved == change.now) return;
  if (change.run > 0) {
    throw ConfigError(cat(op, ": the saved state is in a further run of this data, and goes on only with ",
                          epochs_text(change.saved), ", not with ", epochs_text(change.now)),
                      {}, "change the epochs of the last repeat instead");
  }
  if (change.now == 0 || change.begun <= change.now) return;
  throw ConfigError(
      cat(op, ": the saved state is in epoch ", change.begun, ", but there would be only ", epochs_text(change.now)),
      {}, cat("allow at least ", change.begun));
}

}  // namespace millrace

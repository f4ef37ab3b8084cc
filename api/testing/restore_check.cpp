#include "millrace/testing.h"

#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/graph/pipeline.h"

namespace millrace {

namespace {

// A text that is equal for equal rows from the same places.
std::string content_of(const Pipeline& pipeline, const RowBlock& batch) {
  std::string out;
  const std::vector<FieldSpec>& fields = batch.spec().fields;
  for (int64_t row = 0; row < batch.size(); ++row) {
    out += cat(pipeline.place(batch.id(row)).text(), ' ', batch.id(row).pass, '\n');
    for (size_t field = 0; field < fields.size(); ++field) {
      if (fields[field].varies()) {
        batch.varying(field, row).visit_bytes([&](std::string_view bytes) { out += bytes; });
      } else {
        out.append(reinterpret_cast<const char*>(batch.at(field, row)), fields[field].tensor().bytes());
      }
      out += '\n';
    }
  }
  return out;
}

std::string counts_of(const InputSummary& summary) {
  std::string out = cat(summary.rows, " rows, ", summary.bad_rows, " bad");
  for (const Dropped& dropped : summary.dropped) out += cat(", ", dropped.rows, " left out by ", dropped.cause);
  return out;
}

struct Batch {
  std::string content, counts;
};

// The next batch; its content is empty at the end of the data.
Batch next_of(Pipeline& pipeline, RowBlock& slot) {
  const int64_t rows = pipeline.next(slot);
  return {rows == 0 ? std::string() : content_of(pipeline, slot), counts_of(pipeline.summary())};
}

std::string difference_from(const Batch& expected, const Batch& got) {
  if (got.content != expected.content) {
    return got.content.empty() ? "is missing" : expected.content.empty() ? "is one too many" : "has other rows";
  }
  return got.counts == expected.counts ? "" : cat("counts ", got.counts, ", expected ", expected.counts);
}

}  // namespace

RestoreCheck check_restore(const Spec& input, const OpRegistry& ops, int64_t most) {
  RestoreCheck out;
  std::vector<Batch> batches;
  std::vector<State> states;
  {
    Pipeline straight(InputGraph::build(input, ops, {}), {});
    RowBlock slot = straight.make_slot();
    do {
      states.push_back(straight.save());
      batches.push_back(next_of(straight, slot));
    } while (!batches.back().content.empty() && std::ssize(batches) < most);
  }
  out.batches = std::ssize(batches) - (batches.back().content.empty() ? 1 : 0);
  if (out.batches == 0) throw DataError("check_restore: the input gives no batch, so there is nothing to compare");
  Executor executor(2);
  for (size_t begin = 0; begin < states.size(); ++begin) {
    Pipeline restored(InputGraph::build(input, ops, {}), {.executor = &executor});
    restored.restore(State::decode(states[begin].encode()));
    RowBlock slot = restored.make_slot();
    for (size_t i = begin; i < batches.size(); ++i) {
      const std::string difference = difference_from(batches[i], next_of(restored, slot));
      if (difference.empty()) continue;
      out.difference = cat("saved after batch ", begin, ": batch ", i + 1, ' ', difference);
      return out;
    }
  }
  return out;
}

}  // namespace millrace

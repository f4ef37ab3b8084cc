#include "millrace/trainer/remote/remote_decoder.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/input/files/stream_file.h"
#include "millrace/input/graph/graph_units.h"
#include "millrace/input/rows/row_codec.h"
#include "millrace/trainer/remote/messages.h"

namespace millrace {

namespace {

// Whether the chunk is one that the unit can become.
bool is_of_unit(const Chunk& chunk, bool text) {
  const Unit& unit = chunk.unit;
  if (!text) {
    auto count = static_cast<uint64_t>(chunk.rows.size());
    for (const Note& note : chunk.notes) count += note.kind == Note::Kind::print ? 0 : note.count;
    return count <= std::max<uint64_t>(unit.end - unit.begin, 1);
  }
  const uint64_t end = unit.file && !unit.part ? unit.file->size : StreamFile::kUnknownSize;
  if (chunk.first_record < unit.begin || (unit.exact && chunk.first_record != unit.begin)) return false;
  if (chunk.end_record < chunk.first_record || chunk.end_record > end) return false;
  uint64_t at = chunk.first_record;
  for (const RowId& id : chunk.rows.ids()) {
    if (id.offset < at || id.offset > chunk.end_record || id.length > chunk.end_record - id.offset) return false;
    at = id.offset;
  }
  return true;
}

bool is_io_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const IoError&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

RemoteDecoder::RemoteDecoder(WorkerPool& pool, uint32_t graph, const TransformChain& chain, int local_tasks)
    : pool_(pool),
      graph_(graph),
      chain_(chain),
      rows_(std::make_shared<const RowSpec>(chain.links().back().output.rows)),
      text_(chain.links().front().output.type == PortType::text),
      local_turns_(local_tasks) {}

RemoteDecoder::~RemoteDecoder() { pool_.leave(graph_); }

std::exception_ptr RemoteDecoder::apply(Chunk& chunk, TaskMemory& memory, const std::atomic<bool>& abandoned) noexcept {
  try {
    const std::optional<UnitNumbers> unit = numbers_of(chunk.unit);
    return unit ? ask_for(*unit, chunk, memory, abandoned) : decode_here(chunk, memory);
  } catch (...) {
    return as_error(std::current_exception(), chain_.links().front().name);
  }
}

std::exception_ptr RemoteDecoder::ask_for(const UnitNumbers& unit, Chunk& chunk, TaskMemory& memory,
                                          const std::atomic<bool>& abandoned) {
  State asked = make_message(message::kDecode);
  asked.set("graph", graph_);
  set_unit(asked, unit);
  const std::string bytes = asked.encode();
  for (WorkerPool::Failures failures(pool_); !abandoned.load();) {
    RequestBook::Answer answer;
    switch (pool_.book().ask(graph_, bytes, answer, &abandoned)) {
      case RequestBook::Outcome::abandoned: return nullptr;
      case RequestBook::Outcome::nobody:
        if (pool_.options().fallback == WorkerFallback::local) return decode_here(chunk, memory);
        throw pool_.nobody();
      case RequestBook::Outcome::answered: break;
    }
    std::exception_ptr failure;
    try {
      if (read_message(answer.parts).text("is") == message::kFailure) {
        std::string joined;
        failure = RowCodec::decode_error(bytes_of(answer.parts, joined));
      } else {
        failure = take(answer.parts, chunk, memory);
        if (!failure) return nullptr;
        // An error in the data ends the run. Here it has the text and the place that it has without workers.
        if (!is_io_error(failure)) return decode_here(chunk, memory);
      }
    } catch (const DataError& error) {
      pool_.give_up(answer.link, error.message());
      continue;
    }
    // Its files are gone, or other ones now. If all fail, it may be the data.
    const bool others = failures.may_ask_others(answer.link);
    pool_.give_up(answer.link, failure);
    if (!others) return decode_here(chunk, memory);
  }
  return nullptr;
}

// Returns the worker's error, or null. Throws DataError if the parts do not answer the question.
std::exception_ptr RemoteDecoder::take(const ZmqParts& parts, Chunk& chunk, TaskMemory& memory) const {
  const State head = read_message(parts);
  if (head.text("is") != message::kChunk) throw DataError("the answer is none");
  const std::vector<uint64_t>& work = head.values("work");
  if (work.size() != 3 * chain_.links().size()) throw DataError("the answer has other transforms");
  std::string joined;
  RowCodec::decode(bytes_of(parts, joined), rows_, chunk);
  if (!is_of_unit(chunk, text_)) throw DataError("the answer has rows of other data than it was asked for");
  if (!chunk.notes.empty() && chunk.notes.back().kind == Note::Kind::error) return chunk.notes.back().error;
  memory.done.resize(chain_.links().size());
  for (size_t link = 0; link < memory.done.size(); ++link) {
    memory.done[link] += {work[3 * link], work[3 * link + 1], work[3 * link + 2]};
  }
  return nullptr;
}

// On as many threads at once as the pipeline has.
std::exception_ptr RemoteDecoder::decode_here(Chunk& chunk, TaskMemory& memory) {
  const Unit unit = chunk.unit;
  chunk.reset(unit);
  local_turns_.acquire();
  std::exception_ptr failure = chain_.apply(chunk, memory);
  local_turns_.release();
  return failure;
}

}  // namespace millrace

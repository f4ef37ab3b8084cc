#include "millrace/input/run/transform_chain.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "millrace/core/clock.h"
#include "millrace/core/text.h"
#include "millrace/input/run/patient_transform.h"

namespace millrace {

namespace {

// Signs the new notes, and drops rows and notes after the first error, which becomes an Error.
void finish_notes(Chunk& chunk, size_t transform, const std::string& name) {
  for (Note& note : chunk.notes) {
    if (note.transform == Note::kUnsigned) note.transform = static_cast<uint32_t>(transform);
  }
  const auto failed = std::ranges::find(chunk.notes, Note::Kind::error, &Note::kind);
  if (failed == chunk.notes.end()) return;
  failed->error = as_error(failed->error, name);
  chunk.rows.resize(std::min(chunk.rows.size(), failed->row));
  chunk.notes.erase(failed + 1, chunk.notes.end());
}

}  // namespace

void ChainLink::ask() {
  attributed(name, place, [this] {
    ahead = possible(transform->ahead());
    work_bound = transform->work_bound();
    note_bytes = transform->note_bytes();
    least_record_bytes = transform->least_record_bytes();
  });
}

void ChainLink::check(const Chunk& chunk) const {
  for (const Note& note : chunk.notes) {
    if (note.kind == Note::Kind::error && note.error == nullptr) {
      throw InternalError(cat(name, " gave Chunk::fail() a null pointer for an error"));
    }
  }
  const RowBlock& rows = chunk.rows;
  if (output.type == PortType::text || rows.size() == 0 || rows.spec() == output.rows) return;
  throw InternalError(
      cat(name, " announced rows of (", output.rows.text(), ") and made rows of (", rows.spec().text(), ")"));
}

std::exception_ptr TransformChain::apply(Chunk& chunk, TaskMemory& memory) const noexcept {
  size_t index = 0;
  std::exception_ptr failure;
  std::swap(chunk.text, memory.text);
  chunk.spare.swap(memory.spare);
  chunk.set_work(&memory.work);
  try {
    memory.done.resize(links_.size());
    for (; index < links_.size(); ++index) apply_link(index, chunk, memory);
  } catch (...) {
    failure = as_error(std::current_exception(), links_[index].name, links_[index].place);
  }
  chunk.set_work(nullptr);
  if (chunk.text) chunk.text->close();
  chunk.spare.swap(memory.spare);
  std::swap(chunk.text, memory.text);
  return failure;
}

void TransformChain::apply_link(size_t index, Chunk& chunk, TaskMemory& memory) const {
  const ChainLink& link = links_[index];
  const Clock::time_point start = Clock::now();
  TraceRange range(trace_, "input", link.name, start);
  const PortType input = index == 0 ? input_ : links_[index - 1].output.type;
  const bool has_rows = input == PortType::rows || input == PortType::batches;
  try {
    if (link.patient) {
      apply_patiently(link, chunk);
    } else {
      link.transform->apply(chunk);
    }
  } catch (const DataError& error) {
    if (has_rows) {
      throw InternalError(cat(link.name, " threw an error of the data without its row: ", error.message()), {},
                          "give it to Chunk::fail() with the row");
    }
    chunk.fail(std::current_exception());
  }
  link.check(chunk);
  finish_notes(chunk, index, link.name);
  const uint64_t bytes = !has_rows && chunk.text != nullptr ? chunk.text->bytes().size() : 0;
  const Clock::time_point end = Clock::now();
  memory.done[index] += {nanoseconds_between(start, end), static_cast<uint64_t>(chunk.rows.size()), bytes};
  range.set("rows", chunk.rows.size());
  if (bytes > 0) range.set("bytes", static_cast<int64_t>(bytes));
  if (chunk.unit.file) {
    range.set("offset", static_cast<int64_t>(chunk.unit.begin));
    range.set("file", chunk.unit.file->path);
  }
  range.end(end);
}

uint64_t spare_blocks(const std::vector<ChainLink>& links) {
  return std::ranges::any_of(links, &ChainLink::patient) ? 3 : 1;
}

Ahead possible(const Ahead& ahead) {
  if (ahead.rows >= 0 && ahead.threads >= 0) return ahead;
  throw std::logic_error(
      cat("Ahead is ", ahead.rows, " rows and ", ahead.threads, " threads, neither may be negative"));
}

Ahead with_links(Ahead ahead, const std::vector<ChainLink>& links, int64_t rows) {
  possible(ahead);
  for (const ChainLink& link : links) {
    ahead.rows += link.ahead.rows * rows;
    // 0 means all threads.
    if (ahead.threads > 0) ahead.threads = std::max(ahead.threads, link.ahead.threads);
  }
  return ahead;
}

}  // namespace millrace

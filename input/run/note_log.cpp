#include "millrace/input/run/note_log.h"

#include <algorithm>

#include "millrace/core/text.h"

namespace millrace {

void NoteLog::pass(const Note& note, const Place& place, const std::vector<ChainLink>& links) {
  if (silent_) return;
  if (note.kind == Note::Kind::print) {
    if (events_ != nullptr && events_->on_print) events_->on_print(note.text);
    return;
  }
  if (note.kind == Note::Kind::dropped) return drop(note.text, note.count);
  changed_ = true;
  now_.bad_rows += 1;
  const BadRow bad = {place, note.text, note.field, note.value};
  report(bad, note.transform, links);
  if (events_ != nullptr && events_->on_bad_row) events_->on_bad_row(bad);
  if (now_.bad_rows > note.limit) {
    throw DataError(cat(note.text, " (bad row ", now_.bad_rows, " of the run; max_bad_rows is ", note.limit, ')'),
                    place, "repair the data, or raise max_bad_rows");
  }
}

void NoteLog::drop(std::string_view cause, uint64_t rows) {
  if (silent_) return;
  changed_ = true;
  add_dropped_rows(now_.dropped, cause, rows);
}

void NoteLog::mark() {
  if (!changed_) return;
  marked_ = now_;
  changed_ = false;
}

void NoteLog::add_dropped(std::vector<Dropped>& out) const {
  for (const Dropped& dropped : now_.dropped) add_dropped_rows(out, dropped.cause, dropped.rows);
}

void NoteLog::report(const BadRow& row, size_t transform, const std::vector<ChainLink>& links) {
  if (transform >= links.size() || links[transform].reporter == nullptr) return;
  now_.reports.resize(links.size());
  ++now_.reports[transform];
  if (events_ != nullptr && events_->on_report) {
    events_->on_report(*links[transform].reporter, row);
  } else {
    attributed(*links[transform].reporter, [&] { links[transform].reporter->report(row); });
  }
}

void NoteLog::save(State& state) const {
  state.set("bad_rows", marked_.bad_rows);
  state.set("reports", marked_.reports);
  State& causes = state.scope("dropped");
  for (const Dropped& dropped : marked_.dropped) causes.set(dropped.cause, dropped.rows);
}

void NoteLog::restore(const State& state, const std::vector<ChainLink>& links) {
  now_.bad_rows = state.count("bad_rows");
  now_.reports = state.counts("reports", {State::kMostCount});
  if (now_.reports.size() > links.size()) {
    throw DataError(cat("the saved state has reports of ", now_.reports.size(), " ops, but there are ", links.size()));
  }
  for (size_t i = 0; i < now_.reports.size(); ++i) {
    Transform* const reporter = links[i].reporter;
    if (reporter != nullptr) attributed(*reporter, [&] { reporter->resume_reports(now_.reports[i]); });
  }
  now_.dropped.clear();
  const State& causes = state.scope("dropped");
  for (const std::string& cause : causes.keys()) now_.dropped.push_back({cause, causes.count(cause)});
  marked_ = now_;
}

void add_dropped_rows(std::vector<Dropped>& out, std::string_view cause, uint64_t rows) {
  if (rows == 0) return;
  if (const auto found = std::ranges::find(out, cause, &Dropped::cause); found != out.end()) {
    found->rows += rows;
  } else {
    out.push_back({std::string(cause), rows});
  }
}

}  // namespace millrace

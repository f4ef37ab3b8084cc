#include "millrace/input/run/note_log.h"

#include <gtest/gtest.h>

#include "tests/input/graph/fake_ops.h"

namespace millrace {
namespace {

Note dropped(uint64_t count, std::string cause) {
  Note note;
  note.kind = Note::Kind::dropped;
  note.count = count;
  note.text = std::move(cause);
  return note;
}

Note bad(uint64_t limit = UINT64_MAX) {
  Note note;
  note.kind = Note::Kind::bad_row;
  note.text = "too few fields";
  note.field = "label";
  note.value = "abc";
  note.limit = limit;
  note.transform = 0;
  return note;
}

std::vector<ChainLink> links_of(fake::Step& step) {
  return {{.transform = &step, .name = "step", .output = {}, .reporter = &step}};
}

uint64_t dropped_rows(const NoteLog& log, std::string_view cause) {
  std::vector<Dropped> out;
  log.add_dropped(out);
  for (const Dropped& one : out) {
    if (one.cause == cause) return one.rows;
  }
  return 0;
}

TEST(NoteLog, CountsByCause) {
  NoteLog log;
  log.pass(dropped(3, "filter"), {}, {});
  log.pass(dropped(2, "skip"), {}, {});
  log.drop("filter", 4);
  log.pass(bad(), {}, {});
  EXPECT_EQ(dropped_rows(log, "filter"), 7u);
  EXPECT_EQ(dropped_rows(log, "skip"), 2u);
  EXPECT_EQ(log.bad_rows(), 1u);
}

TEST(NoteLog, ReportsToTheTransformAndToTheHost) {
  std::vector<std::string> told;
  StreamEvents events;
  events.on_bad_row = [&](const BadRow& row) { told.push_back(row.place.text() + " " + row.reason + " " + row.field); };
  events.on_print = [&](std::string_view text) { told.emplace_back(text); };
  fake::Step step({});
  const std::vector<ChainLink> links = links_of(step);
  NoteLog log;
  log.set_events(&events);
  log.pass(bad(), {"a.csv", 3, 4}, links);
  Note print;
  print.kind = Note::Kind::print;
  print.text = "hello";
  log.pass(print, {}, {});
  EXPECT_EQ(told, (std::vector<std::string>{"a.csv:3:4 too few fields label", "hello"}));
  EXPECT_EQ(step.reported, (std::vector<std::string>{"abc"}));
}

TEST(NoteLog, RaisesTheBadRowBeyondTheLimitAfterReportingIt) {
  fake::Step step({});
  const std::vector<ChainLink> links = links_of(step);
  NoteLog log;
  log.pass(bad(2), {"a.csv", 1, 1}, links);
  log.pass(bad(2), {"a.csv", 2, 1}, links);
  try {
    log.pass(bad(2), {"a.csv", 7, 5}, links);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(),
                 "a.csv:7:5: too few fields (bad row 3 of the run; max_bad_rows is 2); repair the data, or raise "
                 "max_bad_rows");
  }
  EXPECT_EQ(step.reported.size(), 3u);
  NoteLog none;
  EXPECT_THROW(none.pass(bad(0), {}, {}), DataError);
}

TEST(NoteLog, SavesWhatHeldAtTheMark) {
  NoteLog log;
  log.pass(dropped(3, "filter"), {}, {});
  log.pass(bad(), {}, {});
  log.mark();
  log.pass(dropped(5, "filter"), {}, {});
  log.pass(dropped(1, "late"), {}, {});
  log.pass(bad(), {}, {});
  State state;
  log.save(state);
  NoteLog restored;
  restored.restore(state, {});
  EXPECT_EQ(restored.bad_rows(), 1u);
  EXPECT_EQ(dropped_rows(restored, "filter"), 3u);
  EXPECT_EQ(dropped_rows(restored, "late"), 0u);
  EXPECT_EQ(dropped_rows(log, "filter"), 8u);
  State again;
  restored.save(again);
  EXPECT_EQ(again, state);
}

// Reports behind the last row that was handed out are made again, so a report file must know how many stand.
TEST(NoteLog, TellsReportersHowManyOfTheirReportsStand) {
  fake::Step step({});
  const std::vector<ChainLink> links = links_of(step);
  NoteLog log;
  log.pass(bad(), {}, links);
  log.pass(bad(), {}, links);
  log.mark();
  log.pass(bad(), {}, links);
  State state;
  log.save(state);
  fake::Step other({});
  NoteLog restored;
  restored.restore(state, links_of(other));
  EXPECT_EQ(other.resumed, 2u);
}

TEST(NoteLog, CountsOnOverTheLimitAcrossARestore) {
  NoteLog log;
  log.pass(bad(1), {}, {});
  log.mark();
  State state;
  log.save(state);
  NoteLog restored;
  restored.restore(state, {});
  EXPECT_THROW(restored.pass(bad(1), {}, {}), DataError);
}

}  // namespace
}  // namespace millrace

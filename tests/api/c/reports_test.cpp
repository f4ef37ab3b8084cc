#include "millrace/api/c/reports.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>

namespace millrace::c {
namespace {

struct Seen {
  std::string text;
  double done = 0;
};

void note_scores(Seen& seen, const millrace_score* scores, size_t count) {
  for (size_t i = 0; i < count; ++i) seen.text += std::string(scores[i].name) + "=" + std::to_string(scores[i].value);
}

TEST(CReports, TellMetricsAndTheShareThatIsDone) {
  Seen seen;
  millrace_callbacks given = {};
  given.size = sizeof given;
  given.user = &seen;
  given.on_progress = [](void* user, const millrace_step* step) {
    auto& to = *static_cast<Seen*>(user);
    note_scores(to, step->scores, step->score_count);
    to.done = step->done;
  };
  const TrainCallbacks callbacks = callbacks_of(&given);
  EXPECT_FALSE(callbacks.on_step);
  callbacks.on_progress({.step = 3, .metrics = {{"mae", 0.5}, {"r2", 0.25}}, .done = 0.75});
  EXPECT_EQ(seen.text, "mae=0.500000r2=0.250000");
  EXPECT_EQ(seen.done, 0.75);
  callbacks.on_progress({.step = 4, .metrics = {}});
  EXPECT_TRUE(std::isnan(seen.done));
}

TEST(CReports, TellMetricsOfAValidation) {
  Seen seen;
  millrace_callbacks given = {};
  given.size = sizeof given;
  given.user = &seen;
  given.on_validation = [](void* user, const millrace_validation* validation) {
    auto& to = *static_cast<Seen*>(user);
    to.text = std::to_string(validation->best);
    note_scores(to, validation->scores, validation->score_count);
  };
  callbacks_of(&given).on_validation({.metrics = {{"auc", 1}}, .best = true});
  EXPECT_EQ(seen.text, "1auc=1.000000");
}

// What was built with an earlier header has a shorter structure.
TEST(CReports, MembersBeyondTheStructureAreNotRead) {
  millrace_callbacks given = {};
  given.size = offsetof(millrace_callbacks, on_progress);
  given.on_progress = [](void*, const millrace_step*) { FAIL(); };
  EXPECT_FALSE(callbacks_of(&given).on_progress);
  EXPECT_FALSE(callbacks_of(nullptr).on_progress);
}

}  // namespace
}  // namespace millrace::c

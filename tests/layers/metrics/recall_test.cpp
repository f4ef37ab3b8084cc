#include <gtest/gtest.h>

#include "tests/layers/metrics/class_rows.h"

namespace millrace::testing {
namespace {

// sklearn.metrics.recall_score of scikit-learn 1.2; of four classes with average="macro", zero_division=0.
TEST(Recall, AgreesWithScikitLearn) {
  check_class_values(
      "recall",
      {.yes = 0.8, .yes_weighted = 0.875, .classes = 0.47916666666666663, .classes_weighted = 0.319047619047619});
}

TEST(Recall, ByHand) {
  // Said yes: three rows, of which one is; two rows are yes.
  EXPECT_DOUBLE_EQ(value_of(logits_of("recall", 1), {{1, 1, 1, -1, 0}, {1, 0, 0, 1, 0}}), 0.5);
}

TEST(Recall, AgreesWithItsFormulaInAnyBatches) {
  check_class_metric("recall",
                     [](double right, double, double labelled) { return labelled > 0 ? right / labelled : 0.0; });
}

TEST(Recall, CountsWhatIsNotThereAsWrong) { check_class_edges("recall"); }

TEST(Recall, RejectsWhatItCannotJudge) { check_class_metric_rejects("recall"); }

}  // namespace
}  // namespace millrace::testing

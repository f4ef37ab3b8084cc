#include <gtest/gtest.h>

#include "tests/layers/metrics/class_rows.h"

namespace millrace::testing {
namespace {

// sklearn.metrics.f1_score of scikit-learn 1.2; of four classes with average="macro", zero_division=0.
TEST(F1, AgreesWithScikitLearn) {
  check_class_values("f1", {.yes = 2.0 / 3,
                            .yes_weighted = 7.0 / 9,
                            .classes = 0.4553571428571429,
                            .classes_weighted = 0.28525641025641024});
}

TEST(F1, ByHand) {
  // Said yes: three rows, of which one is; two rows are yes.
  EXPECT_DOUBLE_EQ(value_of(logits_of("f1", 1), {{1, 1, 1, -1, 0}, {1, 0, 0, 1, 0}}), 0.4);
}

TEST(F1, AgreesWithItsFormulaInAnyBatches) {
  check_class_metric("f1", [](double right, double predicted, double labelled) {
    return predicted + labelled > 0 ? 2 * right / (predicted + labelled) : 0.0;
  });
}

TEST(F1, CountsWhatIsNotThereAsWrong) { check_class_edges("f1"); }

TEST(F1, RejectsWhatItCannotJudge) { check_class_metric_rejects("f1"); }

}  // namespace
}  // namespace millrace::testing

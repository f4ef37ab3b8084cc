#include <gtest/gtest.h>

#include "tests/layers/metrics/class_rows.h"

namespace millrace::testing {
namespace {

// sklearn.metrics.precision_score of scikit-learn 1.2; of four classes with average="macro", zero_division=0.
TEST(Precision, AgreesWithScikitLearn) {
  check_class_values("precision",
                     {.yes = 4.0 / 7, .yes_weighted = 0.7, .classes = 0.4375, .classes_weighted = 0.2642857142857143});
}

TEST(Precision, ByHand) {
  // Said yes: three rows, of which one is; two rows are yes.
  EXPECT_DOUBLE_EQ(value_of(logits_of("precision", 1), {{1, 1, 1, -1, 0}, {1, 0, 0, 1, 0}}), 1.0 / 3);
}

TEST(Precision, AgreesWithItsFormulaInAnyBatches) {
  check_class_metric("precision",
                     [](double right, double predicted, double) { return predicted > 0 ? right / predicted : 0.0; });
}

TEST(Precision, CountsWhatIsNotThereAsWrong) { check_class_edges("precision"); }

TEST(Precision, RejectsWhatItCannotJudge) { check_class_metric_rejects("precision"); }

}  // namespace
}  // namespace millrace::testing

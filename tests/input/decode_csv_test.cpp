#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/input/csv_run.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using testing_support::run_text;

Spec field(const char* columns, const char* type = "float32") {
  return Spec::map().set("columns", columns).set("type", type);
}
Spec one_field(const char* columns, const char* type = "float32") {
  return Spec::map().set("fields", Spec::map().set("x", field(columns, type)));
}

TEST(DecodeCsv, ReadsRows) {
  EXPECT_THAT(run_text("1,2.5,3\n4,5,6\n", one_field("0-1")), ElementsAre("t.csv:1 x=1,2.5", "t.csv:2 x=4,5"));
}

}  // namespace
}  // namespace millrace

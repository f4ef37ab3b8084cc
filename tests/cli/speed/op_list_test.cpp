#include "millrace/cli/speed/op_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/core/text.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace {
namespace {

std::vector<std::string> ops(const char* yaml) {
  std::vector<std::string> out;
  for_each_op(parse_yaml(yaml, "test.yaml"),
              [&](const std::string& name, const std::string& kind, const Spec& options) {
                out.push_back(cat(name, ' ', kind, ' ', options.size()));
              });
  return out;
}

TEST(OpList, HasThoseWithOptionsByTheirNames) {
  EXPECT_THAT(ops("input: [a: {x: 1}, b, b: {y: 1, z: 2}, c: {name: d}]"),
              ::testing::ElementsAre("a a 1", "b_2 b 2", "d c 1"));
}

TEST(OpList, IsEmptyWithoutAList) {
  EXPECT_THAT(ops("input: x"), ::testing::IsEmpty());
  EXPECT_THAT(ops("seed: 3"), ::testing::IsEmpty());
}

}  // namespace
}  // namespace millrace

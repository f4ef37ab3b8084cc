#include "millrace/trainer/input/op_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/core/text.h"
#include "millrace/input/catalog.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace {
namespace {

std::vector<std::string> ops(const char* yaml) {
  std::vector<std::string> out;
  for_each_op(parse_yaml(yaml, "test.yaml"), builtin_ops(), [&](const ListedOp& op) {
    const auto rows = op.number(OptionUse::batch_rows), waiting = op.number(OptionUse::waiting);
    out.push_back(cat(op.node.name, ' ', rows.value_or(-1), ' ', waiting.value_or(-1),
                      rows ? cat(' ', op.key(OptionUse::batch_rows)) : ""));
  });
  return out;
}

TEST(OpList, KnowsKeysByTheirUse) {
  EXPECT_THAT(ops("input: [synthetic, queue: {capacity: 3}, queue, batch: {batch_size: 8, capacity: 9, name: b}]"),
              ::testing::ElementsAre("synthetic -1 -1", "queue -1 3", "queue_2 -1 32", "b 8 9 input.b.batch_size"));
}

TEST(OpList, IsEmptyWithoutAList) {
  EXPECT_THAT(ops("input: x"), ::testing::IsEmpty());
  EXPECT_THAT(ops("seed: 3"), ::testing::IsEmpty());
}

}  // namespace
}  // namespace millrace

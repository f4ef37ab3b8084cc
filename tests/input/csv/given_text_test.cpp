#include "millrace/input/csv/given_text.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/input/catalog.h"
#include "millrace/input/graph/row_transforms.h"
#include "millrace/trainer/files/yaml.h"

namespace millrace {
namespace {

TEST(GivenText, HasAHeaderAndAQuoteThatSplitsNoField) {
  const CsvDialect plain = given_text_dialect({"a", "b"}, "");
  EXPECT_EQ(plain.quote, '"');
  EXPECT_EQ(plain.columns, 2);
  EXPECT_EQ(plain.field_name(1), "b");
  EXPECT_FALSE(plain.skip_blank_lines);
  EXPECT_EQ(given_text_dialect({"a"}, " \"").quote, '\'');
  EXPECT_EQ(given_text_dialect({"a"}, "'\"").quote, '|');
}

TEST(GivenText, IsReadByTheOpThatDecodesText) {
  OpRegistry registry = builtin_ops();
  registry.add("given", given_text_op(given_text_dialect({"x", "name"}, "")));
  const RowTransforms transforms(InputGraph::build(
      parse_yaml("- given\n- decode_csv: {fields: {name: {columns: name, type: string}, x: {columns: x}}}\n"
                 "- batch: {batch_size: 4}\n",
                 "list"),
      registry, {}));
  RowBlock rows;
  RowTransforms::Memory memory;
  const uint64_t begins[] = {0, 4};
  transforms.decode({.text = "1,a\n2.5,\"b,\nc\"\n", .begins = begins}, 0, rows, memory);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows.varying(0, 1).text(0), "b,\nc");
  EXPECT_EQ(rows.row<float>(1, 1)[0], 2.5f);
}

}  // namespace
}  // namespace millrace

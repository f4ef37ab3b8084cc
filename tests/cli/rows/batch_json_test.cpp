#include "millrace/cli/rows/batch_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

RowBlock example() {
  RowBlock batch;
  batch.configure({{{"x", DType::f32, Shape({2})}, {"id", DType::i64, Shape({1})}, {"m", DType::u8, Shape({2, 2})}}},
                  4);
  batch.resize(2);
  for (int row = 0; row < 2; ++row) {
    batch.row<float>(0, row)[0] = 0.1f + static_cast<float>(row);
    batch.row<float>(0, row)[1] = row == 0 ? std::numeric_limits<float>::quiet_NaN() : -0.0f;
    batch.row<int64_t>(1, row)[0] = row == 0 ? std::numeric_limits<int64_t>::min() : 7;
    for (int i = 0; i < 4; ++i) batch.row<uint8_t>(2, row)[i] = static_cast<uint8_t>(10 * row + i);
  }
  return batch;
}

TEST(BatchJsonTest, OneLineHoldsEverything) {
  const RowBlock batch = example();
  const std::vector<std::string> places = {"a.csv:1", "b \"c\".csv:17"};
  JsonText json;
  write_batch(json, 5, batch, places);
  EXPECT_EQ(json.text(),
            R"({"v":1,"batch":5,"size":2,"fields":{"x":[[0.1,"NaN"],[1.1,-0]],"id":[[-9223372036854775808],[7]],)"
            R"("m":[[[0,1],[2,3]],[[10,11],[12,13]]]},"rows":["a.csv:1","b \"c\".csv:17"]})");
  EXPECT_TRUE(nlohmann::json::accept(json.text()));
}

TEST(BatchJsonTest, WhatWasThereBeforeIsGone) {
  const RowBlock batch = example();
  const std::vector<std::string> places = {"a.csv:1", "a.csv:2"};
  JsonText once, twice;
  write_batch(once, 0, batch, places);
  write_batch(twice, 1, batch, places);
  write_batch(twice, 0, batch, places);
  EXPECT_EQ(once.text(), twice.text());
}

TEST(BatchJsonTest, TextsAreStringsAndRaggedFieldsUnevenLists) {
  RowBlock batch;
  FieldSpec name = {"name", DType::u8, Shape({2})}, tags = {"tags", DType::i32, Shape({1})};
  name.text = true;
  tags.split = ' ';
  batch.configure({{name, tags}}, 2);
  batch.resize(2);
  batch.varying(0, 0).add_text("a \"b\"");
  batch.varying(0, 0).add_text("\xff");
  batch.varying(0, 1).add_text("");
  batch.varying(0, 1).add_text("\n");
  batch.varying(1, 0).add_number(int32_t{-1});
  batch.varying(1, 0).add_number(int32_t{2});
  JsonText json;
  write_batch(json, 0, batch, {});
  EXPECT_EQ(json.text(),
            "{\"v\":1,\"batch\":0,\"size\":2,\"fields\":{\"name\":[[\"a \\\"b\\\"\",\"\xef\xbf\xbd\"],[\"\",\"\\n\"]],"
            "\"tags\":[[-1,2],[]]},\"rows\":[]}");
}

TEST(BatchJsonTest, EmptyBatch) {
  RowBlock batch = example();
  batch.resize(0);
  JsonText json;
  write_batch(json, 0, batch, {});
  EXPECT_EQ(json.text(), R"({"v":1,"batch":0,"size":0,"fields":{"x":[],"id":[],"m":[]},"rows":[]})");
}

}  // namespace
}  // namespace millrace::cli

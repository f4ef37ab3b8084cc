// read_plain_rows().
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "millrace/cli/serve/row_reader.h"
#include "millrace/core/errors.h"
#include "millrace/input/csv/given_text.h"

namespace millrace::cli {
namespace {

const RowKeys& keys() {
  static const RowKeys made(given_text_dialect({"age", "city", "x[0]", "x[1]"}, ""),
                            {{"age", {0}}, {"city", {1}}, {"x", {2, 3}, true}}, {"label"});
  return made;
}

bool is_plain(std::string_view body) {
  RequestedRows out;
  return read_plain_rows(keys(), body, out);
}

TEST(PlainRows, AreReadAsJsonIs) {
  for (const std::string body :
       {R"([{"age": 31, "city": "Rome", "x": [1, 2]}])", "[]", " [ ] ",
        R"([{"age":-0,"city":"a,b","x":[0.5,-1e-05]},{"city":null,"x":[null,"7"],"age":12345678901234567890123}])",
        "\n[\t{\"x\"\r: [ 1 , 2 ] , \"age\" : 1E+10 , \"city\":\"K\u00f6ln\"} ]"}) {
    RequestedRows plain;
    ASSERT_TRUE(read_plain_rows(keys(), body, plain)) << body;
    const RequestedRows json = read_json_rows(keys(), body);
    EXPECT_EQ(plain.text, json.text) << body;
    EXPECT_EQ(plain.begins, json.begins) << body;
  }
}

TEST(PlainRows, GiveUpAtAnythingElse) {
  for (const std::string_view body :
       {"", "[", "[{}]", "{}", "[] []", R"([{"age":1,"city":"a\\b","x":[1,2]}])",
        R"([{"age":1,"city":2,"x":[1,2],"label":0}])", R"([{"age":1,"age":1,"city":2,"x":[1,2]}])",
        R"([{"age":1,"city":2,"x":[1]}])", R"([{"age":1,"city":2,"x":[[1],2]}])", R"([{"age":01,"city":2,"x":[1,2]}])",
        R"([{"age":1.,"city":2,"x":[1,2]}])", R"([{"age":1e999,"city":2,"x":[1,2]}])",
        R"([{"age":+1,"city":2,"x":[1,2]}])", R"([{"age":true,"city":2,"x":[1,2]}])",
        R"([{"age":1,"city":2,"x":[1,2]},])", "[{\"age\":1,\"city\":\"\xff\",\"x\":[1,2]}]",
        "[{\"age\":1,\"city\":\"\n\",\"x\":[1,2]}]"}) {
    EXPECT_FALSE(is_plain(body)) << body;
  }
}

// Changed bytes: whatever is plain is JSON with the same rows.
TEST(PlainRows, AgreeWithJsonWhateverComes) {
  const std::string good =
      R"([{"age": 31.5e1, "city": "Rome", "x": [-1, 2]}, {"x": [null, "3"], "city": "é", "age": 0}])";
  constexpr std::string_view kBytes = "[]{}:,\"\\ 0123456789.eE+-nulltrue\n\xc3\xa9";
  std::mt19937 draws(1);
  int plain_ones = 0;
  for (int turn = 0; turn < 20000; ++turn) {
    std::string body = good;
    for (auto changes = draws() % 3; changes-- > 0;) {
      const size_t at = draws() % body.size();
      const char byte = kBytes[draws() % kBytes.size()];
      switch (draws() % 3) {
        case 0: body[at] = byte; break;
        case 1: body.insert(at, 1, byte); break;
        default: body.erase(at, 1 + draws() % 3);
      }
    }
    RequestedRows plain;
    if (!read_plain_rows(keys(), body, plain)) continue;
    ++plain_ones;
    ASSERT_NO_THROW(ASSERT_EQ(read_json_rows(keys(), body).text, plain.text)) << body;
  }
  EXPECT_GT(plain_ones, 1000);
}

}  // namespace
}  // namespace millrace::cli

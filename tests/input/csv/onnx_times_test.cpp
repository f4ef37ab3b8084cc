// tests/cli/export compares the seconds with those of decode_csv.
#include "millrace/input/csv/onnx_times.h"

#include <gtest/gtest.h>

#include <string>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

std::string pattern(const TimeFormat& format) {
  OnnxGraph graph;
  OnnxRows rows(graph, {});
  add_seconds(format, OnnxType::f64, graph.text("texts"), graph.text("missing"), rows);
  EXPECT_EQ(graph.opset(), 20);
  for (const OnnxGraph::Node& node : graph.nodes()) {
    if (node.op == "RegexFullMatch") return std::get<std::string>(node.attributes[0].value);
  }
  return {};
}

std::string refusal(const std::string& letters) {
  try {
    pattern(TimeFormat(TimeFormat::Kind::timestamp, letters));
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.hint(), "give the seconds since 1970 in place of the text: type: float64");
    return error.message();
  }
  return {};
}

TEST(OnnxTimesTest, APatternKnowsTheFormat) {
  EXPECT_EQ(pattern(TimeFormat(TimeFormat::Kind::date)), R"( *\d{4}-\d{2}-\d{2} *)");
  EXPECT_EQ(pattern(TimeFormat(TimeFormat::Kind::date, " %d.%b_%y  (%%) ")), R"( *\d{1,2}\.[A-Za-z]+_\d{2} +\(\%\) *)");
}

TEST(OnnxTimesTest, AFormatThatCannotBeCutIsRefused) {
  EXPECT_EQ(refusal("%Y%m%d"), "the format \"%Y%m%d\" cannot be written as ONNX: it is not clear where a part ends");
  EXPECT_NE(refusal("%d %bx%Y"), "");
  EXPECT_NE(refusal("%Y-%m-%d0%H:%M"), "");
  EXPECT_EQ(refusal("%Y-%m-%d %H:%M %z"),
            "the format \"%Y-%m-%d %H:%M %z\" cannot be written as ONNX: it has an offset from UTC");
  EXPECT_EQ(refusal("%Y-%m-%dT%H:%M"), "");
}

}  // namespace
}  // namespace millrace

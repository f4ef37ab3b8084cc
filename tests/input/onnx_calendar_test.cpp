#include "millrace/input/onnx_calendar.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace millrace {
namespace {

// Runs the nodes of a graph whose values are single whole numbers.
class WholeNumbers {
 public:
  explicit WholeNumbers(const OnnxGraph& graph) : graph_(graph) {}

  void set(OnnxValue name, int64_t value) { values_[name] = value; }
  void run() {
    for (const OnnxGraph::Constant& constant : graph_.constants()) {
      std::memcpy(&values_[constant.value], constant.bytes.data(), sizeof(int64_t));
    }
    for (const OnnxGraph::Node& node : graph_.nodes()) {
      const int64_t a = values_.at(node.inputs[0]), b = values_.at(node.inputs.back());
      values_[node.outputs[0]] = result(node.op, a, b);
    }
  }
  int64_t operator[](const OnnxWhole& whole) const { return values_.at(whole.value); }

 private:
  static int64_t result(const std::string& op, int64_t a, int64_t b) {
    if (op == "Add") return a + b;
    if (op == "Sub") return a - b;
    if (op == "Mul") return a * b;
    if (op == "Div") return a / b;
    if (op == "Mod") return a % b;
    if (op == "GreaterOrEqual") return a >= b ? 1 : 0;
    EXPECT_EQ(op, "Cast");
    return a;
  }

  const OnnxGraph& graph_;
  std::map<OnnxValue, int64_t> values_;
};

TEST(OnnxCalendarTest, SaysOfEveryDayWhatTheCalendarSays) {
  OnnxGraph graph;
  const OnnxWhole days{&graph, graph.input("days", OnnxType::i64, {1})};
  const OnnxDate date(days);
  const OnnxWhole back = onnx_days(date.year, date.month, date.day), length = days_of_year(date.year);
  WholeNumbers numbers(graph);
  int64_t wrong = 0;
  // The days around the ends of February and of the year in the first 400 years, and some days up to the year 10000.
  std::vector<int64_t> tried;
  for (int year = 0; year <= 400; ++year) {
    for (int day = -1; day < 2; ++day) {
      tried.push_back(days_since_1970(year, 3, 1) + kDaysBefore1970 + day);
      tried.push_back(days_since_1970(year, 12, 31) + kDaysBefore1970 + day);
    }
  }
  for (int64_t day = 0; day < days_since_1970(10001) + kDaysBefore1970; day += 997) tried.push_back(day);
  for (const int64_t day : tried) {
    numbers.set(days.value, day);
    numbers.run();
    const CalendarTime time((day - kDaysBefore1970) * kSecondsOfDay);
    const bool same = numbers[date.year] == time.year && numbers[date.month] == time.month &&
                      numbers[date.day] == time.day && numbers[date.yearday] == time.yearday &&
                      numbers[date.weekday] == time.weekday && numbers[back] == day &&
                      numbers[length] == days_of_year(time.year);
    if (!same && ++wrong == 1)
      ADD_FAILURE() << "day " << day << ": " << time.year << '-' << time.month << '-' << time.day;
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace millrace

// TraceFile: a trace as a viewer reads it. It checks what a viewer needs: complete events with times, and ranges of a
// thread that nest.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/trace.h"

namespace millrace::testing {

struct TracedRange {
  std::string name, category;
  int64_t thread = 0;
  int64_t start = 0, end = 0;  // nanoseconds
  int depth = 0;               // ranges of its thread around it
  nlohmann::json args;
};

struct TraceFile {
  explicit TraceFile(const Trace& trace) {
    std::string text;
    trace.write([&](std::string_view piece) { text += piece; });
    read(text);
  }
  explicit TraceFile(const std::string& text) { read(text); }

  int depth_of(size_t index) const { return ranges.at(index).depth; }
  std::vector<TracedRange> named(std::string_view name, std::string_view category) const {
    std::vector<TracedRange> out;
    for (const TracedRange& range : ranges) {
      if (range.name == name && range.category == category) out.push_back(range);
    }
    return out;
  }

  nlohmann::json json;
  std::vector<TracedRange> ranges;  // of one thread after another, in the order of their starts
  std::map<int64_t, std::string> threads;
  std::map<std::string, std::vector<int64_t>> counters;

 private:
  void read(const std::string& text) {
    json = nlohmann::json::parse(text);
    for (const nlohmann::json& event : json.at("traceEvents")) {
      const std::string kind = event.at("ph");
      ASSERT_EQ(event.at("pid"), 1) << event;
      if (kind == "M") {
        if (event.at("name") == "thread_name") threads[event.at("tid")] = event.at("args").at("name");
      } else if (kind == "C") {
        ASSERT_GE(event.at("ts").get<double>(), 0) << event;
        counters[event.at("name")].push_back(event.at("args").at("value"));
      } else {
        ASSERT_EQ(kind, "X") << event;
        take(event);
      }
    }
    EXPECT_EQ(json.at("otherData").at("events"), ranges.size() + counted());
  }

  void take(const nlohmann::json& event) {
    TracedRange range;
    range.name = event.at("name");
    range.category = event.at("cat");
    range.thread = event.at("tid");
    range.start = std::llround(event.at("ts").get<double>() * 1000);
    const int64_t duration = std::llround(event.at("dur").get<double>() * 1000);
    ASSERT_GE(range.start, 0) << event;
    ASSERT_GE(duration, 0) << event;
    range.end = range.start + duration;
    range.args = event.at("args");
    ASSERT_TRUE(threads.contains(range.thread)) << event;
    std::vector<int64_t>& open = open_[range.thread];
    while (!open.empty() && open.back() <= range.start) open.pop_back();
    ASSERT_TRUE(open.empty() || range.end <= open.back()) << "the range ends behind the one around it: " << event;
    range.depth = static_cast<int>(open.size());
    open.push_back(range.end);
    ranges.push_back(std::move(range));
  }

  size_t counted() const {
    size_t count = 0;
    for (const auto& [name, values] : counters) count += values.size();
    return count;
  }

  std::map<int64_t, std::vector<int64_t>> open_;  // by thread: the ends of the ranges that are open
};

}  // namespace millrace::testing

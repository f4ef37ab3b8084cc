#include "millrace/cli/compare/compare_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/cli/compare/example_comparison.h"

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t count(const std::string& page, const std::string& what) {
  size_t found = 0;
  for (size_t at = page.find(what); at != page.npos; at = page.find(what, at + 1)) ++found;
  return found;
}

// Every element is closed in order.
bool is_nested(const std::string& page) {
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != page.npos; at = page.find('<', at + 1)) {
    const size_t end = page.find('>', at);
    if (end == page.npos) return false;
    if (page[at + 1] == '!' || page[end - 1] == '/') continue;
    const size_t name = at + (page[at + 1] == '/' ? 2 : 1);
    const std::string tag = page.substr(name, page.find_first_of(" >", name) - name);
    if (tag == "meta") continue;
    if (page[at + 1] != '/') {
      open.push_back(tag);
    } else if (open.empty() || open.back() != tag) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

TEST(ComparePage, StandsAlone) {
  const std::string page = compare_page(example_comparison());
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(is_nested(page));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
}

TEST(ComparePage, HasABarForEachPartOfEachDelivery) {
  const std::string page = compare_page(example_comparison());
  EXPECT_EQ(count(page, "<title>step "), 4u);
  EXPECT_EQ(count(page, "<title>make "), 2u);
  EXPECT_EQ(count(page, "<title>wait "), 2u);
  EXPECT_EQ(count(page, "<title>copy "), 2u);
  EXPECT_EQ(count(page, "<line class=\"bound\""), 4u);
  EXPECT_THAT(page, HasSubstr("<td>native</td><td>8</td><td>7.2</td><td>9.6</td><td>32000</td><td>1.25x</td>"));
}

TEST(ComparePage, HasACurveForEachQueue) {
  Comparison comparison = example_comparison();
  EXPECT_EQ(count(compare_page(comparison), "<polyline"), 1u);
  EXPECT_THAT(compare_page(comparison), HasSubstr("3.5 of 5 on average"));
  comparison.deliveries[1].mean_queued.reset();
  EXPECT_EQ(count(compare_page(comparison), "<polyline"), 0u);
  EXPECT_THAT(compare_page(comparison), Not(HasSubstr("Queues")));
}

TEST(ComparePage, EscapesNames) {
  Comparison comparison = example_comparison();
  comparison.deliveries[0].name = "<b>\"&";
  const std::string page = compare_page(comparison);
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;&quot;&amp;"));
  EXPECT_THAT(page, HasSubstr("Example &lt;1&gt;"));
  EXPECT_TRUE(is_nested(page));
}

}  // namespace
}  // namespace millrace::cli

#include "millrace/input/csv/header_names.h"

#include <gtest/gtest.h>

#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;

Spec text(const char* value) { return Spec::scalar(value, true, {"c.yaml", 4, 9}); }

CsvDialect dialect_of(const std::string& record, std::vector<std::string> header) {
  CsvDialect out;
  out.columns = static_cast<int64_t>(header.size());
  out.header = std::move(header);
  out.first_record = record;
  out.file = "b.csv";
  out.header_line = 3;
  return out;
}

TEST(HeaderNames, AnotherNameIsAnErrorAtItsPlace) {
  const HeaderNames names(Spec::map().set("0", text("")).set("2", text("width")));
  names.check({0, 1, 2}, dialect_of(",a,width\n", {"", "a", "width"}));
  EXPECT_EQ(
      error_of([&] {
        names.check({0, 2}, dialect_of("a,width,b\n", {"a", "width", "b"}));
      }),
      "b.csv:3:1: expected column 0 to be called \"\", got \"a\"; this column is selected by its number: it has to "
      "stand at the same place in every file");
  const auto place = [&](const std::string& record, std::vector<std::string> header) {
    const std::string error = error_of([&] { names.check({0, 2}, dialect_of(record, std::move(header))); });
    return error.substr(0, error.find(": expected"));
  };
  EXPECT_EQ(place(",a,b\n", {"", "a", "b"}), "b.csv:3:4");
  EXPECT_EQ(place(",\"a\nc\",\"b\"\n", {"", "a\nc", "b"}), "b.csv:4:4") << "a name of two lines is before it";
}

TEST(HeaderNames, NothingIsCheckedWithoutARecordAndWhereNothingIsRead) {
  HeaderNames(Spec::map().set("9", text("b"))).check({0}, dialect_of("a\n", {"a"}));
  HeaderNames().check({0}, dialect_of("a\n", {"a"}));
  HeaderNames(Spec::map().set("0", text("b"))).check({0}, CsvDialect());
}

TEST(HeaderNames, SaysWhatIsWrongWithTheConfiguration) {
  const HeaderNames names(Spec::map().set("1", text("a")));
  CsvDialect bare = dialect_of("1,2\n", {});
  bare.columns = 2;
  EXPECT_EQ(error_of([&] { names.check({1}, bare); }),
            "c.yaml:4:9: 1: the files are read without a header; set csv_reader: {header: true}, or leave names out");
  EXPECT_EQ(error_of([] { HeaderNames(Spec::map().set("a", text("b"))); }),
            "c.yaml:4:9: a: expected the index of a column, got \"a\"");
  EXPECT_NE(error_of([] { HeaderNames{text("b")}; }).find("expected a map from columns to names"), std::string::npos);
}

}  // namespace
}  // namespace millrace

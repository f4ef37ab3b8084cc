#include "millrace/input/csv/field_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::error_of;
using testing_support::list_of;

// As YAML gives it: a text that nobody quoted.
Spec plain(const char* text) { return Spec::scalar(text, false, {"c.yaml", 3, 5}); }
Spec quoted(const char* text) { return Spec::scalar(text, true, {"c.yaml", 3, 5}); }
Spec columns(Spec of) { return Spec::map().set("columns", std::move(of)); }
Spec fields(Spec x) { return Spec::map().set("x", std::move(x)); }

CsvDialect dialect(int64_t columns, std::vector<std::string> header = {}) {
  CsvDialect out;
  out.columns = columns;
  out.header = std::move(header);
  return out;
}

std::vector<uint32_t> select(Spec of, const CsvDialect& from) {
  return select_fields(read_fields(fields(columns(std::move(of))), true), from).front().columns;
}
std::string select_error(Spec of, const CsvDialect& from) {
  return error_of([&] { select(of, from); });
}

TEST(FieldSelection, TakesIndicesRangesListsAndNames) {
  const CsvDialect five = dialect(5, {"id", "a", "b", "2", "label"});
  EXPECT_THAT(select(plain("3"), five), ElementsAre(3));
  EXPECT_THAT(select(plain("1-3"), five), ElementsAre(1, 2, 3));
  EXPECT_THAT(select(plain("2-2"), five), ElementsAre(2));
  EXPECT_THAT(select(plain("label"), five), ElementsAre(4));
  EXPECT_THAT(select(list_of({"b", "0-1", "4", "b"}), five), ElementsAre(2, 0, 1, 4, 2));
  EXPECT_THAT(select(quoted("1-3"), five), ElementsAre(1, 2, 3)) << "quotes alone make no name";
  EXPECT_THAT(select(plain("2"), five), ElementsAre(2));
  EXPECT_THAT(select(quoted("2"), five), ElementsAre(3)) << "a name of the header in quotes";
}

// What a text in quotes is, the header decides.
TEST(FieldSelection, TakesAnyNameOfTheHeaderInQuotes) {
  const CsvDialect odd = dialect(6, {"1.0", "1e3", "1-", "3-4", "2020-01", "0-99999999"});
  for (uint32_t i = 0; i < 6; ++i) {
    EXPECT_THAT(select(quoted(odd.header[i].c_str()), odd), ElementsAre(i)) << odd.header[i];
  }
  EXPECT_THAT(select(plain("3-4"), odd), ElementsAre(3, 4));
  EXPECT_EQ(select_error(quoted("4-3"), odd), "c.yaml:3:5: x.columns: the range 4-3 runs backwards; write 3-4");
  EXPECT_THAT(select_error(quoted("0-18446744073709551615"), dialect(0)), HasSubstr("16777216 columns at most"));

  const auto selected = [&](Spec defaults, const CsvDialect& from) {
    return select_fields(read_fields(fields(columns(quoted("3-4")).set("default", std::move(defaults))), true), from)
        .front();
  };
  EXPECT_EQ(selected(list_of({"7"}), odd).spec.type_text(), "float32 (1)");
  EXPECT_EQ(selected(list_of({"7", "8"}), dialect(5)).spec.type_text(), "float32 (2)");
  EXPECT_EQ(selected(plain("7"), dialect(5)).defaults.numbers.size(), 2 * sizeof(float));
  EXPECT_THAT(error_of([&] {
                selected(list_of({"7", "8"}), odd);
              }),
              HasSubstr("expected one default, or one for each of the 1 columns, got 2"));
  const Spec ragged = fields(columns(quoted("3-4")).set("split", " "));
  EXPECT_TRUE(select_fields(read_fields(ragged, true), odd).front().spec.ragged());
  EXPECT_THAT(error_of([&] { select_fields(read_fields(ragged, true), dialect(5)); }),
              HasSubstr("a field with split has one column, got 2"));
}

TEST(FieldSelection, MakesTheSpecOfARow) {
  const Spec spec = Spec::map()
                        .set("features", columns(plain("0-2")))
                        .set("label", columns(plain("4")).set("type", "int32"))
                        .set("weight", columns(list_of({"3", "3"})).set("type", "float64"));
  const auto selected = select_fields(read_fields(spec, true), dialect(5));
  RowSpec row;
  for (const SelectedField& field : selected) row.fields.push_back(field.spec);
  EXPECT_EQ(row.text(), "features: float32 (3), label: int32 (1), weight: float64 (2)");
}

TEST(FieldSelection, RefusesColumnsThatAreNotThere) {
  EXPECT_EQ(select_error(plain("5"), dialect(5)),
            "c.yaml:3:5: x.columns: there is no column 5: the records have 5 columns (0 to 4)");
  EXPECT_EQ(select_error(plain("3-7"), dialect(5)),
            "c.yaml:3:5: x.columns: there is no column 7: the records have 5 columns (0 to 4)");
  EXPECT_EQ(select_error(plain("1"), dialect(1)),
            "c.yaml:3:5: x.columns: there is no column 1: the records have 1 column (0)");
  CsvDialect one = dialect(1);
  one.first_record = "1;2\n";
  EXPECT_EQ(select_error(plain("0-4"), one),
            "c.yaml:3:5: x.columns: there is no column 4: the records have 1 column (0); set csv_reader: "
            "{delimiter: \";\"}");
  one.first_record = "1\t2\n";
  EXPECT_THAT(select_error(plain("0-4"), one), HasSubstr("set csv_reader: {delimiter: \"\\t\"}"));
}

TEST(FieldSelection, RefusesNamesThatAreNotThere) {
  EXPECT_EQ(
      select_error(plain("price"), dialect(2)),
      "c.yaml:3:5: x.columns: column \"price\" is a name, but the files are read without a header; set csv_reader: "
      "{header: true}, or select columns by index");
  EXPECT_EQ(
      select_error(plain("0:1"), dialect(2)),
      "c.yaml:3:5: x.columns: column \"0:1\" is a name, but the files are read without a header; write columns as "
      "3 or 0-9, or as a list of these");
  EXPECT_EQ(select_error(plain("prise"), dialect(2, {"price", "size"})),
            "c.yaml:3:5: x.columns: the header has no column \"prise\"; did you mean price?");
  EXPECT_EQ(select_error(plain("colour"), dialect(2, {"price", "size"})),
            "c.yaml:3:5: x.columns: the header has no column \"colour\"; it has price and size");
  EXPECT_THAT(select_error(plain("q"), dialect(3, {"a b", "", "c"})), HasSubstr("; it has \"a b\", \"\" and c"));
  EXPECT_THAT(select_error(plain("a c"), dialect(2, {"a b", "cd"})), HasSubstr("; did you mean \"a b\"?"));
  EXPECT_THAT(select_error(plain("b"), dialect(1, {"a b c"})), HasSubstr("; set csv_reader: {delimiter: \" \"}"));
  EXPECT_THAT(
      select_error(plain("q"), dialect(12, {"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "x", "y"})),
      HasSubstr("; it has a0, a1, a2, a3, a4, a5, a6, a7, a8, a9 and 2 more"));
  CsvDialect named = dialect(2, {"price", "price"});
  named.file = "d/a.csv";
  EXPECT_THAT(select_error(plain("q"), named), HasSubstr(": the header of d/a.csv has no column \"q\"; "));
  EXPECT_THAT(select_error(plain("price"), named), HasSubstr(": the header of d/a.csv has the column \"price\" more"));
  EXPECT_THAT(select_error(plain("2"), named), HasSubstr(": the records of d/a.csv have 2 columns (0 to 1)"));
  EXPECT_EQ(select_error(plain("a"), dialect(3, {"a", "b", "a"})),
            "c.yaml:3:5: x.columns: the header has the column \"a\" more than once; select it by index");
  CsvDialect one = dialect(1, {"a;b"});
  one.first_record = "1;2\n";
  EXPECT_EQ(select_error(plain("a"), one),
            "c.yaml:3:5: x.columns: the header has no column \"a\"; set csv_reader: {delimiter: \";\"}");
  CsvDialect commas = dialect(1, {"a,b"});
  commas.delimiter = ';';
  commas.first_record = "1,2\n";
  EXPECT_EQ(select_error(plain("a"), commas),
            "c.yaml:3:5: x.columns: the header has no column \"a\"; set csv_reader: {delimiter: \",\"}");
}

TEST(FieldSelection, LeavesNamesOpenWhereThereIsNoRecord) {
  EXPECT_THAT(select(list_of({"price", "size"}), dialect(0)), ElementsAre(0, 0));
  EXPECT_THAT(select(plain("7-8"), dialect(0)), ElementsAre(7, 8));
}

std::string read_error(Spec x) {
  return error_of([&] { read_fields(fields(std::move(x)), true); });
}

// A list of sizes, each at its own place.
Spec sizes(const std::vector<const char*>& texts) {
  Spec list = Spec::list(Place{"c.yaml", 4, 5});
  for (const char* text : texts) list.append(Spec::scalar(text, false, {"c.yaml", 4, 9}));
  return list;
}
Spec reshaped(Spec of, Spec to) { return columns(std::move(of)).set("reshape", std::move(to)); }

TEST(FieldSelection, GivesTheColumnsAShape) {
  const auto shape = [](Spec x, int64_t count = 5, std::vector<std::string> header = {}) {
    return select_fields(read_fields(fields(std::move(x)), true), dialect(count, std::move(header))).front().spec.shape;
  };
  EXPECT_EQ(shape(reshaped(plain("1-4"), sizes({"1", "2", "2"}))), (Shape{1, 2, 2}));
  EXPECT_EQ(shape(reshaped(list_of({"4", "0-2", "0", "1"}), sizes({"2", "-1"}))), (Shape{2, 3}));
  EXPECT_EQ(shape(reshaped(plain("2"), plain("1"))), Shape{1});
  EXPECT_EQ(shape(reshaped(plain("2"), sizes({"1", "1", "1"})).set("type", "int64")), (Shape{1, 1, 1}));
  // The header decides whether it is a name.
  EXPECT_EQ(shape(reshaped(quoted("1-4"), sizes({"1", "2", "2"}))), (Shape{1, 2, 2}));
  EXPECT_EQ(shape(reshaped(quoted("1-4"), sizes({"1", "1"})), 2, {"a", "1-4"}), (Shape{1, 1}));
}

TEST(FieldSelection, RefusesAShapeOfOtherSize) {
  EXPECT_EQ(read_error(reshaped(plain("0-784"), sizes({"1", "28", "28"}))),
            "c.yaml:4:5: x.reshape: expected 784 columns for the shape (1, 28, 28), got 785; both ends of the range "
            "0-784 count");
  EXPECT_EQ(read_error(reshaped(list_of({"0", "1", "2"}), sizes({"2", "-1"}))),
            "c.yaml:4:5: x.reshape: expected a multiple of 2 columns for the shape (2, -1), got 3; select as many "
            "columns, or give other sizes");
  EXPECT_EQ(read_error(reshaped(plain("3"), sizes({"2"}))),
            "c.yaml:4:5: x.reshape: expected 2 columns for the shape (2), got 1; select as many columns, or give other "
            "sizes");
  EXPECT_EQ(select_error(quoted("1-4"), dialect(5)), "no error");
  EXPECT_EQ(error_of([] {
              select_fields(read_fields(fields(reshaped(quoted("1-4"), sizes({"1", "1"}))), true), dialect(5));
            }),
            "c.yaml:4:5: x.reshape: expected 1 column for the shape (1, 1), got 4; both ends of the range 1-4 count");
  EXPECT_EQ(read_error(reshaped(plain("0-3"), sizes({"1099511627776", "1099511627776"}))),
            "c.yaml:4:5: x.reshape: the shape (1099511627776, 1099511627776) has too many elements");
}

TEST(FieldSelection, RefusesAShapeOfWhatHasNone) {
  EXPECT_EQ(read_error(reshaped(plain("3"), sizes({"1"})).set("split", " ")),
            "c.yaml:4:5: x.reshape: a ragged field has a length of its own in every row, so it has no shape; leave "
            "split or reshape out");
  EXPECT_EQ(read_error(reshaped(plain("3"), sizes({"1"})).set("type", "string")),
            "c.yaml:4:5: x.reshape: reshape takes numbers, the field is of type string");
  EXPECT_EQ(read_error(reshaped(plain("3"), sizes({"1", "0"}))),
            "c.yaml:4:9: x.reshape[1]: expected at least 1, or -1, got 0");
  EXPECT_EQ(read_error(reshaped(plain("3"), sizes({}))), "c.yaml:4:5: x.reshape: expected 1 to 5 sizes, got 0");
}

TEST(FieldSelection, SaysHowFieldsAreWritten) {
  const auto error = [](Spec of) { return error_of([&] { read_fields(of, true); }); };
  EXPECT_EQ(error(plain("x")), "c.yaml:3:5: expected a map of fields, got \"x\"; write fields: {name: {columns: 0-9}}");
  EXPECT_EQ(error(fields(plain("3"))), "c.yaml:3:5: x: expected a map, got 3; write x: {columns: 3}");
  EXPECT_THAT(error(fields(list_of({"0", "1"}))), HasSubstr("x: expected a map, got a list; write x: {columns: ..}"));
  EXPECT_THAT(error(fields(columns(Spec::null({"c.yaml", 3, 5})))),
              HasSubstr("x.columns: the key has no value; null means no value"));
}

TEST(FieldSelection, RefusesWhatIsNoColumn) {
  EXPECT_EQ(read_error(columns(plain("3-1"))), "c.yaml:3:5: x.columns: the range 3-1 runs backwards; write 1-3");
  EXPECT_EQ(read_error(columns(plain("-1"))), "c.yaml:3:5: x.columns: expected a column index from 0, got -1");
  EXPECT_EQ(read_error(columns(plain(""))), "c.yaml:3:5: x.columns: expected a column, got an empty text");
  EXPECT_THAT(read_error(columns(Spec::list())), HasSubstr("expected at least one column, got an empty list"));
  EXPECT_THAT(read_error(columns(plain("0-99999999"))), HasSubstr("a field may have 16777216 columns at most"));
  EXPECT_THAT(read_error(columns(plain("0-18446744073709551615"))), HasSubstr("16777216 columns at most"));
  Spec many = Spec::map();
  for (const char* name : {"a", "b", "c"}) many.set(name, columns(plain("0-8388607")));
  EXPECT_EQ(error_of([&] { read_fields(many, true); }),
            "c.yaml:3:5: c.columns: all fields together may have 16777216 columns at most");
  EXPECT_THAT(read_error(Spec::map()), HasSubstr("the key columns is required"));
  EXPECT_THAT(read_error(columns(plain("0")).set("typ", "int32")), HasSubstr("did you mean type?"));
  EXPECT_THAT(read_error(columns(plain("0")).set("type", "int31")), HasSubstr("did you mean int32?"));
  EXPECT_THAT(error_of([] { read_fields(Spec::map(), true); }),
              HasSubstr("expected at least one field; write name: {columns: 0-9}"));
}

TEST(FieldSelection, ReadsDefaultsOfTheFieldsType) {
  const auto bytes = [](const char* type, const char* value, bool allow_nonfinite = true) {
    const Spec x = columns(plain("0-1")).set("type", type).set("default", plain(value));
    return read_fields(fields(x), allow_nonfinite).front().field.defaults.numbers.size();
  };
  EXPECT_EQ(bytes("float32", "0.1"), 2 * sizeof(float));
  EXPECT_EQ(bytes("int64", "7"), 2 * sizeof(int64_t));
  EXPECT_EQ(bytes("date", "2024-01-31"), 2 * sizeof(double));
  EXPECT_EQ(error_of([&] { bytes("int32", "0.5"); }),
            "c.yaml:3:5: x.default: expected a default of type int32, got 0.5");
  EXPECT_EQ(error_of([&] { bytes("float32", "nan", false); }),
            "c.yaml:3:5: x.default: the default nan is not finite; set allow_nonfinite: true");
}

TEST(FieldSelection, ReadsHowTimesAreWritten) {
  const auto field = [](const char* type, const char* format = nullptr, const char* as = nullptr) {
    Spec x = columns(plain("3-4")).set("type", type);
    if (format != nullptr) x.set("format", quoted(format));
    if (as != nullptr) x.set("as", plain(as));
    return select_fields(read_fields(fields(std::move(x)), true), dialect(5)).front();
  };
  EXPECT_EQ(field("date").spec.type_text(), "float64 (2)");
  EXPECT_EQ(field("timestamp", nullptr, "int64").spec.type_text(), "int64 (2)");
  EXPECT_EQ(field("date", "%d/%m/%Y", "float64").spec.type_text(), "float64 (2)");
  EXPECT_EQ(field("date", "%d/%m/%Y").time->name(), "date as \"%d/%m/%Y\"");
  EXPECT_EQ(field("timestamp").time->kind(), TimeFormat::Kind::timestamp);
  EXPECT_FALSE(field("float64").time);
  EXPECT_EQ(error_of([&] { field("date", "%d/%m/%Q"); }),
            "c.yaml:3:5: x.format: the format has \"%Q\", which is not known; known: %Y %y %m %b %B %d %j, %H %I %p %M "
            "%S %f %z, and %% for a percent sign");
  EXPECT_EQ(error_of([&] { field("date", "%d/%m/%Y %H:%M"); }),
            "c.yaml:3:5: x.format: a date has no time of day, but the format has; set type: timestamp");
  EXPECT_EQ(error_of([&] { field("date", ""); }),
            "c.yaml:3:5: x.format: the format is empty; leave it out for ISO 8601");
  EXPECT_EQ(error_of([&] { field("float32", "%Y"); }),
            "c.yaml:3:5: x.format: this key is for fields of type date or timestamp");
  EXPECT_EQ(error_of([&] { field("float32", nullptr, "int64"); }),
            "c.yaml:3:5: x.as: this key is for fields of type date or timestamp");
  EXPECT_THAT(error_of([&] { field("date", nullptr, "int32"); }), HasSubstr("x.as: "));
}

TEST(FieldSelection, TellsHowFieldsAreWritten) {
  using Is = OptionForm::Is;
  const std::vector<OptionForm> forms = field_forms();
  ASSERT_EQ(forms.size(), 1u);
  EXPECT_EQ(forms[0].is, Is::map);
  const std::vector<OptionInfo>& field = forms[0].items.at(0).options;
  ASSERT_EQ(field.size(), 8u);
  EXPECT_EQ(field[0].name, "columns");
  EXPECT_TRUE(field[0].required);
  EXPECT_EQ(field[0].type, "integer, text or list");
  EXPECT_EQ(field[1].forms.at(0).names.front(), "float32");
  EXPECT_EQ(field[2].name, "default");
  EXPECT_EQ(field[3].name, "missing");
  EXPECT_EQ(field[4].name, "split");
  EXPECT_EQ(field[5].name, "reshape");
  EXPECT_EQ(field[5].type, "integer or list");
  EXPECT_EQ(field[6].name, "format");
  EXPECT_EQ(field[7].name, "as");
}

Spec name(const char* value) { return Spec::scalar(value, true, {"c.yaml", 4, 9}); }

CsvDialect named(const std::string& record, std::vector<std::string> header) {
  CsvDialect out;
  out.columns = static_cast<int64_t>(header.size());
  out.header = std::move(header);
  out.first_record = record;
  out.file = "b.csv";
  out.header_line = 3;
  return out;
}

TEST(HeaderNames, AnotherNameIsAnErrorAtItsPlace) {
  const HeaderNames names(Spec::map().set("0", name("")).set("2", name("width")));
  names.check({0, 1, 2}, named(",a,width\n", {"", "a", "width"}));
  EXPECT_EQ(
      error_of([&] {
        names.check({0, 2}, named("a,width,b\n", {"a", "width", "b"}));
      }),
      "b.csv:3:1: expected column 0 to be called \"\", got \"a\"; this column is selected by its number: it has to "
      "stand at the same place in every file");
  const auto place = [&](const std::string& record, std::vector<std::string> header) {
    const std::string error = error_of([&] { names.check({0, 2}, named(record, std::move(header))); });
    return error.substr(0, error.find(": expected"));
  };
  EXPECT_EQ(place(",a,b\n", {"", "a", "b"}), "b.csv:3:4");
  EXPECT_EQ(place(",\"a\nc\",\"b\"\n", {"", "a\nc", "b"}), "b.csv:4:4") << "a name of two lines is before it";
}

TEST(HeaderNames, NothingIsCheckedWithoutARecordAndWhereNothingIsRead) {
  HeaderNames(Spec::map().set("9", name("b"))).check({0}, named("a\n", {"a"}));
  HeaderNames(Spec()).check({0}, named("a\n", {"a"}));
  HeaderNames(Spec::map().set("0", name("b"))).check({0}, CsvDialect());
}

TEST(HeaderNames, SaysWhatIsWrongWithTheConfiguration) {
  const HeaderNames names(Spec::map().set("1", name("a")));
  CsvDialect bare = named("1,2\n", {});
  bare.columns = 2;
  EXPECT_EQ(error_of([&] { names.check({1}, bare); }),
            "c.yaml:4:9: 1: the files are read without a header; set csv_reader: {header: true}, or leave names out");
  EXPECT_EQ(error_of([] { HeaderNames(Spec::map().set("a", name("b"))); }),
            "c.yaml:4:9: a: expected the index of a column, got \"a\"");
  EXPECT_NE(error_of([] { HeaderNames{name("b")}; }).find("expected a map from columns to names"), std::string::npos);
}

TEST(FieldSelection, FindsItsColumnsInTextThatHasNoOthers) {
  const Spec both = Spec::map()
                        .set("x", columns(Spec::list({plain("7-9"), quoted("age"), plain("3")})))
                        .set("y", columns(Spec::list({quoted("age"), plain("8")})));
  const HeaderNames header(Spec::map({{"7", "a"}, {"8", "b"}, {"9", "a"}}));
  std::vector<std::string> names;
  const std::vector<FieldRequest> requests = for_named_columns(read_fields(both, true), header, names);
  EXPECT_THAT(names, ElementsAre("a", "b", "9", "age", "3"));
  CsvDialect text = dialect(5, names);
  const std::vector<SelectedField> selected = select_fields(requests, text);
  EXPECT_THAT(selected[0].columns, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(selected[1].columns, ElementsAre(3, 1));
}

TEST(FieldSelection, NamesTheColumnsOfAField) {
  const Spec both = Spec::map()
                        .set("x", columns(Spec::list({plain("7-8"), quoted("age")})))
                        .set("y", columns(Spec::list({quoted("age"), plain("9")})));
  const std::vector<FieldRequest> requests = read_fields(both, true);
  const HeaderNames header(Spec::map({{"7", "a"}, {"8", "b"}, {"9", "a"}}));
  EXPECT_THAT(column_names(requests, header, "x"), ElementsAre("a", "b", "age"));
  EXPECT_THAT(column_names(requests, header, "y"), IsEmpty()) << "two columns are called a";
  EXPECT_THAT(column_names(requests, header, "z"), IsEmpty());
}

}  // namespace
}  // namespace millrace

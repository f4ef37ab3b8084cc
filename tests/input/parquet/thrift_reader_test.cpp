#include "millrace/input/parquet/thrift_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/input/op_testing.h"
#include "tests/input/parquet/parquet_bytes.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::Thrift;
using testing_support::varint;
using testing_support::zigzag;

TEST(ThriftReader, ReadsStructsListsAndValues) {
  Thrift inner;
  inner.text(2, "two").flag(40, true);
  Thrift outer;
  outer.number(1, -5).part(3, inner).parts(20, {inner, inner}).number(21, INT64_MIN).flag(22, false);
  const std::string bytes = outer.bytes() + "rest";
  std::string seen;
  ThriftReader reader(bytes);
  const auto read_inner = [&] {
    reader.structure([&](int64_t field) {
      if (field == 2) {
        seen += cat(" 2:", reader.text());
      } else {
        seen += cat(' ', field, ':', reader.boolean());
      }
    });
  };
  reader.structure([&](int64_t field) {
    seen += cat(" [", field, ']');
    if (field == 3) return read_inner();
    if (field == 20) return reader.list(read_inner);
    if (field == 22) {
      seen += cat(reader.boolean());
    } else {
      seen += cat(reader.integer());
    }
  });
  EXPECT_EQ(seen, cat(" [1]-5 [3] 2:two 40:true [20] 2:two 40:true 2:two 40:true [21]", INT64_MIN, " [22]false"));
  EXPECT_EQ(reader.at(), bytes.size() - 4);
}

TEST(ThriftReader, SkipsWhatNobodyReads) {
  Thrift inner;
  inner.text(1, "x");
  Thrift all;
  all.flag(1, true).add(2, 3, "b").add(3, 4, zigzag(-300)).number(4, 1).add(5, 7, "8 bytes.").text(6, "text");
  all.part(7, inner).parts(8, std::vector<Thrift>(20, inner)).add(9, 10, std::string("\x31\1\2\1", 4));
  all.add(10, 11, varint(0)).add(11, 11, varint(2) + "\x85\1a\2\1b\4");
  const std::string bytes = all.number(12, 77).bytes();
  int64_t last = 0;
  ThriftReader reader(bytes);
  reader.structure([&](int64_t field) {
    if (field == 12) {
      last = reader.integer();
    } else {
      reader.skip();
    }
  });
  EXPECT_EQ(last, 77);
}

std::string error_after(const std::string& bytes) {
  return error_of([&] {
    ThriftReader reader(bytes);
    reader.structure([&](int64_t) { reader.skip(); });
  });
}

TEST(ThriftReader, RefusesWhatIsNone) {
  const std::string damaged = "the Parquet file is damaged: its metadata ";
  const std::string hint = "; was it copied or downloaded as a whole?";
  EXPECT_EQ(error_after(""), damaged + "end too early" + hint);
  EXPECT_EQ(error_after("\x16"), damaged + "end too early" + hint);
  EXPECT_EQ(error_after(cat("\x18", varint(100), "abc")), damaged + "end too early" + hint);
  EXPECT_EQ(error_after(cat("\x19\xf6", varint(uint64_t{1} << 60))), damaged + "end too early" + hint)
      << "a list has no more elements than there are bytes";
  EXPECT_EQ(error_after("\x16" + std::string(20, '\xff')), damaged + "have a number of more than 64 bits" + hint);
  EXPECT_EQ(error_after("\x1e"), damaged + "have a value of no known type" + hint);
  EXPECT_EQ(error_after(std::string(1000, '\x1c')), damaged + "are nested too deeply" + hint);
  EXPECT_EQ(error_after("\x06" + zigzag(40000)), damaged + "have a field without a number" + hint);
  const std::string number = Thrift().number(1, 5).bytes();
  EXPECT_EQ(error_of([&] {
              ThriftReader reader(number);
              reader.structure([&](int64_t) { reader.integer(0, 4); });
            }),
            damaged + "say 5, which cannot be" + hint);
}

TEST(ThriftReader, PassesFieldsOfAnotherType) {
  Thrift inner;
  inner.number(1, 5).text(2, "x");
  Thrift all;
  all.flag(1, true).number(2, 300).text(3, "text").part(4, inner).parts(5, {inner, inner}).add(6, 9, "\x21\1\2");
  const std::string bytes = all.part(7, inner).number(8, 77).bytes();
  std::string seen;
  ThriftReader reader(bytes);
  const auto see = [&](const auto& value) { seen += cat(value, ' '); };
  reader.structure([&](int64_t field) {
    seen += cat('[', field, "] ");
    switch (field) {
      case 1: return see(reader.integer());
      case 2: return see(reader.text());
      case 3: return reader.structure([](int64_t) {});
      case 4: return see(reader.boolean());
      case 5: return reader.list([&] { see(reader.integer()); });
      case 6: return reader.list([&] { see(reader.text()); });
      case 7: return reader.structure([&](int64_t) { see(reader.integer()); });
      default: return see(reader.integer());
    }
  });
  EXPECT_EQ(seen, "[1] [2] [3] [4] [5] [6] [7] 5 [8] 77 ");
  EXPECT_EQ(reader.at(), bytes.size());
}

TEST(ThriftReader, KnowsWhetherMoreBytesWouldHelp) {
  const std::string bytes = Thrift().text(1, "some text").bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    ThriftReader reader(std::string_view(bytes).substr(0, size));
    EXPECT_THROW(reader.structure([&](int64_t) { reader.skip(); }), DataError);
    EXPECT_TRUE(reader.ran_out()) << size;
  }
  ThriftReader other("\x1e");
  EXPECT_THROW(other.structure([&](int64_t) { other.skip(); }), DataError);
  EXPECT_FALSE(other.ran_out());
}

}  // namespace
}  // namespace millrace

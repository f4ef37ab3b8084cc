#include "millrace/input/parquet/conversion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "tests/input/op_testing.h"
#include "tests/input/parquet/parquet_bytes.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::error_of;

const FieldSpec kF32{"x", DType::f32, Shape{1}}, kF64{"x", DType::f64, Shape{1}}, kI32{"x", DType::i32, Shape{1}},
    kI64{"x", DType::i64, Shape{1}}, kU8{"x", DType::u8, Shape{1}};

// The stored value as number T; "no" if it is none.
template <class T>
std::string converted(const ParquetColumn& column, const FieldSpec& field, const std::string& stored,
                      const std::optional<TimeFormat>& time = {}) {
  const Conversion conversion(column, field, time);
  T out{};
  auto* const to = reinterpret_cast<std::byte*>(&out);
  const bool good = conversion.from_texts()
                        ? conversion.convert_text(stored, to)
                        : conversion.convert(reinterpret_cast<const std::byte*>(stored.data()), 1, to);
  return good ? cat(out) : "no";
}
template <class T>
std::string of(T value) {
  return bytes_of_numbers<T>({value});
}

ParquetColumn column_of(StoredType stored, uint32_t width, Meaning meaning = Meaning::number) {
  return {.name = "a", .stored = stored, .meaning = meaning, .width = width};
}

TEST(Conversion, KeepsWhatTheFieldCanHold) {
  const ParquetColumn f64 = column_of(StoredType::float64, 8), f32 = column_of(StoredType::float32, 4);
  EXPECT_EQ(converted<float>(f32, kF32, of(0.1F)), "0.1");
  EXPECT_EQ(converted<float>(f64, kF32, of(0.1)), "0.1");
  EXPECT_EQ(converted<float>(f64, kF32, of(1e300)), "inf") << "as text in CSV";
  EXPECT_EQ(converted<double>(f32, kF64, of(0.5F)), "0.5");
  EXPECT_EQ(converted<int32_t>(f64, kI32, of(-3.0)), "-3");
  EXPECT_EQ(converted<int32_t>(f64, kI32, of(2.5)), "no");
  EXPECT_EQ(converted<int32_t>(f64, kI32, of(2147483647.0)), "2147483647");
  EXPECT_EQ(converted<int32_t>(f64, kI32, of(2147483648.0)), "no");
  EXPECT_EQ(converted<int32_t>(f64, kI32, of(std::nan(""))), "no");
  EXPECT_EQ(converted<int64_t>(f64, kI64, of(-0x1p63)), cat(INT64_MIN));
  EXPECT_EQ(converted<int64_t>(f64, kI64, of(0x1p63)), "no");
  EXPECT_EQ(converted<uint8_t>(f32, kU8, of(255.0F)), "255");
  EXPECT_EQ(converted<uint8_t>(f32, kU8, of(256.0F)), "no");
  EXPECT_EQ(converted<uint8_t>(f32, kU8, of(-1.0F)), "no");
}

TEST(Conversion, KnowsIntegersWithAndWithoutSign) {
  const ParquetColumn i32 = column_of(StoredType::int32, 4), i64 = column_of(StoredType::int64, 8);
  const ParquetColumn u32 = column_of(StoredType::int32, 4, Meaning::unsigned_number);
  const ParquetColumn u64 = column_of(StoredType::int64, 8, Meaning::unsigned_number);
  EXPECT_EQ(converted<int64_t>(i32, kI64, of(-1)), "-1");
  EXPECT_EQ(converted<int64_t>(u32, kI64, of(-1)), "4294967295");
  EXPECT_EQ(converted<int32_t>(u32, kI32, of(-1)), "no");
  EXPECT_EQ(converted<int32_t>(i64, kI32, of(int64_t{3000000000})), "no");
  EXPECT_EQ(converted<int64_t>(i64, kI64, of(INT64_MIN)), cat(INT64_MIN));
  EXPECT_EQ(converted<int64_t>(u64, kI64, of(int64_t{-1})), "no");
  EXPECT_EQ(converted<double>(u64, kF64, of(int64_t{-1})), cat(18446744073709551615.0));
  EXPECT_EQ(converted<uint8_t>(i32, kU8, of(255)), "255");
  EXPECT_EQ(converted<uint8_t>(i32, kU8, of(-1)), "no");
  EXPECT_EQ(converted<int32_t>(column_of(StoredType::boolean, 0), kI32, "\1"), "1");
  EXPECT_EQ(converted<float>(column_of(StoredType::fixed, 2, Meaning::half), kF32, std::string("\0\x3e", 2)), "1.5");
}

TEST(Conversion, RoundsDecimalsOnce) {
  ParquetColumn column = column_of(StoredType::int32, 4, Meaning::decimal);
  column.scale = 2;
  EXPECT_EQ(converted<double>(column, kF64, of(-12345)), "-123.45");
  EXPECT_EQ(converted<int32_t>(column, kI32, of(300)), "3");
  EXPECT_EQ(converted<int32_t>(column, kI32, of(350)), "no");
  column = column_of(StoredType::int64, 8, Meaning::decimal);
  column.scale = 18;
  EXPECT_EQ(converted<double>(column, kF64, of(int64_t{123456789012345678})), "0.12345678901234568");
  column.scale = 0;
  EXPECT_EQ(converted<int64_t>(column, kI64, of(int64_t{9007199254740993})), "9007199254740993");
  column = column_of(StoredType::fixed, 16, Meaning::decimal);
  column.scale = 10;
  EXPECT_EQ(converted<double>(column, kF64, std::string(15, '\xff') + "\x9c"), "-1e-08");
  EXPECT_EQ(converted<double>(column, kF64, "\x80" + std::string(15, '\0')),
            cat(-17014118346046923173168730371.5884105728));
  column.stored = StoredType::bytes;
  column.width = 0;
  EXPECT_EQ(converted<double>(column, kF64, "\x05"), "5e-10");
  EXPECT_EQ(converted<double>(column, kF64, std::string("\xff\x00", 2)), "-2.56e-08");
  EXPECT_EQ(converted<double>(column, kF64, ""), "0");
}

TEST(Conversion, TimesAreSecondsSince1970) {
  const std::optional<TimeFormat> timestamp(TimeFormat::Kind::timestamp), day(TimeFormat::Kind::date);
  const ParquetColumn date = column_of(StoredType::int32, 4, Meaning::date);
  EXPECT_EQ(converted<double>(date, kF64, of(-1), day), "-86400");
  EXPECT_EQ(converted<int64_t>(date, kI64, of(20000), timestamp), "1728000000");
  ParquetColumn times = column_of(StoredType::int64, 8, Meaning::timestamp);
  EXPECT_EQ(converted<double>(times, kF64, of(int64_t{-1}), timestamp), cat(-1 + 0.999)) << "as in CSV";
  EXPECT_EQ(converted<int64_t>(times, kI64, of(int64_t{-1}), timestamp), "-1");
  EXPECT_EQ(converted<int64_t>(times, kI64, of(int64_t{-1}), day), "-86400");
  EXPECT_EQ(converted<int64_t>(times, kI64, of(int64_t{86399999}), day), "0");
  EXPECT_EQ(converted<int64_t>(times, kI64, of(INT64_MIN), day), "-9223372036915200");
  times.per_second = 1000000000;
  EXPECT_EQ(converted<double>(times, kF64, of(int64_t{1500000000}), timestamp), "1.5");
  const ParquetColumn julian = column_of(StoredType::int96, 12, Meaning::timestamp);
  EXPECT_EQ(converted<double>(julian, kF64, of(int64_t{3600500000000}) + of(2440589), timestamp), "90000.5");
  EXPECT_EQ(converted<int64_t>(julian, kI64, of(INT64_MIN) + of(0), timestamp), "-220090175237");
}

TEST(Conversion, ReadsTextsAsCsvIsRead) {
  const ParquetColumn texts = column_of(StoredType::bytes, 0, Meaning::text);
  EXPECT_EQ(converted<float>(texts, kF32, " 1.5e1 "), "15");
  EXPECT_EQ(converted<int32_t>(texts, kI32, "1.5"), "no");
  EXPECT_EQ(converted<double>(texts, kF64, "31/12/1970", TimeFormat(TimeFormat::Kind::date, "%d/%m/%Y")), "31449600");
  EXPECT_EQ(converted<double>(texts, kF64, "never", TimeFormat(TimeFormat::Kind::date)), "no");
}

TEST(Conversion, RefusesFieldsThatCannotHoldTheColumn) {
  const auto error = [](const ParquetColumn& column, const FieldSpec& field,
                        const std::optional<TimeFormat>& time = {}) {
    return error_of([&] { Conversion(column, field, time); });
  };
  EXPECT_EQ(error(column_of(StoredType::int64, 8, Meaning::timestamp), kF32),
            "it holds timestamps, and x is of type float32; set type: timestamp for x: seconds since 1970");
  EXPECT_EQ(error(column_of(StoredType::int32, 4, Meaning::date), kI64),
            "it holds dates, and x is of type int64; set type: date for x: seconds since 1970");
}

TEST(Conversion, MakesTextsOfAllValues) {
  const auto text_of = [](const ParquetColumn& column, const std::string& stored) {
    FieldSpec text = kU8;
    text.text = true;
    const Conversion conversion(column, text, {});
    EXPECT_EQ(conversion.makes_texts(), column.meaning != Meaning::text);
    EXPECT_EQ(conversion.keeps_order(), column.meaning == Meaning::text);
    return conversion.text_of(stored);
  };
  EXPECT_EQ(text_of(column_of(StoredType::boolean, 0), "\1"), "1");
  EXPECT_EQ(text_of(column_of(StoredType::int32, 4), of(-7)), "-7");
  EXPECT_EQ(text_of(column_of(StoredType::float32, 4), of(0.1F)), "0.1");
  EXPECT_EQ(text_of(column_of(StoredType::float64, 8), of(3.0)), "3");
  EXPECT_EQ(text_of(column_of(StoredType::int64, 8, Meaning::unsigned_number), of(int64_t{-1})),
            "18446744073709551615");
  EXPECT_EQ(text_of(column_of(StoredType::int32, 4, Meaning::date), of(20088)), "2024-12-31");
  EXPECT_EQ(text_of(column_of(StoredType::int64, 8, Meaning::timestamp), of(int64_t{1500})), "1970-01-01T00:00:01.5Z");
  EXPECT_EQ(text_of(column_of(StoredType::bytes, 0, Meaning::text), "a"), "a");
  ParquetColumn decimal = column_of(StoredType::bytes, 0, Meaning::decimal);
  decimal.scale = 2;
  EXPECT_EQ(text_of(decimal, "\x05"), "0.05");
}

TEST(Conversion, ReadsDatesThatAreWrittenAsNumbers) {
  const std::optional<TimeFormat> day(TimeFormat::Kind::date);
  const ParquetColumn numbers = column_of(StoredType::int64, 8);
  EXPECT_EQ(converted<double>(numbers, kF64, of(int64_t{19700102}), day), "86400");
  EXPECT_EQ(converted<int64_t>(numbers, kI64, of(int64_t{19701302}), day), "no");
  EXPECT_FALSE(Conversion(numbers, kF64, day).keeps_order());
  ParquetColumn decimal = column_of(StoredType::bytes, 0, Meaning::decimal);
  EXPECT_EQ(converted<double>(decimal, kF64, std::string("\x01\x2c\x99\x86", 4), day), "86400");
}

}  // namespace
}  // namespace millrace

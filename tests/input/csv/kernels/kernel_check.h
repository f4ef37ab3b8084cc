// What every CsvKernels must do: give what strtof and strtod give, and read nothing but the text.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "millrace/input/csv/kernels/kernels.h"
#include "millrace/input/csv/number_parser.h"
#include "tests/input/csv/kernels/guarded_text.h"
#include "tests/input/csv/kernels/number_texts.h"

namespace millrace::testing_support {

template <class T>
bool same(T a, T b) {
  if (a != a && b != b) return true;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// What the C library makes of a text that is a number, by parse_number().
template <class T>
T expected_number(const std::string& text, T parsed) {
  if constexpr (std::is_same_v<T, float>) return std::strtof(text.c_str(), nullptr);
  if constexpr (std::is_same_v<T, double>) return std::strtod(text.c_str(), nullptr);
  return parsed;
}

// A run of fields behind `before`, in both kinds of guarded places, and far from where the text begins.
template <class T>
void check_run(const CsvKernels& kernels, GuardedText& guarded, const std::string& before, char delimiter,
               const std::vector<std::string>& fields) {
  std::string text = before;
  std::vector<uint32_t> ends;
  std::vector<T> expected;
  bool all_good = true;
  for (const std::string& field : fields) {
    if (!ends.empty()) text += delimiter;
    text += field;
    ends.push_back(static_cast<uint32_t>(text.size()));
    T value{};
    all_good = all_good && parse_number(field, value) == NumberStatus::ok;
    if (all_good) expected.push_back(expected_number(field, value));
  }
  for (const uint32_t place : {0u, 1u, 2u}) {
    const char* begin = place == 0 ? guarded.at_the_start(text) : guarded.at_the_end(text);
    // No position is a signed number of 32 bits.
    const uint32_t far = place == 2 ? 3u << 30 : 0;
    std::vector<uint32_t> far_ends = ends;
    for (uint32_t& end : far_ends) end += far;
    // Behind the last nothing may be written.
    std::vector<T> values(fields.size() + 1, T{42});
    const size_t done = std::get<CsvKernels::Parse<T>>(kernels.parse)(
        {begin - far, far + before.size(), far_ends.data(), far_ends.size()}, values.data());
    ASSERT_EQ(done, expected.size()) << text;
    for (size_t i = 0; i < done; ++i) {
      ASSERT_TRUE(same(values[i], expected[i])) << fields[i] << ": " << values[i] << ", not " << expected[i];
    }
    ASSERT_EQ(values.back(), T{42});
  }
}

// `values` of each type, of all kinds, in runs of up to 40.
inline void check_numbers(const CsvKernels& kernels, uint64_t seed, size_t values) {
  NumberTexts texts(seed);
  std::mt19937_64 random(seed);
  GuardedText guarded;
  for (size_t checked = 0; checked < values;) {
    std::vector<std::string> fields(1 + random() % 40);
    // Every other run holds numbers of one kind of length, as data do.
    const size_t most = random() % 2 == 0 ? 15 : 60;
    for (std::string& field : fields) {
      float number;
      do {
        field = texts.next();
      } while (field.size() > most || (random() % 64 != 0 && parse_number(field, number) != NumberStatus::ok));
    }
    // Delimiters may be bytes of numbers, too.
    static constexpr char kBytes[] = ",,,,\t-.+e5";
    const char delimiter = kBytes[random() % (sizeof kBytes - 1)];
    const std::string before(random() % 3 == 0 ? 0 : random() % 40, kBytes[random() % (sizeof kBytes - 1)]);
    check_run<float>(kernels, guarded, before, delimiter, fields);
    check_run<double>(kernels, guarded, before, delimiter, fields);
    check_run<int32_t>(kernels, guarded, before, delimiter, fields);
    check_run<int64_t>(kernels, guarded, before, delimiter, fields);
    // As integers most end at the first.
    for (std::string& field : fields) field = field.substr(0, field.find_first_of(".eEix"));
    check_run<int32_t>(kernels, guarded, before, delimiter, fields);
    check_run<int64_t>(kernels, guarded, before, delimiter, fields);
    if (::testing::Test::HasFatalFailure()) return;
    checked += fields.size();
  }
}

// What is nearly a number, at every place of a run of short and of long ones.
inline void check_stops(const CsvKernels& kernels) {
  GuardedText guarded;
  for (const char* text :
       {"",    "-",    ".",    "-.",    "e-05", ".e-05", "-e-05", "1.2e", "1.2e-", "1e5e-05",          "1.2.",
        ".1.", "1..2", "--1",  "1-",    "1-2",  "1.5-",  "+-1",   "1 2",  "1e-0:", "1.2345678901e-/5", "1e-05-5",
        "1:",  "1.2/", "/1.2", "nan(1)"}) {
    for (const char* other : {"7", "-0.25", "12345678901234567", "1.23456789012345678e-05"}) {
      for (size_t place = 0; place < 10; ++place) {
        std::vector<std::string> fields(10, other);
        fields[place] = text;
        const std::string before(40, '5');
        check_run<float>(kernels, guarded, before, ',', fields);
        check_run<double>(kernels, guarded, before, ',', fields);
        check_run<int32_t>(kernels, guarded, before, ',', fields);
        check_run<int64_t>(kernels, guarded, before, ',', fields);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace millrace::testing_support

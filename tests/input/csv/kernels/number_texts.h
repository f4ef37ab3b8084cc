// Texts of numbers of every kind, and texts that look like numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>

namespace millrace::testing_support {

class NumberTexts {
 public:
  explicit NumberTexts(uint64_t seed) : random_(seed) {}

  // Of a number, most often.
  std::string next() {
    switch (below(18)) {
      case 0: return shortest(float_of_bits());
      case 1: return shortest(static_cast<float>(normal_(random_)));
      case 2: return shortest(normal_(random_));
      case 3: return shortest(double_of_bits());
      case 4: return printed(below(21), 'f', normal_(random_));
      case 5: return printed(below(21), 'e', normal_(random_) * std::pow(10.0, static_cast<double>(below(20)) - 10));
      case 6: return printed(1 + below(25), 'g', float_of_bits());
      case 7: return middle_of_floats();
      case 8: return middle_of_doubles();
      case 9: return digits(1 + below(8));
      case 10: return digits(1 + below(25));
      case 11: return digits(below(12)) + '.' + digits(below(22));
      case 12: return '-' + digits(1) + '.' + digits(below(20)) + exponent();
      case 13: return digits(1 + below(4)) + exponent();
      case 14: return odd_one();
      case 15: return near_a_limit();
      case 16: return beside_a_middle();
      default: return like_a_number();
    }
  }

 private:
  uint64_t below(uint64_t n) { return random_() % n; }

  template <class T>
  static std::string shortest(T value) {
    char buffer[64];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
  }

  static std::string printed(uint64_t precision, char kind, double value) {
    const std::string format = std::string("%.*") + kind;
    char buffer[400];
    const int size = std::snprintf(buffer, sizeof buffer, format.c_str(), static_cast<int>(precision), value);
    return {buffer, static_cast<size_t>(size)};
  }

  // Also subnormal ones.
  float float_of_bits() {
    for (;;) {
      const auto value = std::bit_cast<float>(static_cast<uint32_t>(random_()));
      if (std::isfinite(value)) return below(8) == 0 ? value * std::numeric_limits<float>::min() : value;
    }
  }
  double double_of_bits() {
    for (;;) {
      const auto value = std::bit_cast<double>(random_());
      if (std::isfinite(value)) return value;
    }
  }

  // Between two floats or a little beside, with few digits or all.
  std::string middle_of_floats() {
    const uint32_t exponent =
        below(4) == 0 ? static_cast<uint32_t>(below(254)) : 100 + static_cast<uint32_t>(below(50));
    const auto value = std::bit_cast<float>(exponent << 23 | (static_cast<uint32_t>(random_()) & 0x807fffff));
    const double next = std::nextafter(value, std::numeric_limits<float>::infinity());
    const double middle = (static_cast<double>(value) + next) / 2;
    return printed(below(2) == 0 ? 7 + below(12) : 60, "ge"[below(2)], middle);
  }
  // All digits of it, or as many as make it a near miss.
  std::string middle_of_doubles() {
    const uint64_t mantissa = random_() >> 11 | 1;
    const auto above = static_cast<int>(below(70)) - 60;
    std::string text = printed(15 + below(40), 'g', std::ldexp(static_cast<double>(mantissa), above));
    if (text.find('e') == text.npos) text += (text.find('.') == text.npos ? "." : "") + std::string("5");
    return text;
  }

  std::string digits(uint64_t count) {
    std::string out;
    const bool zeros = below(4) == 0;
    for (uint64_t i = 0; i < count; ++i) out += static_cast<char>('0' + (zeros && i < count / 2 ? 0 : below(10)));
    return below(2) == 0 ? out : '-' + out;
  }
  std::string exponent() {
    static const std::string kSigns[] = {"", "+", "-", "-"};
    const std::string number = std::to_string(below(below(2) == 0 ? 12 : 400));
    return (below(2) == 0 ? "e" : "E") + kSigns[below(4)] + (below(2) == 0 && number.size() == 1 ? "0" : "") + number;
  }
  std::string odd_one() {
    static const std::string kOnes[] = {"inf", "-inf", "nan",  "NaN", "Infinity", "+1",  "-0",    "-0.0", "0",
                                        ".5",  "5.",   "-.25", "-7.", "  1.5",    "2\t", "1e-45", "3e38", "3.5e38"};
    return kOnes[below(std::size(kOnes))];
  }
  // Beside the middle of two doubles by less than 2^-104 of it, as random digits never are.
  std::string beside_a_middle() {
    static const std::string kTexts[] = {
        "1.541077883636353621e-21", "4.557092119699487059e-22", "7.763008692966041333e-23", "6.927452448309263362e-24",
        "7.777225165850329385e-15", "5.841285534416541806e-23", "9.703900523447347195e-11", "6.195365296197952160e-12",
        "8.623740469486133474e-23", "4.120266599245828863e-09", "4.771303095108811414e-12", "9.820705557950596946e-26",
        "1.585672445088644008e-10", "9.910749596674470327e-23", "5.696490796131925887e-18", "1.624837755153232664e-25",
    };
    return (below(2) == 0 ? "" : "-") + kTexts[below(std::size(kTexts))];
  }
  // Where integers end, or doubles that hold all of them, and a little beside; behind zeros.
  std::string near_a_limit() {
    static constexpr uint64_t kLimits[] = {uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 53, uint64_t{1} << 63};
    const std::string number = std::to_string(kLimits[below(std::size(kLimits))] + below(5) - 2);
    const uint64_t size = std::max<uint64_t>(number.size(), below(34));
    return (below(2) == 0 ? "" : "-") + std::string(size - number.size(), '0') + number;
  }
  std::string like_a_number() {
    static constexpr char kBytes[] = "0123456789012345678901234567890123456789...--++eE x\"/:\x80\xff";
    std::string out;
    const uint64_t size = below(below(4) == 0 ? 40 : 18);
    for (uint64_t i = 0; i < size; ++i) out += kBytes[below(sizeof kBytes - 1)];
    return out;
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

}  // namespace millrace::testing_support

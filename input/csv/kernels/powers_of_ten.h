// Powers of ten as sums of two doubles, exact up to 10^45.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace millrace {

inline constexpr size_t kPowersOfTen = 46;

// 10^n is high[n] + low[n]. high[n] is the largest double that is not above 10^n, so high[n] itself is exact up to
// 10^22.
struct PowersOfTen {
  std::array<double, kPowersOfTen> high{};
  std::array<double, kPowersOfTen> low{};
};

constexpr PowersOfTen make_powers_of_ten() {
  __extension__ using Wide = unsigned __int128;
  PowersOfTen out;
  Wide five = 1;  // 5^45 has 105 bits
  double two = 1;
  for (size_t n = 0; n < kPowersOfTen; ++n, five *= 5, two *= 2) {
    int below = 0;
    while ((five >> below) >> 53 != 0) ++below;
    double unit = two;
    for (int i = 0; i < below; ++i) unit *= 2;
    const Wide high = five >> below;
    out.high[n] = static_cast<double>(static_cast<uint64_t>(high)) * unit;
    out.low[n] = static_cast<double>(static_cast<uint64_t>(five - (high << below))) * two;
  }
  return out;
}

alignas(64) inline constexpr PowersOfTen kTens = make_powers_of_ten();

}  // namespace millrace

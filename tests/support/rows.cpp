// SPDX-License-Identifier: Apache-2.0
#include "support/rows.hpp"

#include <bit>
#include <cmath>
#include <iomanip>
#include <span>

#include "reference/tensor.hpp"
#include "rotary/numeric_contract.hpp"
#include "support/cases.hpp"

namespace rotary::test {
namespace {

struct Element {
  long double got = 0;
  long double exact = 0;
  double bound = 0;
};

double bound_of(RowDType rows, long double exact, double factor, long double position) {
  return rows == RowDType::f64 ? row_f64_error_bound(factor, position)
                               : row_error_bound(static_cast<double>(exact), factor, position);
}

template <class Real, class Bits>
void append_bits(std::vector<std::uint64_t>& bits, std::span<const Real> row) {
  for (const Real element : row) bits.push_back(std::bit_cast<Bits>(element));
}

}  // namespace

testing::AssertionResult rows_within_bound(const Frequencies& frequencies,
                                           const Positions& positions, RowDType rows) {
  const Rotations rotations = rotations_of(frequencies, positions, rows);
  const reference::AngleRows angles(positions, frequencies.inv_freq, frequencies.axes);
  const double factor = frequencies.attention_factor;
  testing::AssertionResult result = testing::AssertionSuccess();
  const auto check = [&](const char* name, const Element& element, long double position,
                         double inv_freq) {
    if (std::abs(element.got - element.exact) <= element.bound || !result) return;
    result = testing::AssertionFailure()
             << name << " at position " << std::setprecision(21) << position << std::hexfloat
             << " inv_freq " << inv_freq << " A " << factor << " got " << element.got << " for "
             << element.exact << ", bound " << element.bound;
  };
  for (std::int64_t b = 0; b < rotations.batch(); ++b) {
    for (std::int64_t t = 0; t < rotations.tokens(); ++t) {
      for (std::size_t i = 0; i < angles.at(b, t).size(); ++i) {
        const long double position =
            reference::bounding_position(positions, {.batch = b, .token = t}, frequencies.axes, i);
        const bool wide = rows == RowDType::f64;
        const auto compare = [&](const char* name, long double angle, double got) {
          const long double exact = factor * angle;
          check(name, {got, exact, bound_of(rows, exact, factor, position)}, position,
                frequencies.inv_freq[i]);
        };
        compare("cos", angles.at(b, t)[i].cos,
                wide ? rotations.cos<double>(b, t)[i] : double{rotations.cos(b, t)[i]});
        compare("sin", angles.at(b, t)[i].sin,
                wide ? rotations.sin<double>(b, t)[i] : double{rotations.sin(b, t)[i]});
      }
    }
  }
  return result;
}

std::vector<std::uint64_t> row_bits(const Rotations& rotations, std::int64_t batch,
                                    std::int64_t token) {
  std::vector<std::uint64_t> bits;
  append_bits<float, std::uint32_t>(bits, rotations.cos<float>(batch, token));
  append_bits<float, std::uint32_t>(bits, rotations.sin<float>(batch, token));
  append_bits<double, std::uint64_t>(bits, rotations.cos<double>(batch, token));
  append_bits<double, std::uint64_t>(bits, rotations.sin<double>(batch, token));
  return bits;
}

std::vector<std::uint64_t> all_row_bits(const Rotations& rotations) {
  std::vector<std::uint64_t> bits;
  for (std::int64_t b = 0; b < rotations.batch(); ++b) {
    for (std::int64_t t = 0; t < rotations.tokens(); ++t) {
      const auto row = row_bits(rotations, b, t);
      bits.insert(bits.end(), row.begin(), row.end());
    }
  }
  return bits;
}

}  // namespace rotary::test

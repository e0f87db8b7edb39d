// SPDX-License-Identifier: Apache-2.0
// f32 rows are f64 rows, rounded once.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "rotary/rotations.hpp"
#include "support/cases.hpp"
#include "support/random.hpp"

namespace rotary {
namespace {

constexpr HeadWindow whole_head{
    .head_dim = 74, .rotary_dim = 74, .first_feature = 0, .pairing = Pairing::half};

TEST(RowsFloat64, AreTheF32RowsBeforeTheyAreRounded) {
  std::vector<std::int64_t> positions = {0,
                                         1,
                                         -1,
                                         131071,
                                         std::numeric_limits<std::int64_t>::min(),
                                         std::numeric_limits<std::int64_t>::max()};
  test::Random random(44);
  for (int i = 0; i < 120; ++i) {
    positions.push_back(static_cast<std::int64_t>(random.bits()) >> random.integer(0, 62));
  }
  const Positions given = positions_of(std::span<const std::int64_t>(positions));
  for (const double factor : {1.0, 1.3465735902799727, 0x1p-20, 0x1p20}) {
    const Frequencies frequencies = test::frequencies_of(whole_head, factor);
    const Rotations wide = test::rotations_of(frequencies, given, RowDType::f64);
    const Rotations narrow = test::rotations_of(frequencies, given, RowDType::f32);
    for (std::int64_t t = 0; t < wide.tokens(); ++t) {
      for (std::size_t i = 0; i < frequencies.inv_freq.size(); ++i) {
        ASSERT_EQ(static_cast<float>(wide.cos<double>(0, t)[i]), narrow.cos(0, t)[i]);
        ASSERT_EQ(static_cast<float>(wide.sin<double>(0, t)[i]), narrow.sin(0, t)[i]);
      }
    }
  }
}

}  // namespace
}  // namespace rotary

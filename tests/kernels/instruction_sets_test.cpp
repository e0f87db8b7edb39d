// SPDX-License-Identifier: Apache-2.0
// A forced instruction set runs, and every supported set is tested. The fuzz target views compares
// each set with the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

#include "rotary/instruction_set.hpp"
#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::HeadIndex;
using test::Tensor;

constexpr Extents extents{.tokens = 7, .heads = 5, .features = 94};
constexpr ConsecutivePositions positions{.first = 100, .tokens = 7};
constexpr HeadWindow window{
    .head_dim = 94, .rotary_dim = 94, .first_feature = 0, .pairing = Pairing::half};

// Restores the previous instruction set, which ROTARY_INSTRUCTION_SET may have forced.
class Restore {
 public:
  Restore() : before_(test::value_of(instruction_set())) {}
  ~Restore() { EXPECT_TRUE(force_instruction_set(before_)); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  std::string_view before_;
};

TEST(InstructionSets, TheEnvironmentVariableIsObeyed) {
  const char* const forced = std::getenv("ROTARY_INSTRUCTION_SET");
  const auto used = test::value_of(instruction_set());
  EXPECT_EQ(used, forced == nullptr ? supported_instruction_sets().front() : forced);
}

TEST(InstructionSets, EverySupportedSetIsTested) {
  std::set<std::string> tested;
  std::istringstream names(ROTARY_TESTED_INSTRUCTION_SETS);
  for (std::string name; std::getline(names, name, ',');) tested.insert(name);
  for (const std::string_view name : supported_instruction_sets()) {
    EXPECT_EQ(tested.count(std::string(name)), 1U)
        << name << " runs on this machine and is missing in tests/CMakeLists.txt";
  }
}

TEST(InstructionSets, AnUnknownNameIsRefusedAndChangesNothing) {
  const auto before = test::value_of(instruction_set());
  for (const std::string_view name : {"", "AVX9", "avx2", "AVX2 "}) {
    test::refused(force_instruction_set(name), {name}, ErrorCode::unsupported);
    EXPECT_EQ(test::value_of(instruction_set()), before);
  }
}

// Whether the bits are those of a fused multiply-add, which leaves a product unrounded.
bool result_is_fused(const Tensor& src, const Tensor& dst, const Rotations& rotations) {
  int fused_only = 0;
  int rounded_only = 0;
  test::for_each_element(extents, [&](const HeadIndex& index, std::int64_t f) {
    const auto pair = f % window.pairs();
    const float cos = rotations.cos(0, index.token)[static_cast<std::size_t>(pair)];
    const float sin = rotations.sin(0, index.token)[static_cast<std::size_t>(pair)];
    const auto x = static_cast<float>(src.at(index, pair));
    const auto y = static_cast<float>(src.at(index, pair + window.pairs()));
    const float straight = f < window.pairs() ? x * cos : y * cos;
    const float crossed_sin = f < window.pairs() ? -y : x;
    const float fused = std::fma(crossed_sin, sin, straight);
    const float rounded = crossed_sin * sin + straight;
    fused_only += dst.at(index, f) == fused && fused != rounded ? 1 : 0;
    rounded_only += dst.at(index, f) == rounded && fused != rounded ? 1 : 0;
  });
  EXPECT_TRUE((fused_only == 0) != (rounded_only == 0))
      << fused_only << " results fit only fused, " << rounded_only << " only rounded products";
  return fused_only > 0;
}

TEST(InstructionSets, AForcedSetRuns) {
  const Restore restore;
  const std::set<std::string_view> without_fma = {"SSE4", "EMU128", "SCALAR"};
  const Rotations rotations = test::rotations_of(test::frequencies_of(window), positions);
  const Tensor src = test::random_tensor({.dtype = DType::f32, .extents = extents}, 23);
  for (const std::string_view name : supported_instruction_sets()) {
    SCOPED_TRACE(name);
    test::require(force_instruction_set(name));
    EXPECT_EQ(test::value_of(instruction_set()), name);
    Tensor dst = src;
    test::require(rotate(dst.view(), dst.view(), rotations));
    EXPECT_EQ(result_is_fused(src, dst, rotations), without_fma.count(name) == 0);
  }
}

}  // namespace
}  // namespace rotary

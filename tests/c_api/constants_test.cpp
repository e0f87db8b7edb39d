// SPDX-License-Identifier: Apache-2.0
// Each constant of rotary.h equals its enumerator, because the C functions cast one to the other.
#include <gtest/gtest.h>

#include <cstdint>

#include "rotary/rotary.h"
#include "rotary/rotary.hpp"
#include "rotary/rotary_kv_cache.h"

namespace rotary {
namespace {

constexpr std::int32_t value(auto enumerator) { return static_cast<std::int32_t>(enumerator); }

static_assert(ROTARY_INVALID_ARGUMENT == value(ErrorCode::invalid_argument));
static_assert(ROTARY_MALFORMED_INPUT == value(ErrorCode::malformed_input));
static_assert(ROTARY_UNSUPPORTED == value(ErrorCode::unsupported));
static_assert(ROTARY_OUT_OF_MEMORY == value(ErrorCode::out_of_memory));

static_assert(ROTARY_F32 == value(DType::f32));
static_assert(ROTARY_BF16 == value(DType::bf16));
static_assert(ROTARY_F16 == value(DType::f16));
static_assert(ROTARY_F64 == value(DType::f64));
static_assert(ROTARY_F32 == value(RowDType::f32));
static_assert(ROTARY_F64 == value(RowDType::f64));

static_assert(ROTARY_PAIRING_HALF == value(Pairing::half));
static_assert(ROTARY_PAIRING_INTERLEAVED == value(Pairing::interleaved));
static_assert(ROTARY_PAIRING_INTERLEAVED_TO_HALF == value(Pairing::interleaved_to_half));

static_assert(ROTARY_ROLE_QUERY == value(Role::query));
static_assert(ROTARY_ROLE_KEY == value(Role::key));

static_assert(ROTARY_NUMERICS_EXACT == value(Numerics::exact));
static_assert(ROTARY_NUMERICS_TRANSFORMERS == value(Numerics::transformers));
static_assert(ROTARY_NUMERICS_GGML == value(Numerics::ggml));
static_assert(ROTARY_NUMERICS_VLLM == value(Numerics::vllm));

static_assert(ROTARY_FORWARD == value(Direction::forward));
static_assert(ROTARY_INVERSE == value(Direction::inverse));
static_assert(ROTARY_TRANSPOSE == value(Direction::transpose));

static_assert(ROTARY_NORM_OVER_EACH_HEAD == value(NormOver::each_head));
static_assert(ROTARY_NORM_OVER_ALL_HEADS == value(NormOver::all_heads));
static_assert(ROTARY_NORM_BEFORE_ROTATION == value(NormOrder::before_rotation));
static_assert(ROTARY_NORM_AFTER_ROTATION == value(NormOrder::after_rotation));

// Counts the enumerators up to the first value without a name, to find one that C misses.
template <class Enumerator>
std::int32_t known_values() {
  std::int32_t count = 0;
  while (to_string(static_cast<Enumerator>(count + 1)) != "unknown") ++count;
  return count;
}

TEST(CConstants, CoverDTypesNumericsPairingsRolesSlotsAndPositions) {
  EXPECT_EQ(known_values<DType>(), ROTARY_F64);
  EXPECT_EQ(known_values<Numerics>(), ROTARY_NUMERICS_VLLM);
  EXPECT_EQ(known_values<Pairing>(), ROTARY_PAIRING_INTERLEAVED_TO_HALF);
  EXPECT_EQ(known_values<Role>(), ROTARY_ROLE_KEY);
  EXPECT_EQ(std::variant_size_v<Slots>, std::size_t{ROTARY_SLOTS_INT64});
  EXPECT_EQ(std::variant_size_v<Positions>, std::size_t{ROTARY_POSITIONS_F64});
}

}  // namespace
}  // namespace rotary

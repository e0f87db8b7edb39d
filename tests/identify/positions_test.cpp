// SPDX-License-Identifier: Apache-2.0
// Rotations at wrong positions. identify() must find each token's position and name known fault
// patterns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "identify/faulty_rotation.hpp"

namespace rotary::test {
namespace {

RotarySpec llama() { return {.head_dim = 128, .base = 1e4, .pairing = Pairing::half}; }

RotarySpec qwen2_vl() {
  return {.head_dim = 128,
          .base = 1e6,
          .pairing = Pairing::half,
          .axes = Axes{.pairs = {16, 24, 24}, .exponents = AxisExponents::shared}};
}

RotarySpec on_axes(std::int64_t axes) {
  if (axes == 1) return llama();
  RotarySpec spec = qwen2_vl();
  if (axes == 2) spec.axes->pairs = {32, 32};
  return spec;
}

// The positions that a caller expects, and those that the program used.
struct Batch {
  std::int64_t rows = 1;
  Coordinates expected = {};  // [axes][rows * tokens]
  Coordinates used = {};      // [axes][rows * tokens]
};

struct Numbers {
  Heads before = {};
  Heads after = {};
};

Numbers numbers_of(const RotarySpec& spec, const Batch& batch, DType dtype, Random& random) {
  const auto tokens = static_cast<std::int64_t>(batch.used.front().size());
  Numbers numbers{.before = random_heads(tokens, spec.head_dim, dtype, random)};
  numbers.after = rotated(numbers.before, {.spec = spec}, batch.used);
  return numbers;
}

Identification identified(const RotarySpec& spec, const Batch& batch, const Numbers& numbers) {
  return identify_heads(numbers.before, numbers.after, batch.expected, {.model = model_with(spec)},
                        batch.rows);
}

std::string cause_of(const Identification& found) {
  if (found.tied == 0 || found.explanations.front().causes.empty())
    return std::string(to_string(found.verdict));
  return std::string(found.explanations.front().causes.front().hypothesis->name);
}

// Rows of tokens whose position error changes at random tokens.
Batch drawn_batch(std::int64_t axes, Random& random) {
  Batch batch{.rows = random.integer(1, 4)};
  const std::int64_t tokens = random.integer(1, 64);
  batch.expected.resize(static_cast<std::size_t>(axes));
  batch.used.resize(static_cast<std::size_t>(axes));
  for (std::size_t axis = 0; axis < batch.expected.size(); ++axis) {
    for (std::int64_t row = 0; row < batch.rows; ++row) {
      const std::int64_t first = random.integer(0, 3) == 0 ? random.integer(0, 1 << 16) : 0;
      std::int64_t shift = 0;
      for (std::int64_t t = 0; t < tokens; ++t) {
        if (random.integer(0, 7) == 0) shift = random.integer(0, 4000);
        batch.expected[axis].push_back(first + t);
        batch.used[axis].push_back(first + t + shift);
      }
    }
  }
  return batch;
}

// Counts tokens that are read at a wrong position: `aliased` if identify() reports an alias, else
// `wrong`.
struct Reading {
  int tokens = 0;
  int wrong = 0;
  int aliased = 0;
};

void count(const Batch& batch, const Identification& found, Reading& reading) {
  const std::size_t tokens = batch.used.front().size();
  reading.tokens += static_cast<int>(tokens);
  if (!found.positions) {
    if (batch.used != batch.expected) reading.wrong += static_cast<int>(tokens);
    return;
  }
  for (std::size_t t = 0; t < tokens; ++t) {
    bool is_right = true;
    for (std::size_t axis = 0; axis < batch.used.size(); ++axis)
      is_right = is_right && found.positions->found[axis * tokens + t] ==
                                 static_cast<double>(batch.used[axis][t]);
    if (is_right) continue;
    ++(std::isnan(found.positions->aliases[t]) ? reading.wrong : reading.aliased);
  }
}

TEST(Positions, EachRandomPositionIsReadOrHasAnAlias) {
  const std::uint64_t seed = given("ROTARY_TEST_SEED", 20261127);
  std::printf("ROTARY_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const std::int64_t axes : {1, 2, 3}) {
      Reading reading;
      for (int i = 0; i < 8; ++i) {
        const RotarySpec spec = on_axes(axes);
        const Batch batch = drawn_batch(axes, random);
        const Numbers numbers = numbers_of(spec, batch, dtype, random);
        count(batch, identified(spec, batch, numbers), reading);
      }
      EXPECT_EQ(reading.wrong, 0) << to_string(dtype) << ", axes " << axes << ": "
                                  << reading.aliased << " aliased of " << reading.tokens;
      if (dtype == DType::f32) {
        EXPECT_EQ(reading.aliased, 0);
      }
      std::printf("%s, axes %lld: %d of %d tokens aliased\n", std::string(to_string(dtype)).c_str(),
                  static_cast<long long>(axes), reading.aliased, reading.tokens);
    }
  }
}

using Positions1 = std::vector<std::int64_t>;

Positions1 counted(std::int64_t first, std::int64_t tokens) {
  Positions1 positions;
  for (std::int64_t t = 0; t < tokens; ++t) positions.push_back(first + t);
  return positions;
}

Positions1 joined(std::vector<Positions1> parts) {
  Positions1 all;
  for (const Positions1& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// The expected and the used positions of a program with a fault.
struct Fault {
  std::string name;
  std::int64_t rows;
  Positions1 expected;
  Positions1 used;
};

std::vector<Fault> faults() {
  const Positions1 padded = {1, 1, 1, 0, 1, 2, 3, 4};
  return {
      {"position_offset", 1, counted(0, 8), counted(317, 8)},
      {"left_padding", 1, padded, counted(0, 8)},
      {"left_padding", 2, joined({counted(0, 8), padded}), joined({counted(0, 8), counted(0, 8)})},
      {"packing", 1, joined({counted(0, 5), counted(0, 4)}), counted(0, 9)},
      {"packing", 1, joined({counted(0, 3), counted(0, 3), counted(0, 3)}), counted(0, 9)},
      {"offset_twice", 1, counted(0, 12), joined({counted(0, 4), counted(8, 4), counted(16, 4)})},
      {"restarts", 1, counted(0, 12), joined({counted(0, 4), counted(0, 4), counted(0, 4)})},
      {"rank_positions", 1, joined({counted(0, 4), counted(12, 4)}), counted(0, 8)},
      {"rank_positions", 1, joined({counted(4, 4), counted(8, 2), counted(20, 2)}), counted(0, 8)},
      {"table_clamped", 1, counted(1000, 8), joined({counted(1000, 4), Positions1(4, 1003)})},
      {"table_wrapped", 1, counted(1000, 8), joined({counted(1000, 4), counted(0, 4)})},
      {"first_decoded", 1, counted(145, 6), joined({{0}, counted(5735, 5)})},
      {"row_offsets", 2, joined({counted(0, 6), counted(0, 6)}),
       joined({counted(0, 6), counted(5, 6)})},
      {"token_positions", 1, counted(0, 8), {5, 3, 90, 3, 4, 1, 77, 7}}};
}

TEST(Positions, FaultPatternsOfProgramsAreNamed) {
  Random random(46);
  for (const Fault& fault : faults()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Batch batch{.rows = fault.rows, .expected = {fault.expected}, .used = {fault.used}};
      const Numbers numbers = numbers_of(llama(), batch, dtype, random);
      const Identification found = identified(llama(), batch, numbers);
      EXPECT_EQ(cause_of(found), fault.name) << to_string(dtype) << "\n" << shown(found);
      EXPECT_EQ(found.verdict, Verdict::another_cause);
    }
  }
}

// Text, two images of 4 x 6 patches, text. The images are at different times.
Coordinates prompt() {
  Coordinates positions(3);
  for (auto& axis : positions) axis = counted(0, 5);
  for (std::int64_t t = 0; t < 2; ++t) {
    for (std::int64_t patch = 0; patch < 24; ++patch) {
      positions[0].push_back(5 + 2 * t);
      positions[1].push_back(5 + patch / 6);
      positions[2].push_back(5 + patch % 6);
    }
  }
  for (auto& axis : positions) {
    const Positions1 behind = counted(11, 5);
    axis.insert(axis.end(), behind.begin(), behind.end());
  }
  return positions;
}

TEST(Positions, FaultPatternsOnAxesAreNamed) {
  const std::size_t image = 5;
  const std::size_t behind = 53;
  struct AxisFault {
    std::string name;
    std::function<void(Coordinates&)> plant;
  };
  const std::vector<AxisFault> axis_faults = {
      {"text_positions",
       [](Coordinates& p) {
         for (auto& axis : p) axis = counted(0, 58);
       }},
      {"axis_pinned", [](Coordinates& p) { std::fill_n(p[0].begin() + image, 48, 60); }},
      {"axis_factor",
       [](Coordinates& p) { std::fill(p[0].begin() + image + 24, p[0].begin() + behind, 6); }},
      {"delta", [](Coordinates& p) {
         for (auto& axis : p)
           for (std::size_t t = behind; t < axis.size(); ++t) axis[t] += 42;
       }}};
  Random random(47);
  for (const AxisFault& fault : axis_faults) {
    Batch batch{.rows = 1, .expected = prompt(), .used = prompt()};
    fault.plant(batch.used);
    const Numbers numbers = numbers_of(qwen2_vl(), batch, DType::f32, random);
    const Identification found = identified(qwen2_vl(), batch, numbers);
    EXPECT_EQ(cause_of(found), fault.name) << shown(found);
  }
}

// The search reads 48 tokens, and token 30 of 200 is not among them.
TEST(Positions, AFaultOutsideTheSearchedTokensIsFound) {
  Random random(48);
  Batch batch{.rows = 1, .expected = {counted(0, 200)}, .used = {counted(0, 200)}};
  EXPECT_EQ(cause_of(identified(llama(), batch, numbers_of(llama(), batch, DType::bf16, random))),
            "as_configured");
  batch.used.front()[30] = 31;
  const Numbers numbers = numbers_of(llama(), batch, DType::bf16, random);
  const Identification found = identified(llama(), batch, numbers);
  EXPECT_EQ(cause_of(found), "token_positions");
  ASSERT_TRUE(found.positions);
  EXPECT_EQ(found.positions->found[30], 31);
  EXPECT_EQ(found.checked_tokens, 200);
}

TEST(Positions, ATokenThatFitsNoPositionIsCountedAsUnread) {
  Random random(49);
  const Batch batch{.rows = 1, .expected = {counted(0, 200)}, .used = {counted(0, 200)}};
  Numbers numbers = numbers_of(llama(), batch, DType::f32, random);
  for (std::size_t f = 0; f < 128; ++f) numbers.after.values[30 * 128 + f] = 1;
  const Identification found = identified(llama(), batch, numbers);
  EXPECT_EQ(found.verdict, Verdict::unexplained);
  ASSERT_TRUE(found.positions);
  EXPECT_EQ(found.positions->unread, 1);
  EXPECT_TRUE(std::isnan(found.positions->found[30]));
}

TEST(Positions, ThePositionOfASingleTokenOfOneHeadIsRead) {
  Random random(50);
  for (const std::int64_t used : {0, 1, 4711, 1048575}) {
    const Batch batch{.rows = 1, .expected = {{12345}}, .used = {{used}}};
    const Identification found =
        identified(llama(), batch, numbers_of(llama(), batch, DType::f32, random));
    EXPECT_EQ(found.verdict, Verdict::another_cause) << used << "\n" << shown(found);
    if (!found.positions) continue;
    EXPECT_EQ(found.positions->found.front(), static_cast<double>(used));
  }
}

}  // namespace
}  // namespace rotary::test

// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "bench/goals.hpp"
#include "bench/interleave.hpp"
#include "bench/lines.hpp"
#include "bench/measure.hpp"
#include "bench/operations/operations.hpp"
#include "bench/roofline.hpp"
#include "bench/verification.hpp"
#include "rotary/threads.hpp"

namespace rotary::bench {
namespace {

constexpr std::int64_t position = 8192;

Frequencies frequencies(std::int64_t head_dim, std::int64_t rotary_dim, Pairing pairing) {
  return *make_frequencies(RotarySpec{
      .head_dim = head_dim, .rotary_dim = rotary_dim, .base = 10'000.0, .pairing = pairing});
}

const Operation& operation(std::string_view name) {
  const auto found = std::ranges::find(operations(), name, &Operation::name);
  EXPECT_NE(found, operations().end()) << name;
  return *found;
}

struct RotatedSample {
  Frequencies frequencies;
  Tensor tensor;
  Sample before;

  [[nodiscard]] Verification verification() const {
    return verify(before, tensor.view(), {.frequencies = frequencies, .first_position = position});
  }
  [[nodiscard]] std::byte* element(std::int64_t index) const {
    const HeadsView view = tensor.view();
    return static_cast<std::byte*>(view.data) + index * size_in_bytes(view.dtype);
  }
};

RotatedSample rotated(DType dtype, Pairing pairing, std::int64_t rotary_dim, Layout layout) {
  const Extents extents{.batch = 1, .tokens = 50, .heads = 2, .features = 12};
  Frequencies spec = frequencies(12, rotary_dim, pairing);
  Tensor tensor(dtype, extents, layout);
  tensor.fill(7);
  Sample before = take_sample(tensor.view());
  const auto rotations =
      make_rotations(spec, ConsecutivePositions{.first = position, .tokens = extents.tokens});
  EXPECT_TRUE(rotate(tensor.view(), tensor.view(), *rotations));
  return {std::move(spec), std::move(tensor), std::move(before)};
}

TEST(BenchVerification, FindsWrongFeaturesOfTheFirstAndLastToken) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const Pairing pairing : all_pairings) {
      const RotatedSample right = rotated(dtype, pairing, 8, Layout::tokens_first);
      EXPECT_EQ(right.verification().elements, 32 * 2 * 12);
      EXPECT_EQ(right.verification().wrong, 0) << to_string(dtype) << ' ' << to_string(pairing);
      EXPECT_GT(right.verification().worst, 0);
      // A rotated and an unrotated feature of the first and of the last token.
      for (const std::int64_t index : {3, 10, 49 * 24 + 5, 49 * 24 + 23}) {
        std::byte* const at = right.element(index) + size_in_bytes(dtype) - 1;
        *at ^= std::byte{1};  // an exponent bit; in f16 a fraction bit
        EXPECT_EQ(right.verification().wrong, 1) << index;
        *at ^= std::byte{1};
      }
      EXPECT_EQ(right.verification().wrong, 0);
    }
  }
}

TEST(BenchVerification, CountsNanAndLocatesTheWorstElement) {
  const RotatedSample right = rotated(DType::f32, Pairing::half, 12, Layout::heads_first);
  EXPECT_EQ(right.verification().wrong, 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(right.element(0), &nan, sizeof nan);
  const float large = 1000;  // for the last feature of head 1 of the last token
  std::memcpy(right.element(2 * 50 * 12 - 1), &large, sizeof large);
  const Verification found = right.verification();
  EXPECT_EQ(found.wrong, 2);
  EXPECT_EQ(found.worst, std::numeric_limits<double>::infinity());
  EXPECT_EQ(found.worst_position, position);
  std::memcpy(right.element(0), &large, sizeof large);
  std::memcpy(right.element(2 * 50 * 12 - 1), &nan, sizeof nan);
  EXPECT_EQ(right.verification().worst_position, position + 49);
  EXPECT_EQ(right.verification().worst_head, 1);
  EXPECT_EQ(right.verification().worst_feature, 11);
}

TEST(BenchVerification, FindsNanInPairsOfZeros) {
  RotatedSample right = rotated(DType::f32, Pairing::half, 8, Layout::tokens_first);
  const auto bytes = static_cast<std::size_t>(right.tensor.bytes());
  std::memset(right.element(0), 0, bytes);
  right.before = take_sample(right.tensor.view());
  EXPECT_EQ(right.verification().wrong, 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t index : {0, 7, 11, 49 * 24 + 5}) {  // feature 11 is not rotated
    std::memcpy(right.element(index), &nan, sizeof nan);
    EXPECT_EQ(right.verification().wrong, 1) << index;
    std::memset(right.element(index), 0, sizeof nan);
  }
}

TEST(BenchVerification, FindsExchangedRowsAndColumns) {
  const Frequencies spec = *make_frequencies(
      RotarySpec{.head_dim = 8,
                 .base = 10'000.0,
                 .pairing = Pairing::half,
                 .axes = rotary::Axes{.pairs = {2, 2}, .exponents = AxisExponents::own}});
  const Extents extents{.batch = 1, .tokens = 2, .heads = 1, .features = 8};
  Tensor before(DType::f32, extents, Layout::tokens_first);
  before.fill(7);
  Tensor after(DType::f32, extents, Layout::tokens_first);
  const std::vector<std::int64_t> grid = {0, 3, 5, 1};  // rows, then columns
  ASSERT_TRUE(rotate(after.view(), before.view(), *make_rotations(spec, positions_of(grid, 1, 2))));
  const auto wrong_at = [&](const std::vector<std::int64_t>& numbers) {
    const Positions positions = positions_of(numbers, 1, 2);
    const reference::AngleRows rows(positions, spec.inv_freq, spec.axes);
    return verify({.before = before.view(), .after = after.view()},
                  {.frequencies = spec, .rows = rows, .positions = positions})
        .wrong;
  };
  EXPECT_EQ(wrong_at(grid), 0);
  EXPECT_EQ(wrong_at({5, 1, 0, 3}), 16);
}

TEST(BenchVerification, SamplesTheFirstAndTheLastToken) {
  EXPECT_EQ(sampled_tokens(1), std::vector<std::int64_t>({0}));
  EXPECT_EQ(sampled_tokens(3), std::vector<std::int64_t>({0, 1, 2}));
  const std::vector<std::int64_t> many = sampled_tokens(4096);
  EXPECT_EQ(std::set(many.begin(), many.end()).size(), 32U);
  EXPECT_EQ(many.front(), 0);
  EXPECT_EQ(many.back(), 4095);
}

TEST(BenchMeasure, DoesNotTimeAWrongResult) {
  std::int64_t ran = 0;
  const auto job = [&ran](std::int64_t wrong) {
    return Job{.verify = [=] { return Verification{.elements = 2, .wrong = wrong}; },
               .run =
                   [&ran](std::int64_t calls) {
                     ran += calls;
                     return Status();
                   }};
  };
  const auto measurement = measure(job(1), 1, 0.001);
  ASSERT_TRUE(measurement);
  EXPECT_FALSE(measurement->timing);
  EXPECT_EQ(ran, 0);
  const auto timed = measure(job(0), 1, 0.001);
  ASSERT_TRUE(timed && timed->timing);
  EXPECT_GT(ran, 7);
  EXPECT_FALSE(timed->timing->roofline_ns_per_call);
}

TEST(BenchInterleave, AlternatesContendersAndReturnsTheirError) {
  std::string order;
  const auto slow = [&order](char name) {
    return [&order, name](std::int64_t calls) {
      order.append(static_cast<std::size_t>(calls), name);
      volatile double sink = 1;  // takes about 0.2 ms, so a sample is one call
      for (int i = 0; i < 200'000; ++i) sink = sink * 0.5 + 1;
      return Status();
    };
  };
  const std::vector<Contender> contenders = {slow('a'), slow('b')};
  double done = 0;
  const auto timing =
      interleave(contenders, {.seconds = 1e-9,
                              .clock = Clock::thread_cpu,
                              .on_progress = [&done](double share) { done += share; }});
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->rounds, 7);
  EXPECT_NE(order.find("aabbbbaaaabbbbaa"), std::string::npos) << order;
  EXPECT_DOUBLE_EQ(done, 1);
  for (const double ns : timing->ns_per_call) EXPECT_GT(ns, 0);
  EXPECT_GE(timing->spread, 1);

  const std::vector<Contender> failing = {[](std::int64_t) -> Status {
    return Error{ErrorCode::unsupported, "no"};
  }};
  EXPECT_FALSE(interleave(failing, {}));
}

using cli::goals_text;
using cli::Json;
using cli::judged;
using cli::verdict_text;

TEST(BenchReport, MarksGoalsMissedOnABusyMachine) {
  const auto verdict = [](bool met, double spread) {
    return verdict_text(judged({{"met", met}}, spread));
  };
  EXPECT_EQ(verdict(true, 1), "met");
  EXPECT_EQ(verdict(true, 3), "met");
  EXPECT_EQ(verdict(false, 1.05), "MISSED");
  EXPECT_EQ(verdict(false, 1.5), "busy");
  const Json lines = {{{"goal", judged({{"met", false}}, 1.5)}}, {{"goal", nullptr}}};
  EXPECT_TRUE(goals_text(lines).starts_with("\n0 of 1 goals met\n1 not met on a busy machine"));
}

// Scaling by 1 keeps every number but turns a signalling NaN into a quiet one.
TEST(BenchRoofline, ScalesOnlyRotatedFeatures) {
  constexpr std::uint32_t signalling = 0x7FA00000;
  constexpr std::uint32_t quiet = 0x7FE00000;
  const auto threads = Threads::start(3);
  ASSERT_TRUE(threads);
  for (const Executor& executor : {Executor{}, threads->executor()}) {
    for (const std::int64_t rotary_dim : {6, 10}) {
      HeadWindow window{
          .head_dim = 10, .rotary_dim = rotary_dim, .first_feature = 0, .pairing = Pairing::half};
      window.first_feature = rotary_dim == 6 ? 2 : 0;
      for (const std::int64_t tokens : {1, 7, 40}) {
        std::vector<std::uint32_t> bits(static_cast<std::size_t>(tokens * 30), signalling);
        const Extents extents{.batch = 1, .tokens = tokens, .heads = 3, .features = 10};
        Roofline roofline(executor);
        roofline.add_scale({bits.data(), DType::f32, extents, strides_bthd(extents)}, window);
        roofline.run(1);
        for (std::size_t i = 0; i < bits.size(); ++i) {
          const auto feature = static_cast<std::int64_t>(i % 10);
          const bool turns =
              feature >= window.first_feature && feature < window.first_feature + rotary_dim;
          ASSERT_EQ(bits[i], turns ? quiet : signalling) << i;
        }
      }
    }
  }
}

TEST(BenchRoofline, CopiesEveryHeadForEachLayoutAndThreadCount) {
  for (const std::int64_t count : {1, 2, 5}) {
    const auto threads = Threads::start(count);
    ASSERT_TRUE(threads);
    for (const Layout layout : {Layout::tokens_first, Layout::heads_first}) {
      const Extents extents{.batch = 1, .tokens = 77, .heads = 3, .features = 5};
      const Tensor from(DType::bf16, extents, Layout::tokens_first);
      const Tensor to(DType::bf16, extents, layout);
      from.fill(1);
      to.fill(2);
      Roofline roofline(threads->executor());
      EXPECT_TRUE(roofline.empty());
      roofline.add_copy(to.view(), from.view());
      EXPECT_FALSE(roofline.empty());
      roofline.run(1);
      const auto head_at = [](const HeadsView& view, std::int64_t token, std::int64_t head) {
        return static_cast<const std::uint16_t*>(view.data) + token * view.strides.token +
               head * view.strides.head;
      };
      for (std::int64_t i = 0; i < 77 * 3; ++i) {
        EXPECT_EQ(std::memcmp(head_at(to.view(), i / 3, i % 3), head_at(from.view(), i / 3, i % 3),
                              5 * sizeof(std::uint16_t)),
                  0);
      }
    }
  }
}

TEST(BenchLines, EachSetHasEveryOperationAndNoDuplicateLine) {
  for (const LineSet set : {LineSet::usual, LineSet::full}) {
    std::set<std::string> seen;
    std::set<std::string_view> names;
    for (const Line& line : lines_of({.set = set})) {
      EXPECT_TRUE(seen.insert(describe(line)).second) << describe(line);
      names.insert(line.operation->name);
      EXPECT_GE(needed_bytes(line), tensor_bytes(line));
    }
    EXPECT_EQ(names.size(), operations().size());
  }
}

TEST(BenchGoals, DependOnOperationDtypeThreadsAndMemoryLevel) {
  const Caches caches{.l1d = 32 << 10, .l2 = 1 << 20, .l3 = 32 << 20};
  struct Case {
    std::string_view operation;
    std::int64_t tokens;
    DType dtype;
    std::int64_t threads;
    MemoryLevel level;
    double at_most;  // 0: no goal
  };
  for (const Case& each : std::vector<Case>{
           {"rotate", 1, DType::f32, 1, MemoryLevel::l1, 1.8},
           {"rotate-prepared", 1, DType::f32, 1, MemoryLevel::l1, 1.3},
           {"rotate-prepared", 1, DType::bf16, 1, MemoryLevel::l1, 5.5},
           {"rotate-prepared", 1, DType::f16, 1, MemoryLevel::l1, 0},
           {"rotate", 1, DType::bf16, 2, MemoryLevel::l1, 0},
           {"backward", 1, DType::f32, 1, MemoryLevel::l1, 0},
           {"head-dim-64", 1, DType::f32, 1, MemoryLevel::l1, 0},
           {"rotate", 16, DType::f32, 1, MemoryLevel::l2, 1.08},
           {"backward", 16, DType::f32, 1, MemoryLevel::l2, 0},
           {"rotate", 64, DType::bf16, 1, MemoryLevel::l2, 1.9},
           {"rotate", 64, DType::bf16, 3, MemoryLevel::l2, 0},
           {"rotate", 128, DType::bf16, 1, MemoryLevel::l3, 1.15},
           {"rotate", 128, DType::bf16, 2, MemoryLevel::l2, 1.9},
           {"rotate", 4096, DType::f16, 1, MemoryLevel::dram, 1.25},
           {"partial", 4096, DType::bf16, 1, MemoryLevel::l3, 1.15},
           {"out-of-place", 1, DType::f32, 1, MemoryLevel::l2, 0},
           {"out-of-place", 512, DType::f32, 1, MemoryLevel::l3, 0.8},
           {"out-of-place", 4096, DType::bf16, 1, MemoryLevel::dram, 1.15},
           {"append", 1, DType::f32, 1, MemoryLevel::l1, 0},
           {"append", 512, DType::f32, 1, MemoryLevel::l3, 1.12},
           {"append", 512, DType::bf16, 1, MemoryLevel::l3, 1.28},
           {"rotate-then-copy", 512, DType::f32, 1, MemoryLevel::l3, 0},
           {"shift", 64, DType::f32, 1, MemoryLevel::l2, 0},
           {"shift", 4096, DType::f32, 1, MemoryLevel::l3, 1.05},
           {"shift", 32'768, DType::bf16, 1, MemoryLevel::dram, 1.25},
           {"patches", 16'384, DType::bf16, 1, MemoryLevel::dram, 1.15},
           {"patches-prepared", 16'384, DType::f32, 1, MemoryLevel::dram, 1.15},
           {"patches", 64, DType::f32, 1, MemoryLevel::l2, 0},
           {"rows", 64, DType::f32, 1, MemoryLevel::l1, 70},
       }) {
    const Line line{.operation = &operation(each.operation),
                    .tokens = each.tokens,
                    .dtype = each.dtype,
                    .pairing = Pairing::half,
                    .threads = each.threads};
    EXPECT_EQ(memory_level(line, caches), each.level) << describe(line);
    const auto goal = goal_of(line, each.level);
    EXPECT_EQ(goal ? goal->at_most : 0, each.at_most) << describe(line);
  }
}

}  // namespace
}  // namespace rotary::bench

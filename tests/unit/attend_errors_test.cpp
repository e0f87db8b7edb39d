// SPDX-License-Identifier: Apache-2.0
// Breaks each requirement in attention.hpp once. The error must state requirement and value, and no
// byte may change. Calls with hostile sizes must return at once.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "rotary/attention.hpp"
#include "support/attention/errors.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::AttendErrors;
using test::highest;
using test::huge;
using test::lowest;
using test::PagedAttendErrors;
using test::Parts;
using test::refused;
using test::rotations_for;

constexpr ErrorCode unsupported = ErrorCode::unsupported;

TEST_F(AttendErrors, AValidCallIsAccepted) {
  EXPECT_TRUE(attend_bytes(c.q, c.k, c.v, c.options));
  accept(c);
}

TEST_F(PagedAttendErrors, AValidCallIsAccepted) {
  EXPECT_TRUE(attend_bytes(c.q, c.pages, c.options));
  accept(c);
}

TEST_F(AttendErrors, ShapesThatDoNotFitAreRefused) {
  refuse(c.k.extents.features = 5, {"k: features must be those of q, 6", "got 5"});
  refuse(c.k.extents.batch = c.v.extents.batch = 1, {"k: batch must be that of q, 2", "got 1"});
  refuse(c.v.extents.batch = 1,
         {"v: batch, tokens and heads must be those of k, 2, 5, 2", "got batch 1"});
  refuse(c.k.extents.tokens = 4, {"v: batch, tokens and heads", "2, 4, 2", "tokens 5"});
  refuse(c.q.extents.heads = 3, {"q: heads must be a multiple of those of k, 2", "got 3"});
  refuse(c.k.extents.heads = c.v.extents.heads = 0, {"k: heads must be at least 1", "got 0 for 4"});
  refuse(c.out.extents.features = 6, {"out: extents must be", "2, 3, 4, 7", "features 6"});
  refuse(c.q.extents.features = -1, {"q: extents must be >= 0", "features -1"});
}

TEST_F(AttendErrors, InvalidViewsAreRefused) {
  refuse(c.k.dtype = DType{}, {"k: dtype must be f32, bf16, f16 or f64", "got value 0"});
  refuse(c.k.dtype = DType::f64, {"k: dtype must be f32, bf16 or f16", "got f64"}, unsupported);
  refuse(c.k.strides.feature = 2, {"k: features must be adjacent", "feature 2"});
  refuse(c.k.data = nullptr, {"k: data must not be null"});
  refuse(c.k.data = static_cast<std::byte*>(c.k.data) + 1,
         {"k: data must be aligned to its element size, 4", "1 bytes off"});
  refuse(c.k.strides.token = highest, {"k: the view must span less than 2^62 bytes"});
  refuse(c.out.strides.token = 0, {"out: elements of a destination must be distinct"});
  refuse(c.out.dtype = DType::f64, {"out: dtype must be f32, bf16 or f16", "got f64"}, unsupported);
  c.q.strides = c.k.strides = {.feature = 1};
  refuse(c.q.extents.features = c.k.extents.features = (1 << 14) + 1,
         {"q: a head must have at most 16384 features", "got 16385"});
}

TEST_F(AttendErrors, OverlapsOfOutputsAreRefused) {
  refuse(c.out.data = c.v.data, {"out and v must share no element"});
  refuse(c.out.data = static_cast<float*>(c.k.data) + 3, {"out and k must share no element"});
  refuse(c.out.data = static_cast<float*>(c.q.data) + 3, {"out and q must share no element"});
  refuse(c.options.log_sum_exp->data = c.out.data, {"log_sum_exp and out must share no element"});
  refuse(c.options.log_sum_exp->data = c.k.data, {"log_sum_exp and k must share no element"});
}

TEST_F(PagedAttendErrors, AnOutputThatOverlapsTheBlockTableIsRefused) {
  std::vector<std::int32_t> bits(2 * 3 * 4 * 7);
  c.out.data = bits.data();
  refuse(c.pages.table.blocks = bits.data(), {"out and blocks must share no element"});
}

TEST_F(AttendErrors, AnInvalidLogSumExpIsRefused) {
  refuse(c.options.log_sum_exp->dtype = DType::f16,
         {"log_sum_exp: must be f32 with batch 2, heads 4, queries 3, keys 1", "got f16"});
  refuse(c.options.log_sum_exp->extents.queries = 4, {"log_sum_exp: must be f32", "queries 4"});
  refuse(c.options.log_sum_exp->strides.head = 0,
         {"log_sum_exp: elements of a destination must be distinct"});
}

TEST_F(AttendErrors, InvalidScalesAndTemperaturesAreRefused) {
  for (const double scale : {0.0, std::nan(""), HUGE_VAL, -HUGE_VAL, 0x1p-65, -0x1.1p64})
    refuse(c.options.scale = scale, {"scale must be given, of a size from 2^-64 to 2^64", "got"});
  refuse(c.options.q_temperature = StepTemperature{.scale = 0.1, .interval_tokens = 0},
         {"interval of a query temperature must be >= 1", "got 0"});
  refuse(c.options.q_temperature = LognTemperature{.trained_tokens = 1},
         {"trained context of logn attention must be > 1", "got 1"});
  c.options.q_temperature = LognTemperature{.trained_tokens = 2};
  c.sequences[1].query_position = -1;
  refuse(c.options.sequences = c.sequences,
         {"q_temperature: is for queries at positions >= 0", "got -1 for sequence 1"});
  c.sequences[1].query_position = -1;
  c.options.sequences = c.sequences;
  accept(c.options.scale = -1);
}

TEST_F(AttendErrors, InvalidMasksAreRefused) {
  refuse(c.options.mask.order = {}, {"mask: order must be bidirectional or causal", "got value 0"});
  refuse(c.options.mask.left = -1,
         {"left, how many earlier keys a query sees, must be >= 0", "got -1"});
  refuse(c.options.mask.sinks = -1, {"mask: sinks must be >= 0", "got -1"});
  // left and sinks have no upper limit, and right has no limit at all.
  for (const std::int64_t right : {lowest, highest})
    accept(c.options.mask = {.order = AttentionOrder::bidirectional,
                             .left = highest,
                             .right = right,
                             .sinks = highest});
}

TEST_F(AttendErrors, InvalidSequencesAreRefused) {
  const auto expect_with = [&](const AttentionSequence& second, Parts parts) {
    c.sequences[1] = second;
    refuse(c.options.sequences = c.sequences, parts);
  };
  expect_with({2, 0, 2, 0, 5, 3, 0}, {"batch must be from 0 to 1", "got 2 for sequence 1"});
  expect_with({-1, 0, 2, 0, 5, 3, 0}, {"batch must be from 0 to 1", "got -1 for sequence 1"});
  expect_with({1, 2, 2, 0, 5, 3, 0}, {"queries must be among the 3 tokens", "got 2 from 2 on"});
  expect_with({1, -1, 2, 0, 5, 3, 0}, {"queries must be among the 3 tokens", "got 2 from -1"});
  expect_with({1, 0, highest, 0, 5, 3, 0}, {"queries must be among", "got 9223372036854775807"});
  expect_with({1, highest, highest, 0, 5, 3, 0}, {"queries must be among"});
  expect_with({1, 0, 2, 1, 5, 3, 0}, {"keys must be among the 5 tokens of k", "got 5 from 1 on"});
  expect_with({1, 0, 2, lowest, lowest, 3, 0}, {"keys must be among the 5 tokens of k"});
  expect_with({1, 0, 2, 0, -1, 3, 0}, {"keys must be among the 5 tokens of k", "got -1"});
  for (const std::int64_t far : {lowest, highest, -(std::int64_t{1} << 60) - 1}) {
    expect_with({1, 0, 2, 0, 5, far, 0}, {"positions must be from -2^60 to 2^60"});
    expect_with({1, 0, 2, 0, 5, 3, far}, {"positions must be from -2^60 to 2^60"});
  }
  expect_with({0, 2, 1, 0, 5, 3, 0},
              {"in the order of batch rows and of queries", "queries from 2", "queries up to 3"});
  std::swap(c.sequences[0], c.sequences[1]);
  refuse(c.options.sequences = c.sequences,
         {"in the order of batch rows and of queries", "got batch 0"});
  const std::int64_t end = std::int64_t{1} << 60;
  c.sequences = {{0, 0, 3, 0, 4, end - 3, -end}, {1, 0, 2, 0, 5, -end, end - 5}};
  accept(c.options.sequences = c.sequences);
}

TEST_F(PagedAttendErrors, InvalidBlockTablesAreRefused) {
  refuse(c.options.sequences = {},
         {"sequences: there must be one for each of the block table's, 2", "got 0"});
  for (const std::int32_t number : {-1, 2, std::numeric_limits<std::int32_t>::max()})
    refuse(c.blocks[1] = number, {"blocks: each must be from 0 to 1", "for block 0 of sequence 1"});
  refuse(c.sequences[1].keys = 6,
         {"keys of sequence 1 must lie in its 1 blocks of 5 slots", "up to 6"});
  refuse(c.sequences[1].keys = highest, {"sequences: keys must be among"});
  refuse(c.sequences[1].keys = (std::int64_t{1} << 31) + 1,
         {"at most 2147483648 keys can be attended to"});
  refuse(c.pages.table.stride = highest, {"blocks: the view must span less than 2^62 bytes"});
  refuse(c.pages.table.blocks = nullptr, {"blocks: data must not be null"});
  refuse(c.pages.table = {}, {"sequences: there must be one for each of the block table's, 0"});
}

TEST_F(AttendErrors, InvalidEncodingsAreRefused) {
  const Rotations of_q = rotations_for(6, 3);
  const Rotations of_k = rotations_for(6, 5);
  const Rotations other_head = rotations_for(8, 3);
  const Rotations reordered = rotations_for(6, 3, Pairing::interleaved_to_half);
  auto with_both = [&] { c.options.encoding = {.q_rotations = &of_q, .k_rotations = &of_k}; };
  with_both();
  EXPECT_TRUE(attend_bytes(c.q, c.k, c.v, c.options));
  refuse(c.options.encoding.q_rotations = &of_k,
         {"q_rotations: rows must be for head_dim 6, batch 2 (or 1) and tokens 3",
          "got head_dim 6, batch 1, tokens 5"});
  with_both();
  refuse(c.options.encoding.q_rotations = &other_head,
         {"q_rotations: rows must be for head_dim 6", "got head_dim 8"});
  with_both();
  refuse(c.options.encoding.q_rotations = &reordered,
         {"q_rotations and k_rotations must rotate the same features in the same pairs",
          "got 4 from 0 (interleaved_to_half) and 4 from 0 (half)"});
  refuse(c.options.encoding = {.q_rotations = &reordered},
         {"both are required with pairing interleaved_to_half"});
  with_both();
  refuse(c.options.encoding = {.k_rotations = &of_q},
         {"k_rotations: rows must be for", "tokens 5", "tokens 3"});

  const HeadWindow window{.head_dim = 6, .rotary_dim = 4, .pairing = Pairing::half};
  Frequencies frequencies = test::frequencies_of(window);
  const Rotations wide = test::rotations_of(frequencies, ConsecutivePositions{0, 3}, RowDType::f64);
  refuse(c.options.encoding = {.q_rotations = &wide}, {"q_rotations: rows must be f32", "got f64"});
  frequencies.xpos = Xpos{};
  const Rotations keys =
      test::value_of(make_rotations(frequencies, ConsecutivePositions{0, 3}, {.role = Role::key}));
  refuse(c.options.encoding = {.q_rotations = &keys},
         {"q_rotations: rows must be those of role query", "role key"});
  const RelativeBias of_three(Alibi{.heads = 3});
  refuse(c.options.encoding = {.bias = &of_three}, {"bias: heads must be those of q, 4", "got 3"});
  const RelativeBias broken(Alibi{.heads = 4, .bias_max = -1});
  refuse(c.options.encoding = {.bias = &broken}, {"bias_max must be > 0", "got -1"});
}

TEST_F(PagedAttendErrors, KeyRotationsOfTheWrongLengthAreRefused) {
  const Rotations of_three = rotations_for(6, 3);
  refuse(c.options.encoding = {.k_rotations = &of_three},
         {"k_rotations: tokens must be those of the longest sequence, 4", "got 3"});
}

TEST_F(AttendErrors, UnusableMemoryIsRefused) {
  const std::size_t bytes = test::value_of(attend_bytes(c.q, c.k, c.v, c.options));
  std::vector<std::byte> room(bytes + 4096);
  const std::span<std::byte> memory = test::aligned_part(room, bytes);
  refuse(c.options.memory = memory.first(bytes - 1),
         {"memory: must have at least", std::to_string(bytes), "(attend_bytes), got",
          std::to_string(bytes - 1)});
  refuse(c.options.memory = test::aligned_part(room, bytes + 4).last(bytes),
         {"memory: must be aligned to 64 bytes", "4 bytes off"});
  c.options.memory = memory;
  refuse(c.q.data = memory.data() + bytes - 4, {"memory: must lie apart from q"});
  c.options.memory = memory;
  refuse(c.options.log_sum_exp->data = memory.data(), {"memory: must lie apart from log_sum_exp"});
  accept(c.options.memory = memory);
}

TEST_F(AttendErrors, InvalidShawTablesAreRefused) {
  std::vector<float> numbers(5 * 7 + 1, 0.5F);
  const auto table = [&](const ShawWindow& window, std::int64_t columns) {
    return ShawTable{window, {numbers.data(), DType::f32, window.rows(), columns, columns}};
  };
  ShawTable keys;
  ShawTable values;
  const auto renew = [&] {
    keys = table({2, 2}, 6);
    values = table({4, 0}, 7);
    c.options.encoding = {.shaw_keys = &keys, .shaw_values = &values};
  };
  renew();
  EXPECT_TRUE(attend_bytes(c.q, c.k, c.v, c.options));
  const auto expect_refused = [&](auto change, Parts parts) {
    renew();
    change();
    refuse(c, parts);
  };
  expect_refused([&] { keys.window.left = -1; },
                 {"shaw_keys: left and right must be from 0 to 2^40", "got -1 and 2"});
  expect_refused([&] { keys.window.left = highest; },
                 {"shaw_keys: left and right must be from 0 to 2^40"});
  expect_refused([&] { keys.window.right = 1; },
                 {"shaw_keys: the table must have left + right + 1 = 4 rows of 6 features",
                  "got rows 5, columns 6"});
  expect_refused(
      [&] {
        keys = table({2, 2}, 7);
      },
      {"shaw_keys: the table must have", "5 rows of 6 features", "columns 7"});
  expect_refused(
      [&] {
        values = table({4, 0}, 6);
      },
      {"shaw_values: the table must have", "5 rows of 7 features", "columns 6"});
  expect_refused([&] { values.table.data = nullptr; }, {"shaw_values: data must not be null"});
  expect_refused([&] { keys.table.dtype = {}; },
                 {"shaw_keys: dtype must be f32, bf16, f16 or f64", "got value 0"});
  expect_refused([&] { keys.table.row_stride = highest; },
                 {"shaw_keys: the view must span less than 2^62 bytes"});
  expect_refused([&] { keys.table.data = c.out.data; },
                 {"out and shaw_keys must share no element"});
  expect_refused([&] { values.table.data = c.sums.data(), values.table.row_stride = 0; },
                 {"log_sum_exp and shaw_values must share no element"});
  const RelativeBias bias(Alibi{.heads = 4});
  renew();
  refuse(c.options.encoding.bias = &bias, {"shaw_keys: must be without a bias"}, unsupported);
  renew();
  c.options.encoding.bias = &bias;
  accept(c.options.encoding.shaw_keys = nullptr);
}

TEST_F(AttendErrors, InvalidWeightsAreRefused) {
  const ScoresExtents extents{.batch = 2, .heads = 4, .queries = 3, .keys = 5};
  std::vector<float> numbers(2 * 4 * 3 * 5, 5.0F);
  const std::vector<float> before = numbers;
  const std::size_t bytes = test::value_of(attend_bytes(c.q, c.k, c.v, c.options));
  const auto weights = [&]() -> ScoresView& {
    return c.options.weights.emplace(
        ScoresView{numbers.data(), DType::f32, extents, strides_bhqk(extents)});
  };
  weights();
  EXPECT_TRUE(attend_bytes(c.q, c.k, c.v, c.options));
  refuse(weights().dtype = DType::bf16,
         {"weights: must be f32 with batch 2, heads 4, queries 3, keys 5", "got bf16"});
  refuse(weights().extents.keys = 4, {"weights: must be f32", "keys 4"});
  refuse(weights().strides.query = 4, {"weights: elements of a destination must be distinct"});
  refuse(weights().data = c.v.data, {"weights and v must share no element"});
  weights() = {c.sums.data(), DType::f32, extents, {.batch = 1, .head = 2, .query = 8, .key = 24}};
  refuse(c, {"weights and log_sum_exp must share no element"});
  refuse(weights().data = c.out.data, {"weights and out must share no element"});
  std::vector<std::byte> room(2 * bytes + 4096);
  c.options.memory = test::aligned_part(room, 2 * bytes);
  refuse(weights().data = c.options.memory.data(), {"memory: must lie apart from weights"});
  EXPECT_EQ(numbers, before);
}

TEST_F(PagedAttendErrors, SlotCountsThatOverflowAreRefused) {
  const ScoresExtents extents{.batch = 2, .heads = 4, .queries = 3, .keys = 5};
  std::vector<float> numbers(2 * 4 * 3 * 5, 5.0F);
  c.options.weights = ScoresView{numbers.data(), DType::f32, extents, strides_bhqk(extents)};
  c.pages.table.stride = 0;
  refuse(c.pages.table.blocks_of_sequence = highest / 2, {"blocks: "});
  EXPECT_EQ(numbers, std::vector<float>(numbers.size(), 5.0F));
}

// With strides of 0 a view may have extents larger than any memory.
TEST_F(AttendErrors, CallsWithHostileSizesReturnAtOnce) {
  c.k.strides.token = c.v.strides.token = 0;
  refuse(c.k.extents.tokens = c.v.extents.tokens = huge,
         {"at most 2147483648 keys can be attended to", "got 1099511627776"});
  c.q.strides = c.k.strides = c.v.strides = {};
  refuse(c.q.extents.heads = c.k.extents.heads = c.v.extents.heads = huge,
         {"q: heads must be at most 1048576", "got 1099511627776"});
  // attend_bytes() accepts extents of any size.
  constexpr std::int64_t many = std::int64_t{1} << 59;
  HeadsView q = c.q, k = c.k, v = c.v;
  AttendOptions& options = c.options;
  options.log_sum_exp = {};
  q.extents = {.batch = many, .tokens = many, .heads = 1 << 20, .features = 6};
  q.strides = {};
  k.extents =
      v.extents = {.batch = many, .tokens = std::int64_t{1} << 31, .heads = 1 << 20, .features = 6};
  k.strides = v.strides = {};
  EXPECT_TRUE(attend_bytes(q, k, v, options));
  const RelativeBias bias(Alibi{.heads = 1 << 20});
  options.encoding.bias = &bias;
  q.extents.tokens = 1 << 20;
  options.executor = {.run = [](void*, std::int64_t, ExecutorTask, void*) {},
                      .concurrency = highest};
  k.extents.heads = v.extents.heads = 1;
  refused(attend_bytes(q, k, v, options), {"2^61"}, ErrorCode::out_of_memory);
}

}  // namespace
}  // namespace rotary

// SPDX-License-Identifier: Apache-2.0
// Every requirement stated in attention.hpp, broken once: the error says it and what was got, and
// no byte has changed. Calls with hostile sizes end at once.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/attention.hpp"
#include "support/attention/errors.hpp"
#include "support/cases.hpp"
#include "support/error_matchers.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::AttendErrors;
using test::highest;
using test::huge;
using test::lowest;
using test::out_extents;
using test::q_extents;
using test::rotations_for;
using test::sums_extents;

TEST_F(AttendErrors, NoneToBeginWith) {
  EXPECT_TRUE(attend(out, q, k, v, options));
  EXPECT_TRUE(attend_bytes(q, k, v, options));
  options.sequences = sequences;
  EXPECT_TRUE(attend(out, q, pages, options));
  EXPECT_TRUE(attend_bytes(q, pages, options));
}

TEST_F(AttendErrors, Shapes) {
  const HeadsView good_k = k;
  const HeadsView good_q = q;
  k.extents.features = 5;
  expect_refused({"k: features must be those of q, 6", "got 5"});
  k = good_k;
  k.extents.batch = 1;
  v.extents.batch = 1;
  expect_refused({"k: batch must be that of q, 2", "got 1"});
  k = good_k;
  expect_refused({"v: batch, tokens and heads must be those of k, 2, 5, 2", "got batch 1"});
  v.extents.batch = 2;
  k.extents.tokens = 4;
  expect_refused({"v: batch, tokens and heads", "2, 4, 2", "tokens 5"});
  k = good_k;
  q.extents.heads = 3;
  expect_refused({"q: heads must be a multiple of those of k, 2", "got 3"});
  q = good_q;
  k.extents.heads = 0;
  v.extents.heads = 0;
  expect_refused({"k: heads must be at least 1", "got 0 for 4"});
  k = good_k;
  v.extents.heads = 2;
  out.extents.features = 6;
  expect_refused({"out: extents must be", "2, 3, 4, 7", "features 6"});
  out.extents = out_extents;
  q.extents.features = -1;
  expect_refused({"q: extents must be >= 0", "features -1"});
}

TEST_F(AttendErrors, ViewsThatCannotBe) {
  const HeadsView good = k;
  k.dtype = DType{};
  expect_refused({"k: dtype must be f32, bf16, f16 or f64", "got value 0"});
  k.dtype = DType::f64;
  expect_refused({"k: dtype must be f32, bf16 or f16", "got f64"}, ErrorCode::unsupported);
  k = good;
  k.strides.feature = 2;
  expect_refused({"k: features must be adjacent", "feature 2"});
  k = good;
  k.data = nullptr;
  expect_refused({"k: data must not be null"});
  k.data = static_cast<std::byte*>(good.data) + 1;
  expect_refused({"k: data must be aligned to its element size, 4", "1 bytes off"});
  k = good;
  k.strides.token = highest;
  expect_refused({"k: the view must span less than 2^62 bytes"});
  k = good;
  out.strides.token = 0;
  expect_refused({"out: elements of a destination must be distinct"});
  out.strides = strides_bthd(out_extents);
  out.dtype = DType::f64;
  expect_refused({"out: dtype must be f32, bf16 or f16", "got f64"}, ErrorCode::unsupported);
  q.extents.features = k.extents.features = (1 << 14) + 1;
  q.strides = k.strides = {.feature = 1};
  expect_refused({"q: a head must have at most 16384 features", "got 16385"});
}

TEST_F(AttendErrors, Overlaps) {
  const HeadsView good = out;
  out.data = v.data;
  expect_refused({"out and v must share no element"});
  out.data = static_cast<float*>(k.data) + 3;
  expect_refused({"out and k must share no element"});
  out.data = static_cast<float*>(q.data) + 3;
  expect_refused({"out and q must share no element"});
  out = good;
  options.log_sum_exp->data = out.data;
  expect_refused({"log_sum_exp and out must share no element"});
  options.log_sum_exp->data = k.data;
  expect_refused({"log_sum_exp and k must share no element"});
  options.log_sum_exp->data = sums.data();
  options.sequences = sequences;
  std::vector<std::int32_t> bits(out_extents.batch * 3 * 4 * 7);
  out.data = bits.data();
  pages.table.blocks = bits.data();
  EXPECT_TRUE(test::fails(attend(out, q, pages, options), ErrorCode::invalid_argument,
                          {"out and blocks must share no element"}));
}

TEST_F(AttendErrors, LogSumExp) {
  options.log_sum_exp->dtype = DType::f16;
  expect_refused({"log_sum_exp: must be f32 with batch 2, heads 4, queries 3, keys 1", "got f16"});
  options.log_sum_exp->dtype = DType::f32;
  options.log_sum_exp->extents.queries = 4;
  expect_refused({"log_sum_exp: must be f32", "queries 4"});
  options.log_sum_exp->extents = sums_extents;
  options.log_sum_exp->strides.head = 0;
  expect_refused({"log_sum_exp: elements of a destination must be distinct"});
}

TEST_F(AttendErrors, ScalesAndTemperatures) {
  for (const double scale : {0.0, std::nan(""), HUGE_VAL, -HUGE_VAL, 0x1p-65, -0x1.1p64}) {
    options.scale = scale;
    expect_refused({"scale must be given, of a size from 2^-64 to 2^64", "got"});
  }
  options.scale = -1;
  options.q_temperature = StepTemperature{.scale = 0.1, .interval_tokens = 0};
  expect_refused({"interval of a query temperature must be >= 1", "got 0"});
  options.q_temperature = LognTemperature{.trained_tokens = 1};
  expect_refused({"trained context of logn attention must be > 1", "got 1"});
  options.q_temperature = LognTemperature{.trained_tokens = 2};
  sequences[1].query_position = -1;
  options.sequences = sequences;
  expect_refused({"q_temperature: is for queries at positions >= 0", "got -1 for sequence 1"});
  options.q_temperature = NoTemperature{};
  EXPECT_TRUE(attend(out, q, k, v, options));
}

TEST_F(AttendErrors, Masks) {
  options.mask.order = {};
  expect_refused({"mask: order must be bidirectional or causal", "got value 0"});
  options.mask = {.order = AttentionOrder::causal, .left = -1};
  expect_refused({"mask: left must be >= 0", "got -1"});
  options.mask = {.order = AttentionOrder::causal, .sinks = -1};
  expect_refused({"mask: sinks must be >= 0", "got -1"});
  // No number is too large, or too small.
  for (const std::int64_t right : {lowest, highest}) {
    options.mask = {
        .order = AttentionOrder::bidirectional, .left = highest, .right = right, .sinks = highest};
    EXPECT_TRUE(attend(out, q, k, v, options));
  }
}

TEST_F(AttendErrors, Sequences) {
  const std::vector<AttentionSequence> good = sequences;
  const auto expect_with = [&](const AttentionSequence& second,
                               std::initializer_list<std::string_view> parts) {
    sequences = {good[0], second};
    options.sequences = sequences;
    expect_refused(parts);
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
  sequences = {good[1], good[0]};
  options.sequences = sequences;
  expect_refused({"in the order of batch rows and of queries", "got batch 0"});
  const std::int64_t end = std::int64_t{1} << 60;
  sequences = {{0, 0, 3, 0, 4, end - 3, -end}, {1, 0, 2, 0, 5, -end, end - 5}};
  options.sequences = sequences;
  EXPECT_TRUE(attend(out, q, k, v, options));
}

TEST_F(AttendErrors, BlockTables) {
  expect_paged_refused({"sequences: there must be one for each of the block table's, 2", "got 0"});
  options.sequences = sequences;
  for (const std::int32_t number : {-1, 2, std::numeric_limits<std::int32_t>::max()}) {
    blocks[1] = number;
    expect_paged_refused({"blocks: each must be from 0 to 1", "for block 0 of sequence 1"});
  }
  blocks[1] = 0;
  sequences[1].keys = 6;
  expect_paged_refused({"keys of sequence 1 must lie in its 1 blocks of 5 slots", "up to 6"});
  sequences[1].keys = highest;
  expect_paged_refused({"sequences: keys must be among"});
  sequences[1].keys = (std::int64_t{1} << 31) + 1;
  expect_paged_refused({"at most 2147483648 keys can be attended to"});
  sequences[1].keys = 5;
  pages.table.stride = highest;
  expect_paged_refused({"blocks: the view must span less than 2^62 bytes"});
  pages.table.stride = 1;
  pages.table.blocks = nullptr;
  expect_paged_refused({"blocks: data must not be null"});
  pages.table = {};
  expect_paged_refused({"sequences: there must be one for each of the block table's, 0"});
}

TEST_F(AttendErrors, Encodings) {
  const Rotations of_q = rotations_for(6, 3);
  const Rotations of_k = rotations_for(6, 5);
  const Rotations other_head = rotations_for(8, 3);
  const Rotations reordered = rotations_for(6, 3, Pairing::interleaved_to_half);
  options.encoding = {.q_rotations = &of_q, .k_rotations = &of_k};
  EXPECT_TRUE(attend_bytes(q, k, v, options));
  options.encoding.q_rotations = &of_k;
  expect_refused({"q_rotations: rows must be for head_dim 6, batch 2 (or 1) and tokens 3",
                  "got head_dim 6, batch 1, tokens 5"});
  options.encoding.q_rotations = &other_head;
  expect_refused({"q_rotations: rows must be for head_dim 6", "got head_dim 8"});
  options.encoding.q_rotations = &reordered;
  expect_refused({"interleaved_to_half", "both must"});
  options.encoding = {.k_rotations = &of_q};
  expect_refused({"k_rotations: rows must be for", "tokens 5", "tokens 3"});
  options.sequences = sequences;
  expect_paged_refused({"k_rotations: tokens must be those of the longest sequence, 4", "got 3"});
  options.sequences = {};

  const HeadWindow window{.head_dim = 6, .rotary_dim = 4, .pairing = Pairing::half};
  Frequencies frequencies = test::frequencies_of(window);
  const Rotations wide = test::rotations_of(frequencies, ConsecutivePositions{0, 3}, RowDType::f64);
  options.encoding = {.q_rotations = &wide};
  expect_refused({"q_rotations: rows must be f32", "got f64"});
  frequencies.xpos = Xpos{};
  const Rotations keys =
      test::value_of(make_rotations(frequencies, ConsecutivePositions{0, 3}, {.role = Role::key}));
  options.encoding = {.q_rotations = &keys};
  expect_refused({"q_rotations: rows must be those of role query", "role key"});
  const RelativeBias of_three(Alibi{.heads = 3});
  options.encoding = {.bias = &of_three};
  expect_refused({"bias: heads must be those of q, 4", "got 3"});
  const RelativeBias broken(Alibi{.heads = 4, .bias_max = -1});
  options.encoding = {.bias = &broken};
  expect_refused({"bias_max must be > 0", "got -1"});
}

TEST_F(AttendErrors, Memory) {
  const std::size_t bytes = test::value_of(attend_bytes(q, k, v, options));
  std::vector<std::byte> room(bytes + 4096);
  const auto address = reinterpret_cast<std::uintptr_t>(room.data());
  const std::span<std::byte> memory = std::span(room).subspan((64 - address % 64) % 64);
  options.memory = memory.first(bytes - 1);
  expect_refused({"memory: must have at least", std::to_string(bytes), "(attend_bytes), got",
                  std::to_string(bytes - 1)});
  options.memory = memory.subspan(4, bytes);
  expect_refused({"memory: must be aligned to 64 bytes", "4 bytes off"});
  options.memory = memory.first(bytes);
  const HeadsView good = q;
  q.data = memory.data() + bytes - 4;
  expect_refused({"memory: must lie apart from q"});
  q = good;
  options.log_sum_exp->data = memory.data();
  expect_refused({"memory: must lie apart from log_sum_exp"});
  options.log_sum_exp->data = sums.data();
  EXPECT_TRUE(attend(out, q, k, v, options));
}

// Extents beyond any memory, which strides of 0 or a lack of features allow a view to have.
TEST_F(AttendErrors, HostileSizesEndAtOnce) {
  const HeadsView good_k = k;
  const HeadsView good_v = v;
  const HeadsView good_q = q;
  k.extents.tokens = v.extents.tokens = huge;
  k.strides.token = v.strides.token = 0;
  expect_refused({"at most 2147483648 keys can be attended to", "got 1099511627776"});
  k = good_k;
  v = good_v;
  q.extents.heads = k.extents.heads = v.extents.heads = huge;
  q.strides = k.strides = v.strides = {};
  expect_refused({"q: heads must be at most 1048576", "got 1099511627776"});
  // With nothing to write nothing is done, for any number of them.
  const std::int64_t many = std::int64_t{1} << 59;
  q = good_q;
  q.extents.tokens = many;
  q.strides.token = 0;
  k = good_k;
  v = good_v;
  v.extents.features = 0;
  out.extents = q.extents;
  out.extents.features = 0;
  options.log_sum_exp = {};
  EXPECT_TRUE(attend(out, q, k, v, options));
  const HeadsView no_keys{.dtype = DType::f32, .extents = {2, 0, 2, 6}};
  const HeadsView no_values{.dtype = DType::f32, .extents = {2, 0, 2, 0}};
  options.weights = ScoresView{.dtype = DType::f32, .extents = {2, 4, many, 0}};
  EXPECT_TRUE(attend(out, q, no_keys, no_values, options));
  options.weights = {};
  q.extents = {.batch = many, .tokens = 3, .heads = 4, .features = 6};
  k.extents.batch = v.extents.batch = many;
  q.strides.batch = k.strides.batch = 0;
  out.extents = {.batch = many, .tokens = 3, .heads = 4, .features = 0};
  EXPECT_TRUE(attend(out, q, k, v, options));
  // Bytes alone: as many blocks as anybody asks for.
  EXPECT_TRUE(attend_bytes(q, k, v, options));
  q = good_q;
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
  EXPECT_TRUE(test::fails(attend_bytes(q, k, v, options), ErrorCode::out_of_memory, {"2^61"}));
}

TEST_F(AttendErrors, NothingIsDoneWithoutElements) {
  for (const int axis : {0, 1, 2}) {
    Extents n = q_extents;
    (axis == 0 ? n.batch : axis == 1 ? n.tokens : n.heads) = 0;
    HeadsView no_q{nullptr, DType::f32, n, {}};
    HeadsView keys = k;
    HeadsView values = v;
    keys.extents.batch = values.extents.batch = n.batch;
    if (axis == 2) keys.extents.heads = values.extents.heads = 0;
    HeadsView no_out = no_q;
    no_out.extents.features = 7;
    options.log_sum_exp.reset();
    EXPECT_TRUE(attend(no_out, no_q, keys, values, options)) << axis;
    EXPECT_EQ(test::value_of(attend_bytes(no_q, keys, values, options)), 0U) << axis;
  }
}

}  // namespace
}  // namespace rotary

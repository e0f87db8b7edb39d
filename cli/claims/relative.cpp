// SPDX-License-Identifier: Apache-2.0
// Claims 3, 4 and 5: relative biases.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cli/claims/claims.hpp"
#include "cli/claims/measure.hpp"
#include "rotary/attention.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"

namespace rotary::cli::claims {
namespace {

constexpr std::int64_t heads = 8;
constexpr T5Buckets t5_decoder{
    .buckets = 32, .max_distance = 128, .direction = T5Direction::causal};
constexpr T5Buckets t5_encoder{
    .buckets = 32, .max_distance = 128, .direction = T5Direction::bidirectional};

// Of a key so many tokens before the query.
std::int64_t bucket(std::int64_t distance, const T5Buckets& buckets) {
  return value_or_fail(t5_bucket(-distance, buckets));
}

// The first distance whose bucket is that of every farther one.
std::int64_t first_of_last_bucket(const T5Buckets& buckets) {
  std::int64_t distance = buckets.max_distance;
  while (bucket(distance - 1, buckets) == bucket(buckets.max_distance, buckets)) --distance;
  return distance;
}

std::vector<Evidence> t5_any_length() {
  const std::int64_t last = first_of_last_bucket(t5_decoder);
  double blurred_near = 0;
  for (std::int64_t distance = 1; 2 * distance < last; ++distance)
    blurred_near += bucket(2 * distance, t5_decoder) > bucket(distance, t5_decoder) ? 0 : 1;
  double told_far = 0;
  for (std::int64_t distance = last; distance < (std::int64_t{1} << 61); distance *= 2)
    told_far += bucket(2 * distance, t5_decoder) > bucket(distance, t5_decoder) ? 1 : 0;
  const auto farthest =
      static_cast<double>(bucket(std::numeric_limits<std::int64_t>::max(), t5_decoder));
  return {
      {.computed = "T5's 32 buckets to 128, causal, distances below the last bucket",
       .relation = "a key twice as far away is in another bucket",
       .setting = Setting::met,
       .holds = blurred_near == 0,
       .numbers = {{"distances for which it is not", blurred_near, exactly(0)}}},
      {.computed = "the same from the last bucket on, up to 2^62",
       .relation = "a key twice as far away is in another bucket",
       .setting = Setting::unmet,
       .holds = told_far > 0,
       .numbers = {{"distances for which it is", told_far, exactly(0)},
                   {"first distance of the last bucket", static_cast<double>(last), exactly(113)},
                   {"the same of an encoder, on either side",
                    static_cast<double>(first_of_last_bucket(t5_encoder)), exactly(91)}}},
      {.computed = "a distance of 2^63 - 1",
       .relation = "every distance has a bucket, so no length is an error",
       .setting = Setting::aside,
       .holds = farthest == 31,
       .numbers = {{"bucket", farthest, exactly(31)}}}};
}

struct LearnedTable {
  std::vector<double> values;
  RelativeBias bias;
};

LearnedTable t5_of(std::uint64_t seed) {
  LearnedTable table{.values = Random(seed).normals(t5_decoder.buckets * heads), .bias = {}};
  table.bias = T5Bias{.buckets = t5_decoder,
                      .table = {.data = table.values.data(),
                                .dtype = DType::f64,
                                .rows = t5_decoder.buckets,
                                .features = heads,
                                .row_stride = heads}};
  return table;
}

ScoresView scores_view(std::vector<double>& values, const ScoresExtents& extents) {
  values.assign(static_cast<std::size_t>(extents.heads * extents.queries * extents.keys), 0);
  return {.data = values.data(),
          .dtype = DType::f64,
          .extents = extents,
          .strides = strides_bhqk(extents)};
}

std::vector<double> bias_of_all_pairs(const RelativeBias& bias, std::int64_t tokens) {
  std::vector<double> values;
  ok_or_fail(fill_bias(scores_view(values, {.heads = heads, .queries = tokens, .keys = tokens}),
                       bias, BiasRange{}));
  return values;
}

// How many biases of all pairs are not the one of their distance.
double differing_from_distances(const RelativeBias& bias, std::int64_t tokens) {
  std::vector<double> by_distance;
  ok_or_fail(fill_distances(
      scores_view(by_distance, {.heads = heads, .queries = 1, .keys = 2 * tokens - 1}), bias,
      1 - tokens));
  const std::vector<double> all = bias_of_all_pairs(bias, tokens);
  double count = 0;
  for (std::int64_t i = 0; i < heads * tokens * tokens; ++i) {
    const std::int64_t head = i / (tokens * tokens);
    const std::int64_t distance = i % tokens - i / tokens % tokens;
    const std::int64_t at = head * (2 * tokens - 1) + tokens - 1 + distance;
    count += all[static_cast<std::size_t>(i)] == by_distance[static_cast<std::size_t>(at)] ? 0 : 1;
  }
  return count;
}

ConstHeadsView heads_view(const void* data, std::int64_t tokens) {
  const Extents extents{.tokens = tokens, .heads = heads, .features = usual_head_dim};
  return {.data = data, .dtype = DType::f32, .extents = extents, .strides = strides_bthd(extents)};
}

// Of what fill_bias() would be given for all pairs in float32.
double tensor_bytes_per_score(std::int64_t tokens) {
  const ScoresStrides strides = strides_bhqk({.heads = heads, .queries = tokens, .keys = tokens});
  return static_cast<double>(strides.batch * size_in_bytes(DType::f32)) /
         static_cast<double>(heads * tokens * tokens);
}

// What the bias adds to the memory of attend(), for each score of a head.
double extra_bytes_per_score(const RelativeBias& bias, std::int64_t tokens) {
  constexpr float nothing = 0;  // attend_bytes reads no element
  const ConstHeadsView view = heads_view(&nothing, tokens);
  AttendOptions options{.scale = 1, .mask = {.order = AttentionOrder::causal}};
  const auto without = value_or_fail(attend_bytes(view, view, view, options));
  options.encoding.bias = &bias;
  const auto with = value_or_fail(attend_bytes(view, view, view, options));
  return static_cast<double>(with - without) / static_cast<double>(heads * tokens * tokens);
}

std::vector<Evidence> t5_slow() {
  const LearnedTable t5 = t5_of(4);
  const double pairs_short = tensor_bytes_per_score(512);
  const double pairs_long = tensor_bytes_per_score(8192);
  const double differing = differing_from_distances(t5.bias, 128);
  const double inside_short = extra_bytes_per_score(t5.bias, 512);
  const double inside_long = extra_bytes_per_score(t5.bias, 8192);
  return {{.computed = "the bias of every pair in a tensor [heads, tokens, tokens] of float32",
           .relation = "what a score costs beside itself does not shrink as sequences grow",
           .setting = Setting::met,
           .holds = pairs_long >= pairs_short / 2,
           .numbers = {{"bytes for each score, 512 tokens", pairs_short, exactly(4)},
                       {"bytes for each score, 8192 tokens", pairs_long, exactly(4)}}},
          {.computed = "the bias inside attend(), 8 heads, causal: memory with it less without it",
           .relation = "what a score costs beside itself does not shrink as sequences grow",
           .setting = Setting::unmet,
           .holds = inside_long >= inside_short / 2,
           .numbers = {{"bytes for each score, 512 tokens", inside_short, {0, 0.1}},
                       {"bytes for each score, 8192 tokens", inside_long, {0, 0.001}}}},
          {.computed = "biases of all pairs of 128 tokens beside those of their 255 distances",
           .relation = "2 N - 1 numbers for each head are all that N tokens need",
           .setting = Setting::aside,
           .holds = differing == 0,
           .numbers = {{"biases that differ", differing, exactly(0)}}}};
}

std::vector<float> attended_with_alibi(const std::vector<float>& qkv, std::int64_t tokens) {
  const RelativeBias alibi = Alibi{.heads = heads};
  std::vector<float> out(static_cast<std::size_t>(tokens * heads * usual_head_dim));
  const std::size_t third = qkv.size() / 3;
  const ConstHeadsView q = heads_view(qkv.data(), tokens);
  ok_or_fail(attend({out.data(), q.dtype, q.extents, q.strides}, q, heads_view(&qkv[third], tokens),
                    heads_view(&qkv[2 * third], tokens),
                    {.scale = 1 / std::sqrt(static_cast<double>(usual_head_dim)),
                     .mask = {.order = AttentionOrder::causal},
                     .encoding = {.bias = &alibi}}));
  return out;
}

// Biases of 64 tokens that are others once there are 96.
double changed_by_appending(const RelativeBias& bias) {
  const std::vector<double> few = bias_of_all_pairs(bias, 64);
  const std::vector<double> more = bias_of_all_pairs(bias, 96);
  double count = 0;
  for (std::size_t i = 0; i < few.size(); ++i) {
    const std::size_t row = i / 64;  // of all heads
    count += few[i] == more[(row / 64 * 96 + row % 64) * 96 + i % 64] ? 0 : 1;
  }
  return count;
}

std::vector<Evidence> relative_breaks_cache() {
  const double t5 = changed_by_appending(t5_of(5).bias);
  const double alibi = changed_by_appending(Alibi{.heads = heads});
  const std::vector<float> qkv = Random(5).normals<float>(heads * usual_head_dim * 96 * 3);
  const std::vector<float> few = attended_with_alibi(qkv, 64);
  const double difference = largest_difference(few, attended_with_alibi(qkv, 96));
  constexpr double rounding = 1e-5;  // 2^-24 of each of 128 float32 sums in another order: 8e-6
  return {
      {.computed = "biases among 64 tokens, alone and with 32 appended",
       .relation = "some of the earlier tokens' numbers change",
       .setting = Setting::met,
       .holds = t5 + alibi > 0,
       .numbers = {{"T5, biases changed", t5, exactly(0)},
                   {"ALiBi, biases changed", alibi, exactly(0)}}},
      {.computed = "causal attention with ALiBi over the same keys and values, which have no "
                   "position in them: the rows of 64 tokens, alone and with 32 appended (seed 5)",
       .relation = "they change by more than float32 rounds",
       .setting = Setting::met,
       .holds = difference > rounding,
       .numbers = {{"largest change", difference, {0, rounding}}}}};
}

}  // namespace

std::vector<Claim> relative_claims() {
  return {
      {.number = 3,
       .name = "t5-any-length",
       .statement = "T5's relative bias extends to sequences of any length",
       .verdict = Verdict::holds_only_if,
       .condition = "distances stay below 113 (91 on either side in an encoder): all farther ones "
                    "share one bucket; whether a model needs more, training decides",
       .examine = t5_any_length,
       .published = {{"perplexity of a model trained on 512 tokens: 19.65 at 512, 18.77 at 1112 "
                      "(the best), 61.4 at 11512",
                      "Press et al. 2022, arXiv 2108.12409"}},
       .experiments = {"e1-causal-lm"}},
      {.number = 4,
       .name = "t5-slow",
       .statement = "T5's bias makes attention slow on long sequences",
       .verdict = Verdict::holds_only_if,
       .condition = "an implementation forms the bias of every pair of tokens; by distance, inside "
                    "attention, it costs next to nothing (`rotary bench attention` times it)",
       .examine = t5_slow,
       .published = {{"words per second in training on 3072 tokens: T5 4.3k, sinusoidal 15.3k, "
                      "rotary 11.5k",
                      "Press et al. 2022, arXiv 2108.12409, table 1"},
                     {"time beside no encoding at 4096 tokens: 1.68 in eager PyTorch, buckets and "
                      "embedding in each call; 0.99 inside attend()",
                      "docs/performance.md"}}},
      {.number = 5,
       .name = "relative-breaks-cache",
       .statement = "relative encodings change earlier tokens with each token that is appended, so "
                    "they do not go with a KV cache",
       .verdict = Verdict::fails,
       .condition =
           "keys and values have no position in them, and the bias of two tokens does not "
           "depend on how many there are; it is true of dynamic NTK and LongRoPE (claim 6)",
       .examine = relative_breaks_cache},
  };
}

}  // namespace rotary::cli::claims

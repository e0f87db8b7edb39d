// SPDX-License-Identifier: Apache-2.0
// Claims 1, 2 and 20 are about learned and sinusoidal tables; 3, 4 and 5 about relative biases.
#include <limits>

#include "cli/bias_input.hpp"
#include "cli/claims/claims.hpp"
#include "cli/claims/measure.hpp"
#include "rotary/attention.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"

namespace rotary::cli::claims {
namespace {

constexpr std::int64_t table_rows = 512;
constexpr std::int64_t table_features = 512;

std::vector<double> sinusoidal_table() {
  return plot::sinusoidal_rows(plot::evenly(table_rows - 1, table_rows), table_features);
}

// A learned table before training: normal numbers. Their deviation (often 0.02) changes no cosine.
std::vector<double> untrained_table(std::uint64_t seed) {
  return Random(seed).normals(table_rows * table_features);
}

std::span<const double> row_of(const std::vector<double>& table, std::int64_t row) {
  return std::span(table).subspan(static_cast<std::size_t>(row * table_features),
                                  static_cast<std::size_t>(table_features));
}

// The mean cosine between rows that are `distance` rows apart.
double mean_cosine(const std::vector<double>& table, std::int64_t distance) {
  double sum = 0;
  for (std::int64_t row = 0; row + distance < table_rows; ++row) {
    const auto one = row_of(table, row);
    const auto other = row_of(table, row + distance);
    sum += dot(one, other) / std::sqrt(dot(one, one) * dot(other, other));
  }
  return sum / static_cast<double>(table_rows - distance);
}

std::vector<Evidence> learned_like_sinusoidal() {
  const double learned = mean_cosine(untrained_table(1), 1);
  const double sinusoidal = mean_cosine(sinusoidal_table(), 1);
  return {
      aside("mean cosine of neighbouring rows in two tables, 512 x 512: normal numbers (seed 1), "
            "with which training starts, and sinusoidal",
            "before training only the sinusoidal table has similar neighbouring rows",
            sinusoidal - learned > 0.9,
            {{"learned, untrained", learned, about(0, 0.01)},
             {"sinusoidal", sinusoidal, about(249.1 / 256, 0.0005)}})};
}

std::vector<Evidence> independent_positions() {
  constexpr double independent = 0.05;  // the mean of 511 cosines of 512 features is 0 +- 0.002
  const double learned = mean_cosine(untrained_table(2), 1);
  const std::vector<double> table = sinusoidal_table();
  const double sinusoidal = mean_cosine(table, 1);
  const auto product = [&table](std::int64_t row) {
    return dot(row_of(table, 0), row_of(table, row));
  };
  return {as_claimed(
              "a learned table before training: 512 x 512 normal numbers (seed 2)",
              "adjacent rows have a mean cosine of at most 0.05", std::abs(learned) <= independent,
              {{"mean cosine of adjacent rows", learned, about(0, 0.01)},
               {"mean cosine 100 apart", mean_cosine(untrained_table(2), 100), about(0, 0.01)}}),
          beyond("the sinusoidal table of 512 features; the products are those of row 0",
                 "adjacent rows have a mean cosine of at most 0.05",
                 std::abs(sinusoidal) <= independent,
                 {{"mean cosine of adjacent rows", sinusoidal, about(249.1 / 256, 0.0005)},
                  {"row 0 with itself", product(0), about(256, 1e-9)},
                  {"with row 1", product(1), about(249.1, 0.05)},
                  {"with row 10", product(10), about(173.8, 0.05)},
                  {"with row 100", product(100), about(112.0, 0.05)},
                  {"with row 499", product(499), about(66.4, 0.05)}})};
}

// The mean of every second element from `first` on. first: 0 for the sines, 1 for the cosines.
double mean_of_every_second(const std::vector<double>& rows, std::size_t first) {
  double sum = 0;
  for (std::size_t i = first; i < rows.size(); i += 2) sum += rows[i];
  return 2 * sum / static_cast<double>(rows.size());
}

std::vector<Evidence> centred() {
  constexpr double centred_within = 0.01;
  const std::vector<double> table = sinusoidal_table();
  double last_cosine = 0;
  for (std::int64_t row = 0; row < table_rows; ++row)
    last_cosine += row_of(table, row).back() / static_cast<double>(table_rows);
  const auto [least, most] = std::ranges::minmax(table);

  // A prime stride, so that no pair returns to an earlier angle.
  constexpr std::int64_t many = 2048;
  constexpr std::int64_t stride = 19997;
  std::vector<std::int64_t> far = plot::evenly(many - 1, many);
  for (std::int64_t& position : far) position *= stride;
  const double far_mean = mean(plot::sinusoidal_rows(far, table_features));
  return {
      beyond("positions 0 to 511 of the sinusoidal table, 512 features",
             "the mean of all elements is within 0.01 of 0",
             std::abs(mean(table)) <= centred_within,
             {{"mean", mean(table), about(0.267, 0.0005)},
              {"mean of the sines", mean_of_every_second(table, 0), about(0.167, 0.001)},
              {"mean of the cosines", mean_of_every_second(table, 1), about(0.367, 0.0005)},
              {"mean of the last cosine", last_cosine, about(0.9995, 0.00005)},
              {"least element", least, {-1, -0.99}},
              {"largest element", most, {0.99, 1}}}),
      as_claimed(
          "2048 positions from 0 to 40,933,859, evenly spaced: 670 times the longest wavelength",
          "the mean of all elements is within 0.01 of 0", std::abs(far_mean) <= centred_within,
          {{"mean", far_mean, about(0, centred_within)}})};
}

constexpr std::int64_t heads = 8;
constexpr T5Buckets t5_decoder{
    .buckets = 32, .max_distance = 128, .direction = T5Direction::causal};
constexpr T5Buckets t5_encoder{
    .buckets = 32, .max_distance = 128, .direction = T5Direction::bidirectional};

// The bucket of a key that is `distance` tokens before the query.
std::int64_t bucket(std::int64_t distance, const T5Buckets& buckets) {
  return value_or_fail(t5_bucket(-distance, buckets));
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
  return {as_claimed("T5 with 32 causal buckets up to distance 128: distances below the last "
                     "bucket",
                     "a key twice as far away is in another bucket", blurred_near == 0,
                     {{"distances whose double has the same bucket", blurred_near, exactly(0)}}),
          beyond("the same buckets: distances from the last bucket on, up to 2^62",
                 "a key twice as far away is in another bucket", told_far > 0,
                 {{"distances whose double has another bucket", told_far, exactly(0)},
                  {"first distance of the last bucket", static_cast<double>(last), exactly(113)},
                  {"that of an encoder, on either side",
                   static_cast<double>(first_of_last_bucket(t5_encoder)), exactly(91)}}),
          aside("a distance of 2^63 - 1", "every distance has a bucket, so no length is an error",
                farthest == 31, {{"bucket", farthest, exactly(31)}})};
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

// How many biases of (head, query, key) differ from fill_distances()'s bias for their distance.
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

constexpr Extents usual_heads(std::int64_t tokens) {
  return {.tokens = tokens, .heads = heads, .features = usual_head_dim};
}

// The size of the float32 tensor that fill_bias() would need for all pairs, in bytes per score.
double tensor_bytes_per_score(std::int64_t tokens) {
  const ScoresStrides strides = strides_bhqk({.heads = heads, .queries = tokens, .keys = tokens});
  return static_cast<double>(strides.batch * size_in_bytes(DType::f32)) /
         static_cast<double>(heads * tokens * tokens);
}

// Measures the memory that the bias adds to attend(), for each score of a head.
double extra_bytes_per_score(const RelativeBias& bias, std::int64_t tokens) {
  constexpr float nothing = 0;  // attend_bytes reads no element
  const ConstHeadsView view = heads_view(&nothing, usual_heads(tokens));
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
  return {as_claimed("the bias of every pair in a tensor [heads, tokens, tokens] of float32",
                     "the memory for each score does not shrink as sequences grow",
                     pairs_long >= pairs_short / 2,
                     {{"bytes for each score, 512 tokens", pairs_short, exactly(4)},
                      {"bytes for each score, 8192 tokens", pairs_long, exactly(4)}}),
          beyond("the bias inside attend(), 8 causal heads: the memory that it adds to a call",
                 "the memory for each score does not shrink as sequences grow",
                 inside_long >= inside_short / 2,
                 {{"bytes for each score, 512 tokens", inside_short, {0, 0.1}},
                  {"bytes for each score, 8192 tokens", inside_long, {0, 0.001}}}),
          aside("biases of all pairs of 128 tokens against those of their 255 distances",
                "N tokens need only 2 N - 1 numbers for each head", differing == 0,
                {{"biases that differ", differing, exactly(0)}})};
}

std::vector<float> attended_with_alibi(const std::vector<float>& qkv, std::int64_t tokens) {
  const RelativeBias alibi = Alibi{.heads = heads};
  std::vector<float> out(static_cast<std::size_t>(tokens * heads * usual_head_dim));
  const std::size_t third = qkv.size() / 3;
  const auto view = [&](auto* data) { return heads_view(data, usual_heads(tokens)); };
  ok_or_fail(attend(view(out.data()), view(qkv.data()), view(&qkv[third]), view(&qkv[2 * third]),
                    {.scale = 1 / std::sqrt(static_cast<double>(usual_head_dim)),
                     .mask = {.order = AttentionOrder::causal},
                     .encoding = {.bias = &alibi}}));
  return out;
}

// How many biases among the first 64 tokens change when 32 tokens are appended.
double changed_by_appending(const RelativeBias& bias) {
  const std::vector<double> few = bias_of_all_pairs(bias, 64);
  const std::vector<double> more = bias_of_all_pairs(bias, 96);
  double count = 0;
  for (std::size_t i = 0; i < few.size(); ++i) {
    const std::size_t row = i / 64;  // over all heads
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
  return {as_claimed("biases between 64 tokens, before and after 32 are appended",
                     "some of the earlier tokens' numbers change", t5 + alibi > 0,
                     {{"T5, biases changed", t5, exactly(0)},
                      {"ALiBi, biases changed", alibi, exactly(0)}}),
          as_claimed("outputs of causal attention with ALiBi for 64 tokens, before and after 32 "
                     "are appended (seed 5); keys and values hold no position",
                     "they change by more than the rounding of float32", difference > rounding,
                     {{"largest change", difference, {0, rounding}}})};
}

}  // namespace

std::vector<Claim> encoding_claims() {
  using enum Verdict;
  return {
      {1, "learned-like-sinusoidal",
       "a learned position table and the sinusoidal one do equally well", needs_training,
       "rotary-lab trains both. Published results agree up to the trained length; beyond it a "
       "learned table has no rows",
       learned_like_sinusoidal,
       Publications{{"English-German translation: BLEU 25.7 learned, 25.8 sinusoidal",
                     "Vaswani et al. 2017, arXiv 1706.03762, table 3, row E"},
                    {"perplexity on the Pile: 22.04 learned and 21.49 sinusoidal of 125 million "
                     "parameters, 13.05 and 12.93 of 1.3 billion",
                     "Haviv et al. 2022, arXiv 2203.16634"}},
       Experiments{"e1-causal-lm", "e2-masked-lm"}},
      {2, "independent-positions",
       "positions of an absolute table have nothing to do with one another", holds_only_if,
       "the table is learned and training has not begun; sinusoidal rows of near positions are "
       "nearly equal",
       independent_positions},
      {20, "centred", "sinusoidal encodings are centred at 0", holds_only_if,
       "positions go on for many times the longest wavelength (60,611 tokens for 512 features). "
       "Within a model's context the slowest cosines stay near 1",
       centred},
      {3, "t5-any-length", "T5's relative bias extends to sequences of any length", holds_only_if,
       "distances stay below 113 (91 on either side in an encoder). All longer ones share one "
       "bucket; only training shows whether a model needs more",
       t5_any_length,
       Publications{{"perplexity of a model trained on 512 tokens: 19.65 at 512, 18.77 at 1112 "
                     "(the best), 61.4 at 11512",
                     "Press et al. 2022, arXiv 2108.12409"}},
       Experiments{"e1-causal-lm"}},
      {4, "t5-slow", "T5's bias makes attention slow on long sequences", holds_only_if,
       "an implementation forms the bias of every pair of tokens. Computed by distance inside "
       "attention, it costs almost nothing (`rotary bench attention` times it)",
       t5_slow,
       Publications{
           {"words per second in training on 3072 tokens: T5 4.3k, sinusoidal 15.3k, rotary 11.5k",
            "Press et al. 2022, arXiv 2108.12409, table 1"},
           {"time relative to no encoding at 4096 tokens: 1.68 in eager PyTorch, with buckets "
            "and embedding in each call; 0.99 inside attend()",
            "docs/performance.md"}}},
      {5, "relative-breaks-cache",
       "relative encodings change earlier tokens when tokens are appended, so a KV cache does "
       "not work with them",
       fails,
       "keys and values hold no position, and the bias of two tokens does not depend on the "
       "number of tokens. It is true of dynamic NTK and LongRoPE (claim 6)",
       relative_breaks_cache},
  };
}

}  // namespace rotary::cli::claims

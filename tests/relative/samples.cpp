// SPDX-License-Identifier: Apache-2.0
#include "relative/samples.hpp"

#include <string_view>

#include "support/attention/samples.hpp"
#include "support/bias_parameters.hpp"
#include "support/random.hpp"

namespace rotary::test {
namespace {

T5Bias t5(T5Direction direction) {
  return {.buckets = {.buckets = 32, .max_distance = 128, .direction = direction},
          .table = matrix_of_rows(sample_table(), 32)};
}

Fire fire(double c, double threshold) {
  constexpr std::int64_t width = 7;
  return {.c = c,
          .threshold = threshold,
          .hidden_weight = random_numbers(width, 3),
          .hidden_bias = random_numbers(width, 4),
          .output_weight = random_numbers(width * sample_heads, 5),
          .output_bias = random_numbers(sample_heads, 6)};
}

}  // namespace

std::vector<double>& sample_table() {
  static std::vector<double> table = random_numbers(32 * sample_heads, 1);
  return table;
}

std::vector<Sample> samples() {
  const Alibi alibi{.heads = 3};
  Alibi shard{.heads = 3, .first_head = 7, .model_heads = 12};
  shard.form = AlibiForm::symmetric;
  Alibi learned{.heads = 3, .slopes = {0.5, -0.25, 3.7}};
  learned.form = AlibiForm::key_position;
  std::vector<Sample> all = {
      {"t5 bidirectional", t5(T5Direction::bidirectional)},
      {"t5 causal", t5(T5Direction::causal)},
      {"alibi", alibi},
      {"alibi symmetric shard", shard},
      {"alibi key_position", learned},
      {"kerple log", KerpleLog{.p = {0.01, 1.5, 1.99}, .a = {0.3, 0.01, 0.99}}},
      {"kerple power", KerplePower{.a = {0.01, 0.7, 0.2}, .p = {0.3, 2, 1.1}}},
      {"fire", fire(0.1, 512)},
      {"fire of short threshold", fire(-0.7, -3.5)},
      {"sandwich", Sandwich{.dim = 10, .heads = 3}}};
  for (const std::string_view name : relative_bias_names()) {
    if (auto bias = random_bias(name, sample_heads, 40))
      all.push_back({"random " + std::string(name), *bias});
  }
  return all;
}

std::vector<double> random_numbers(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = random.unit() * 2 - 1;
  return values;
}

ScoresView scores_of(const HeadsView& view) {
  const Extents& n = view.extents;
  const Strides& s = view.strides;
  return {.data = view.data,
          .dtype = view.dtype,
          .extents = {.batch = n.batch, .heads = n.heads, .queries = n.tokens, .keys = n.features},
          .strides = {.batch = s.batch, .head = s.head, .query = s.token, .key = s.feature}};
}

ConstScoresView scores_of(const ConstHeadsView& view) {
  return scores_of(HeadsView{const_cast<void*>(view.data), view.dtype, view.extents, view.strides});
}

ConstTableView matrix_of_rows(const std::vector<double>& values, std::int64_t rows) {
  return matrix_of(values, static_cast<std::int64_t>(values.size()) / rows);
}

}  // namespace rotary::test

// SPDX-License-Identifier: Apache-2.0
// Relative biases as values: ALiBi in a decode step, and T5's table with its gradient.
// Run: relative_bias
#include "rotary/relative_bias.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include "rotary/cope.hpp"
#include "rotary/shaw.hpp"

int report(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// [heads, queries, keys]
rotary::ScoresView view(std::vector<float>& values, const rotary::ScoresExtents& extents) {
  return {values.data(), rotary::DType::f32, extents, strides_bhqk(extents)};
}

int main() {
  constexpr std::size_t heads = 8;
  const rotary::RelativeBias alibi = rotary::Alibi{.heads = 8};

  // A prefill of 16 tokens, and the decode step of token 15, which equals the prefill's last row.
  std::vector<float> prefill(heads * 16 * 16);
  std::vector<float> step(heads * 16);
  for (const auto& status : {fill_bias(view(prefill, {.heads = 8, .queries = 16, .keys = 16}),
                                       alibi, rotary::BiasRange{}),
                             fill_bias(view(step, {.heads = 8, .queries = 1, .keys = 16}), alibi,
                                       rotary::BiasRange{.first_query = 15})}) {
    if (!status) return report(status.error().message);
  }
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t key = 0; key < 16; ++key) {
      if (step[head * 16 + key] != prefill[(head * 16 + 15) * 16 + key])
        return report("a decode step must have the bits of its row of the prefill");
    }
  }

  // For N tokens, a bias of the distance has only 2 N - 1 values. Fast kernels take these values.
  std::vector<float> distances(heads * 31);
  const auto row = fill_distances(view(distances, {.heads = 8, .queries = 1, .keys = 31}), alibi,
                                  /*first_distance=*/-15);
  if (!row) return report(row.error().message);
  std::printf("alibi, head 0: distance -15 %.4f, -1 %.4f, 0 %.4f\n", distances[0], distances[14],
              distances[15]);

  // T5's table is a view of the model's weights. Its gradient sums over all scores of a bucket.
  std::vector<float> table(heads * 32, 0.5F);
  const rotary::RelativeBias t5 = rotary::T5Bias{
      .buckets = {.buckets = 32, .max_distance = 128, .direction = rotary::T5Direction::causal},
      .table = {.data = table.data(),
                .dtype = rotary::DType::f32,
                .rows = 32,
                .features = 8,
                .row_stride = 8}};
  std::vector<float> d_bias(heads * 16 * 16, 1.0F);
  std::vector<double> d_table(heads * 32);
  const auto added = add_bias_gradient(
      d_table, t5, view(d_bias, {.heads = 8, .queries = 16, .keys = 16}), rotary::BiasRange{});
  if (!added) return report(added.error().message);
  std::printf("t5, head 0: bucket 0 met %.0f scores, bucket 1 %.0f, bucket 15 %.0f\n", d_table[0],
              d_table[heads], d_table[15 * heads]);
}

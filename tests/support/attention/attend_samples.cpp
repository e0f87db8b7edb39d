// SPDX-License-Identifier: Apache-2.0
#include "support/attention/attend_samples.hpp"

#include <utility>

namespace rotary::test {
namespace {

// Vectors of Shaw's, in [-1, 1).
reference::ShawVectors random_vectors(const ShawWindow& window, std::int64_t features,
                                      std::uint64_t seed) {
  const Extents extents{.tokens = window.rows(), .heads = 1, .features = features};
  return {window, random_heads(extents, seed).values};
}

}  // namespace

std::vector<EncodingSample> attend_encodings(const AttentionShape& shape) {
  std::vector<EncodingSample> all;
  for (EncodingSample& sample : attention_encodings(shape)) {
    const reference::AttentionEncoding& of = sample.encoding;
    if (!of.cope.empty()) continue;
    all.push_back(std::move(sample));
  }
  std::vector<double> inv_freq;
  for (std::int64_t pair = 0; 2 * pair < shape.features; ++pair)
    inv_freq.push_back(std::pow(0.3, static_cast<double>(pair)));
  for (const Pairing pairing : all_pairings) {
    const reference::Rotary whole{
        .window = {.head_dim = shape.features, .rotary_dim = shape.features, .pairing = pairing},
        .inv_freq = inv_freq};
    all.push_back({"rotary of whole heads", {.rotary = whole}});
    all.push_back(
        {"rotary and a bias",
         {.rotary = whole, .bias = Alibi{.heads = shape.heads, .form = AlibiForm::symmetric}}});
  }
  const HeadWindow last{.head_dim = shape.features,
                        .rotary_dim = 4,
                        .first_feature = shape.features - 4,
                        .pairing = Pairing::half};
  all.push_back({"rotary of the last features",
                 {.rotary = reference::Rotary{.window = last, .inv_freq = {-0.5, 0.01}}}});
  const reference::ShawVectors keys = random_vectors({30, 30}, shape.features, 31);
  const reference::ShawVectors values = random_vectors({2, 40}, shape.value_features, 32);
  const reference::Rotary whole{.window = {.head_dim = shape.features,
                                           .rotary_dim = shape.features,
                                           .pairing = Pairing::interleaved},
                                .inv_freq = inv_freq};
  all.push_back({"shaw values", {.shaw_values = values}});
  all.push_back({"rotary, wide shaw keys", {.rotary = whole, .shaw_keys = keys}});
  all.push_back({"rotary, a bias and shaw values",
                 {.rotary = whole, .bias = Alibi{.heads = shape.heads}, .shaw_values = values}});
  return all;
}

}  // namespace rotary::test

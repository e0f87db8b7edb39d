// SPDX-License-Identifier: Apache-2.0
#include "support/attention/attend_samples.hpp"

#include <utility>

namespace rotary::test {
namespace {

// Shaw's vectors of random numbers in [-1, 1).
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
    all.push_back({"rotary of entire heads", {.rotary = whole}});
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

std::vector<NamedMask> attend_masks() {
  const auto [order, both] = std::pair(AttentionOrder::causal, AttentionOrder::bidirectional);
  const std::vector<AttentionSequence> packed = {{0, 0, 3, 0, 5, 2, 0},
                                                 {0, 3, 1, 5, 7, 0, 0},
                                                 {0, 5, 4, 12, 11, 7, 0},
                                                 {1, 2, 7, 3, 17, 10, 0}};
  const std::vector<AttentionSequence> padded = {{0, 4, 5, 6, 17, 12, 0}, {1, 0, 6, 0, 14, 8, 0}};
  constexpr AttentionMask causal{.order = AttentionOrder::causal};
  return {
      {"bidirectional", {.order = both}},
      {"causal", causal},
      {"causal window", {.order = order, .left = 5}},
      {"window of the query's own position", {.order = order, .left = 0}},
      {"window to both sides", {.order = both, .left = 3, .right = 2}},
      {"sinks and window", {.order = order, .left = 4, .sinks = 3}},
      {"sinks and window to both sides", {.order = both, .left = 2, .right = 1, .sinks = 2}},
      {"keys well before the query", {.order = both, .right = -6}},
      {"window of earlier keys, and sinks", {.order = order, .left = 12, .right = -7, .sinks = 1}},
      {"everything is a sink", {.order = order, .left = 1, .sinks = 1000}},
      {"packed", causal, packed},
      {"packed, window and sinks", {.order = both, .left = 4, .right = 1, .sinks = 1}, packed},
      {"padded left, and right", causal, padded},
      {"no key in the window", {.order = order, .left = 2}, {{1, 1, 4, 2, 9, 40, 0}}},
      {"positions beyond 8k", causal, {{0, 0, 9, 0, 23, 99'990, 99'976}}},
      {"negative positions", causal, {{0, 0, 9, 0, 23, -9, -23}}},
      {"temperature", causal, {}, StepTemperature{.scale = 0.5, .interval_tokens = 5}},
      {"logn", causal, padded, LognTemperature{.trained_tokens = 4}}};
}

bool meet(const EncodingSample& encoding, const NamedMask& mask) {
  return encoding.name != "xpos" || mask.name != "positions beyond 8k";
}

AttendCase case_of(const AttentionShape& shape, const EncodingSample& encoding,
                   const NamedMask& mask) {
  const bool logn = !std::holds_alternative<NoTemperature>(mask.q_temperature);
  return {.shape = shape,
          .encoding = encoding.encoding,
          .mask = mask.mask,
          .sequences = mask.sequences,
          .q_temperature = mask.q_temperature,
          .scale = logn ? 0.05 : scale_for(12)};
}

}  // namespace rotary::test

// SPDX-License-Identifier: Apache-2.0
#include "fuzz/attention/attention_shape.hpp"

#include <algorithm>
#include <array>

namespace rotary::fuzz {
namespace {

// Returns a small count, including 0 and 1, or one near `rare`, where tiles or kernels change.
std::int64_t decode_count(Bytes& input, std::int64_t most, std::int64_t rare) {
  if (input.once_in(24)) return rare + input.number(-2, 2);
  return input.number(0, most);
}

// Returns a position that is small, negative, or as far away as masks can compare.
std::int64_t decode_position(Bytes& input, std::int64_t count, std::int64_t lowest) {
  constexpr std::int64_t farthest = std::int64_t{1} << 60;
  const std::int64_t kind = input.number(0, 15);
  if (kind == 0) return farthest - count;
  if (kind == 1) return std::max(-farthest, lowest);
  if (kind == 2) return std::max<std::int64_t>(input.integer() >> 4, lowest) & ~std::int64_t{15};
  return std::max<std::int64_t>(input.number(-4, 20), lowest);
}

}  // namespace

AttentionShape decode_shape(Bytes& input) {
  AttentionShape shape{.batch = input.number(0, 3),
                       .queries = decode_count(input, 5, 18),
                       .keys = decode_count(input, 9, 258),
                       .key_heads = input.once_in(32) ? 0 : input.number(1, 3)};
  const std::int64_t group = input.once_in(16) ? input.number(5, 20) : input.number(1, 3);
  shape.features = input.once_in(16) ? input.number(0, 40) : input.number(1, 9);
  shape.value_features = input.once_in(16) ? input.number(0, 40) : input.number(1, 9);
  if (input.once_in(128)) {  // several splits of the keys
    shape.keys = 2048 * input.number(1, 2) + input.number(-2, 2);
    shape.batch = shape.key_heads = shape.features = shape.value_features = 1;
  }
  shape.heads = shape.key_heads * group;
  return shape;
}

DType decode_attention_dtype(Bytes& input) { return static_cast<DType>(input.number(1, 3)); }

std::vector<AttentionSequence> decode_sequences(Bytes& input, const AttentionShape& shape,
                                                std::int64_t lowest_position) {
  std::vector<AttentionSequence> sequences;
  if (shape.batch == 0) return sequences;
  std::int64_t batch = 0;
  std::int64_t query = 0;
  for (std::int64_t left = input.number(0, 4); left > 0; --left) {
    if (batch + 1 < shape.batch && input.once_in(2)) {
      ++batch;
      query = 0;
    }
    AttentionSequence s{.batch = batch};
    s.first_query = std::min(query + (input.once_in(4) ? 1 : 0), shape.queries);
    s.queries = std::min(input.number(0, 20), shape.queries - s.first_query);
    s.first_key = std::min(input.number(0, 3), shape.keys);
    s.keys =
        std::min(input.once_in(2) ? shape.keys : input.number(0, 12), shape.keys - s.first_key);
    s.key_position = decode_position(input, s.keys, -(std::int64_t{1} << 60));
    const std::int64_t behind = s.key_position + s.keys - s.queries;
    s.query_position = input.once_in(2) ? decode_position(input, s.queries, lowest_position)
                                        : std::max(behind, lowest_position);
    query = s.first_query + s.queries;
    sequences.push_back(s);
  }
  return sequences;
}

HeadWindow decode_pairs(Bytes& input, std::int64_t features) {
  const std::int64_t first = input.once_in(3) ? input.number(0, features - 2) : 0;
  const std::int64_t pairs = input.number(1, (features - first) / 2);
  return {.head_dim = features,
          .rotary_dim = 2 * pairs,
          .first_feature = first,
          .pairing = input.one_of(all_pairings)};
}

AttentionMask decode_mask(Bytes& input) {
  AttentionMask mask{.order = static_cast<AttentionOrder>(input.number(1, 2))};
  const std::int64_t kind = input.number(0, 15);
  if (kind % 2 == 1) mask.left = input.number(0, 9);
  if (kind / 2 % 2 == 1) mask.right = input.number(-6, 6);
  if (kind / 4 % 2 == 1) mask.sinks = input.number(1, 5);
  if (kind >= 8 && input.once_in(8)) {
    if (mask.left) mask.left = input.integer() & ~(std::int64_t{1} << 63);
    if (mask.right) mask.right = input.integer();
    if (mask.sinks > 0) mask.sinks = input.integer() & ~(std::int64_t{1} << 63);
  }
  return mask;
}

double decode_scale(Bytes& input) {
  constexpr std::array scales = {0.3, 1.0, 0.125, -0.5, 0x1p-64, 0x1p64, 3.0, 0.05};
  return input.one_of(scales);
}

QueryTemperature decode_temperature(Bytes& input) {
  if (!input.once_in(4)) return NoTemperature{};
  if (input.once_in(2)) return LognTemperature{.trained_tokens = input.number(2, 9)};
  if (input.once_in(3)) return PowerTemperature{.exponent = 0.5, .interval_tokens = 3};
  return StepTemperature{.scale = static_cast<double>(input.number(0, 4)) / 8,
                         .interval_tokens = input.number(1, 5),
                         .offset = input.number(0, 1)};
}

}  // namespace rotary::fuzz

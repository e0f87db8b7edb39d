// SPDX-License-Identifier: Apache-2.0
#include "reference/attention_case.hpp"

#include <cstddef>
#include <limits>

#include "reference/tensor.hpp"
#include "rotary/positions.hpp"

namespace rotary::reference {
namespace {

// Default positions: token t of every batch row is at first + t.
std::vector<std::int64_t> filled(std::vector<std::int64_t> positions, const Extents& extents,
                                 std::int64_t first) {
  if (!positions.empty()) return positions;
  for (std::int64_t b = 0; b < extents.batch; ++b) {
    for (std::int64_t t = 0; t < extents.tokens; ++t) positions.push_back(first + t);
  }
  return positions;
}

// Only sinks need ranks; otherwise all are 0.
std::vector<std::int64_t> ranks_of(const Mask& mask, const Extents& keys) {
  if (mask.sinks == 0) return std::vector<std::int64_t>(size_of(keys.batch * keys.tokens));
  std::vector<std::int64_t> ranks;
  for (std::int64_t b = 0; b < keys.batch; ++b) {
    const std::size_t row = size_of(b * keys.tokens);
    for (std::size_t j = 0; j < size_of(keys.tokens); ++j) {
      ranks.push_back(0);
      for (std::size_t earlier = 0; earlier < j; ++earlier) {
        const bool token = mask.keys.empty() || mask.keys[row + earlier] != 0;
        const bool same = mask.key_documents.empty() ||
                          mask.key_documents[row + earlier] == mask.key_documents[row + j];
        if (token && same) ++ranks.back();
      }
    }
  }
  return ranks;
}

void multiply_by_factors(Heads& q, const std::vector<double>& factors) {
  if (factors.empty()) return;
  const std::size_t token = size_of(q.extents.heads * q.extents.features);
  for (std::size_t i = 0; i < q.values.size(); ++i) q.values[i] *= factors[i / token];
}

AngleRows rows_of(const Positions& at, const Rotary& rotary, Role role) {
  if (!rotary.xpos) return {at, rotary.inv_freq};
  return {at, rotary.inv_freq, {.xpos = *rotary.xpos, .role = role}};
}

// Multiplies heads by A R(position).
Heads turned(const Heads& heads, const std::vector<std::int64_t>& positions, const Rotary& rotary,
             Role role) {
  const Extents& n = heads.extents;
  const auto values =
      rotate_tensor({heads.values.data(), DType::f64, n, strides_bthd(n)},
                    rows_of(rotary::positions_of(positions, n.batch), rotary, role),
                    {.window = rotary.window, .attention_factor = rotary.attention_factor});
  return {n, {values.begin(), values.end()}};
}

}  // namespace

std::size_t size_of(std::int64_t number) { return static_cast<std::size_t>(number); }

std::size_t offset_of(const Extents& extents, std::int64_t batch, std::int64_t token,
                      std::int64_t head) {
  return size_of(((batch * extents.tokens + token) * extents.heads + head) * extents.features);
}

std::size_t query_offset(const AttentionCase& of, const QueryIndex& at) {
  return offset_of(of.q.extents, at.batch, at.query, at.head);
}

// Neighbouring query heads share a key head (GQA, Ainslie et al. 2023, arXiv 2305.13245).
std::size_t key_offset(const AttentionCase& of, const Heads& keys, const QueryIndex& at,
                       std::int64_t key) {
  const std::int64_t group = of.q.extents.heads / keys.extents.heads;
  return offset_of(keys.extents, at.batch, key, at.head / group);
}

AttentionCase case_of(const AttentionInputs& inputs, const Attention& attention) {
  const Extents& keys = inputs.k.extents;
  const Extents& queries = inputs.q.extents;
  AttentionCase made{
      .attention = attention,
      .k = inputs.k,
      .v = inputs.v,
      .q = inputs.q,
      .turned_q = {},
      .turned_k = inputs.k,
      .query_positions = filled(attention.query_positions, queries, keys.tokens - queries.tokens),
      .key_positions = filled(attention.key_positions, keys, 0),
      .ranks = ranks_of(attention.mask, keys)};
  multiply_by_factors(made.q, attention.query_factors);
  made.turned_q = made.q;
  if (const auto& rotary = attention.encoding.rotary) {
    made.turned_q = turned(made.q, made.query_positions, *rotary, Role::query);
    made.turned_k = turned(inputs.k, made.key_positions, *rotary, Role::key);
  }
  return made;
}

BiasIndex positions_of_pair(const AttentionCase& of, const QueryIndex& at, std::int64_t key) {
  return {.head = at.head,
          .query = of.query_positions[size_of(at.batch * of.q.extents.tokens + at.query)],
          .key = of.key_positions[size_of(at.batch * of.turned_k.extents.tokens + key)]};
}

std::size_t pair_offset(const AttentionCase& of, const QueryIndex& at, std::int64_t key) {
  const Extents& q = of.q.extents;
  const std::int64_t row = (at.batch * q.heads + at.head) * q.tokens + at.query;
  return size_of(row * of.turned_k.extents.tokens + key);
}

bool sees(const AttentionCase& of, const QueryIndex& at, std::int64_t key) {
  const Mask& mask = of.attention.mask;
  const std::size_t pair_at = pair_offset(of, at, key);
  if (!mask.pairs.empty() && mask.pairs[pair_at] == 0) return false;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!mask.numbers.empty() && mask.numbers[pair_at] == -infinity) return false;
  const std::size_t i = size_of(at.batch * of.q.extents.tokens + at.query);
  const std::size_t j = size_of(at.batch * of.turned_k.extents.tokens + key);
  if (!mask.keys.empty() && mask.keys[j] == 0) return false;
  if (!mask.key_documents.empty() && mask.key_documents[j] != mask.query_documents[i]) return false;
  const BiasIndex pair = positions_of_pair(of, at, key);
  if (mask.order == Order::causal && pair.key > pair.query) return false;
  if (of.ranks[j] < mask.sinks) return true;
  if (mask.left && pair.query - pair.key > *mask.left) return false;
  return !mask.right || pair.key - pair.query <= *mask.right;
}

}  // namespace rotary::reference

// SPDX-License-Identifier: Apache-2.0
// Shared by attention() and check/: a call with its defaults filled in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/attention.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"

namespace rotary::reference {

struct AttentionCase {
  const Attention& attention;
  const Heads& k;
  const Heads& v;
  Heads q;                                    // factor_i q_i
  Heads turned_q;                             // A R(i) q
  Heads turned_k;                             // A R(j) k_j
  std::vector<std::int64_t> query_positions;  // [batch][queries]
  std::vector<std::int64_t> key_positions;    // [batch][keys]
  std::vector<std::int64_t> ranks;  // [batch][keys]: unpadded keys before this one in its document
};
[[nodiscard]] AttentionCase case_of(const AttentionInputs& inputs, const Attention& attention);

struct QueryIndex {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t query = 0;
};
[[nodiscard]] std::size_t size_of(std::int64_t number);

// Index of the first feature of one head in [batch][tokens][heads][features].
[[nodiscard]] std::size_t offset_of(const Extents& extents, std::int64_t batch, std::int64_t token,
                                    std::int64_t head);
[[nodiscard]] std::size_t query_offset(const AttentionCase& of, const QueryIndex& at);
// Index of the first feature, in keys or values, of the head that the query reads.
[[nodiscard]] std::size_t key_offset(const AttentionCase& of, const Heads& keys,
                                     const QueryIndex& at, std::int64_t key);

[[nodiscard]] BiasIndex positions_of_pair(const AttentionCase& of, const QueryIndex& at,
                                          std::int64_t key);

// Index of a pair in Mask::pairs and Mask::numbers.
[[nodiscard]] std::size_t pair_offset(const AttentionCase& of, const QueryIndex& at,
                                      std::int64_t key);

[[nodiscard]] bool sees(const AttentionCase& of, const QueryIndex& at, std::int64_t key);

// The score with softcap, bias and mask numbers; before masking and CoPE.
[[nodiscard]] double score_of(const AttentionCase& of, const QueryIndex& at, std::int64_t key);

template <class Visit>
void for_each_query(const AttentionCase& of, Visit visit) {
  const Extents& n = of.q.extents;
  for (std::int64_t b = 0; b < n.batch; ++b) {
    for (std::int64_t h = 0; h < n.heads; ++h) {
      for (std::int64_t i = 0; i < n.tokens; ++i) visit(QueryIndex{b, h, i});
    }
  }
}

}  // namespace rotary::reference

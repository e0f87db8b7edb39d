// SPDX-License-Identifier: Apache-2.0
// Scores of rotary pairs that stop turning at an angle: ClippedAngle (position_maps.hpp) in a form
// that torch can differentiate. A pair at rest has the same angle at every distance, so its part of
// the scores is one more product, of queries that are all rotated by that angle and of unrotated
// keys. The distance decides which of the two products counts, so scores of pairs that come to rest
// within the sequence are computed one pair at a time: tokens² · pairs of them in memory.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>

#include "lab/encodings/encoding.hpp"
#include "rotary/rotations.hpp"

namespace rotary::lab {

struct AngleClip {
  std::shared_ptr<const Rotations> turning;  // of queries and keys, by their positions
  std::shared_ptr<const Rotations> before;   // of queries: every pair by the largest angle
  std::shared_ptr<const Rotations> after;    // the other way, towards keys that stand after
  at::Tensor resting_features;  // [pairs · 2] of those that come to rest, a pair's two in a row
  at::Tensor other_features;    // all that are left of a head
  at::Tensor turns;             // [pairs, tokens, tokens], bool: where the pair still turns
  at::Tensor is_before;         // [tokens, tokens], bool: the key, of the query
};

[[nodiscard]] std::shared_ptr<const AngleClip> make_angle_clip(const ClippedAngleEncoding& encoding,
                                                               std::int64_t tokens,
                                                               at::ScalarType dtype);

// q·k, [batch, heads, tokens, tokens], of unrotated q and k [batch, tokens, heads, features].
[[nodiscard]] at::Tensor clipped_angle_scores(const at::Tensor& q, const at::Tensor& k,
                                              const AngleClip& clip);

}  // namespace rotary::lab

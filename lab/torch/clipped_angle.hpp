// SPDX-License-Identifier: Apache-2.0
// Scores of rotary pairs whose relative angle stops at a limit: ClippedAngle (position_maps.hpp),
// differentiable by torch. Up to the limit, a pair's scores are products of queries and keys
// rotated by position. Beyond it, they are products of queries rotated by the limit and unrotated
// keys. A pair that stops within the sequence needs both products: tokens² numbers per pair.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>

#include "lab/encodings/encoding.hpp"
#include "rotary/rotations.hpp"

namespace rotary::lab {

struct AngleClip {
  std::shared_ptr<const Rotations> turning;  // of queries and keys by position
  std::shared_ptr<const Rotations> before;   // of queries: every pair by the largest angle
  std::shared_ptr<const Rotations> after;    // backwards, for keys after the query
  at::Tensor resting_features;               // [pairs · 2] of pairs that stop, pair after pair
  at::Tensor other_features;                 // the head's other features
  at::Tensor turns;      // [pairs, tokens, tokens], bool: where the pair has not stopped
  at::Tensor is_before;  // [tokens, tokens], bool: the key precedes the query
};

[[nodiscard]] std::shared_ptr<const AngleClip> make_angle_clip(const ClippedAngleEncoding& encoding,
                                                               std::int64_t tokens,
                                                               at::ScalarType dtype);

// q·k [batch, heads, tokens, tokens] for unrotated q and k [batch, tokens, heads, features].
[[nodiscard]] at::Tensor clipped_angle_scores(const at::Tensor& q, const at::Tensor& k,
                                              const AngleClip& clip);

}  // namespace rotary::lab

// SPDX-License-Identifier: Apache-2.0
// Scores of rotary pairs that stop turning at an angle: ClippedAngle (position_maps.hpp),
// differentiable by torch. A stopped pair has the same angle at every distance. Its part of the
// scores is a product of queries rotated by that angle and unrotated keys. The distance decides
// which product counts. Pairs that stop within the sequence are computed one at a time, since all
// tokens² · pairs products at once would take much memory.
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
  at::Tensor resting_features;  // [pairs · 2] of pairs that stop, two in a row for each
  at::Tensor other_features;    // the head's other features
  at::Tensor turns;             // [pairs, tokens, tokens], bool: where the pair still turns
  at::Tensor is_before;         // [tokens, tokens], bool: the key precedes the query
};

[[nodiscard]] std::shared_ptr<const AngleClip> make_angle_clip(const ClippedAngleEncoding& encoding,
                                                               std::int64_t tokens,
                                                               at::ScalarType dtype);

// q·k [batch, heads, tokens, tokens] for unrotated q and k [batch, tokens, heads, features].
[[nodiscard]] at::Tensor clipped_angle_scores(const at::Tensor& q, const at::Tensor& k,
                                              const AngleClip& clip);

}  // namespace rotary::lab

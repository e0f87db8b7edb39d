// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/clipped_angle.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "lab/torch/functions.hpp"
#include "lab/torch/positions.hpp"
#include "lab/torch/views.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::lab {
namespace {

using cli::value_or_fail;

std::shared_ptr<const Rotations> rotations_at(const Frequencies& frequencies,
                                              const rotary::Positions& positions,
                                              at::ScalarType dtype) {
  const RotationsOptions options{.rows = dtype == at::kDouble ? RowDType::f64 : RowDType::f32};
  return std::make_shared<const Rotations>(
      value_or_fail(make_rotations(frequencies, positions, options)));
}

// Returns [batch, heads, pairs, tokens, 2].
at::Tensor pairs_of(const at::Tensor& heads, const at::Tensor& features) {
  const auto chosen = heads.index_select(-1, features);
  return chosen.view({chosen.size(0), chosen.size(1), chosen.size(2), -1, 2}).transpose(2, 3);
}

at::Tensor products(const at::Tensor& q, const at::Tensor& k) {
  return at::matmul(q, k.transpose(-1, -2));
}

}  // namespace

std::shared_ptr<const AngleClip> make_angle_clip(const ClippedAngleEncoding& encoding,
                                                 std::int64_t tokens, at::ScalarType dtype) {
  const Frequencies frequencies = value_or_fail(make_frequencies(encoding.spec, tokens));
  const HeadWindow& window = frequencies.window;
  const double limit = encoding.max_angle;
  std::vector<std::int64_t> resting;
  std::vector<double> angles;
  const auto positions = at::arange(tokens, at::TensorOptions().dtype(at::kDouble));
  const auto distances = positions.unsqueeze(1) - positions;
  std::vector<at::Tensor> turns;
  for (std::int64_t pair = 0; pair < window.pairs(); ++pair) {
    const double inv_freq = frequencies.inv_freq[static_cast<std::size_t>(pair)];
    angles.push_back(std::copysign(limit, inv_freq));
    if (static_cast<double>(tokens - 1) * std::abs(inv_freq) < limit) continue;
    for (const std::int64_t feature : features_of(window, pair)) resting.push_back(feature);
    turns.push_back(distances.abs() * std::abs(inv_freq) < limit);
  }
  std::vector<std::int64_t> others;
  for (std::int64_t feature = 0; feature < window.head_dim; ++feature)
    if (std::ranges::find(resting, feature) == resting.end()) others.push_back(feature);
  const std::vector<std::int64_t> ones(static_cast<std::size_t>(tokens), 1);
  const std::vector<std::int64_t> minus_ones(static_cast<std::size_t>(tokens), -1);
  // Keys of stopped pairs are unrotated, so their queries get both attention factors.
  const double factor = frequencies.attention_factor * frequencies.attention_factor;
  const Frequencies at_rest = value_or_fail(make_frequencies(window, angles, factor));
  AngleClip clip{
      .turning = rotations_at(frequencies, ConsecutivePositions{.tokens = tokens}, dtype),
      .before = rotations_at(at_rest, positions_of(ones), dtype),
      .after = rotations_at(at_rest, positions_of(minus_ones), dtype),
      .resting_features = torch::tensor(resting, at::kLong).to(device()),
      .other_features = torch::tensor(others, at::kLong).to(device()),
      .turns =
          turns.empty() ? at::empty({0, tokens, tokens}, at::kBool) : at::stack(turns).to(device()),
      .is_before = (distances > 0).to(device())};
  return std::make_shared<const AngleClip>(std::move(clip));
}

at::Tensor clipped_angle_scores(const at::Tensor& q, const at::Tensor& k, const AngleClip& clip) {
  const auto turned_q = rotate_heads(q, clip.turning);
  const auto turned_k = rotate_heads(k, clip.turning);
  const auto scores = products(turned_q.index_select(-1, clip.other_features),
                               turned_k.index_select(-1, clip.other_features));
  if (clip.turns.size(0) == 0) return scores;
  const auto of_pairs = [&](const at::Tensor& heads) {
    return pairs_of(heads, clip.resting_features);
  };
  const auto near = products(of_pairs(turned_q), of_pairs(turned_k));
  const auto still_k = of_pairs(k.transpose(1, 2));
  const auto far_before = products(of_pairs(rotate_heads(q, clip.before)), still_k);
  const auto far_after = products(of_pairs(rotate_heads(q, clip.after)), still_k);
  const auto far = at::where(clip.is_before, far_before, far_after);
  return scores + at::where(clip.turns, near, far).sum(2);
}

}  // namespace rotary::lab

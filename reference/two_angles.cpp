// SPDX-License-Identifier: Apache-2.0
#include "reference/two_angles.hpp"

namespace rotary::reference {
namespace {

// The features that the sines multiply: rotate_half(x), or stack((-x[1::2], x[::2])).flatten().
std::vector<long double> partners(std::span<const long double> x, Pairing pairing) {
  std::vector<long double> of;
  const std::size_t half = x.size() / 2;
  for (std::size_t f = 0; f < x.size(); ++f) {
    if (pairing == Pairing::half) {
      of.push_back(f < half ? -x[half + f] : x[f - half]);
    } else {
      of.push_back(f % 2 == 0 ? -x[f + 1] : x[f - 1]);
    }
  }
  return of;
}

}  // namespace

std::vector<FeatureSource> hunyuan_vl_features(std::int64_t head_dim,
                                               std::span<const std::int64_t> sections) {
  std::vector<FeatureSource> emb;
  for (int repeated = 0; repeated < 2; ++repeated)
    for (std::int64_t place = 0; place < head_dim; place += 2)
      emb.push_back(
          {.exponent = -static_cast<long double>(place) / static_cast<long double>(head_dim)});
  auto at = emb.begin();
  for (std::size_t axis = 0; axis < sections.size(); ++axis)
    for (std::int64_t i = 0; i < 2 * sections[axis]; ++i)
      (at++)->axis = static_cast<std::int64_t>(axis);
  return emb;
}

std::vector<FeatureSource> vjepa2_features(std::int64_t head_dim) {
  const std::int64_t part = 2 * ((head_dim / 3) / 2);
  std::vector<FeatureSource> emb;
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    for (int repeated = 0; repeated < 2; ++repeated) {
      for (std::int64_t i = 0; i < part / 2; ++i) {
        const long double omega =
            static_cast<long double>(i) / (static_cast<long double>(part) / 2);
        emb.push_back({.axis = axis, .exponent = -omega});
      }
    }
  }
  return emb;
}

void turn_by_two_angles(std::span<long double> head, const HeadWindow& window,
                        std::span<const CosSin> of_features) {
  const auto x = head.subspan(static_cast<std::size_t>(window.first_feature), of_features.size());
  const std::vector<long double> other = partners(x, window.pairing.get());
  for (std::size_t f = 0; f < x.size(); ++f)
    x[f] = x[f] * of_features[f].cos + other[f] * of_features[f].sin;
}

}  // namespace rotary::reference

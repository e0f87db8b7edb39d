// SPDX-License-Identifier: Apache-2.0
// Drops the oldest tokens except the first few from a full KV cache. Rotates the remaining keys to
// their new positions, first in a contiguous cache, then in pages.
// Run: context_shift
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "rotary/rotary.hpp"

namespace {

constexpr std::int64_t heads = 2;
constexpr std::int64_t head_dim = 64;
constexpr std::int64_t token_size = heads * head_dim;
constexpr std::int64_t kept = 4;      // tokens 0 to 3 stay
constexpr std::int64_t dropped = 8;   // tokens 4 to 11 go
constexpr std::int64_t context = 20;  // tokens 12 to 19 become 4 to 11

int report(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

rotary::HeadsView view_of(float* keys, std::int64_t batch, std::int64_t tokens) {
  const rotary::Extents extents{
      .batch = batch, .tokens = tokens, .heads = heads, .features = head_dim};
  return {keys, rotary::DType::f32, extents, strides_bthd(extents)};
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < b.size(); ++i)
    largest = std::max(largest, std::fabs(1.0 * a[i] - b[i]));
  return largest;
}

}  // namespace

int main() {
  const auto frequencies = rotary::make_frequencies(
      {.head_dim = head_dim, .base = 10000.0, .pairing = rotary::Pairing::half});
  if (!frequencies) return report(frequencies.error().message);
  const auto at = [&](std::int64_t first, std::int64_t tokens) {
    return rotary::RotatedAt{*frequencies,
                             rotary::ConsecutivePositions{.first = first, .tokens = tokens}};
  };

  // The model's keys, rotated into a cache.
  std::vector<float> projected(context * token_size);
  for (std::size_t i = 0; i < projected.size(); ++i)
    projected[i] = std::sin(0.1F * static_cast<float>(i));
  std::vector<float> cache = projected;
  const auto all = make_rotations(*frequencies, at(0, context).positions);
  if (!all) return report(all.error().message);
  const auto cached = view_of(cache.data(), 1, context);
  if (auto status = rotate(cached, cached, *all); !status) return report(status.error().message);
  const std::vector<float> full = cache;

  // A contiguous cache. The rotations are made once for the caches of all layers.
  constexpr std::int64_t moved = context - kept - dropped;
  const auto back = make_shift(at(kept + dropped, moved), at(kept, moved));
  if (!back) return report(back.error().message);
  float* const rest = cache.data() + (kept + dropped) * token_size;
  if (auto status = shift(view_of(rest, 1, moved), *back); !status) {
    return report(status.error().message);
  }
  cache.erase(cache.begin() + kept * token_size, cache.begin() + (kept + dropped) * token_size);

  // The expected keys: the same tokens, rotated at their new positions.
  std::vector<float> fresh = projected;
  fresh.erase(fresh.begin() + kept * token_size, fresh.begin() + (kept + dropped) * token_size);
  const auto now = make_rotations(*frequencies, at(0, kept + moved).positions);
  if (!now) return report(now.error().message);
  const auto expected = view_of(fresh.data(), 1, kept + moved);
  if (auto status = rotate(expected, expected, *now); !status) {
    return report(status.error().message);
  }
  const bool same = largest_difference(cache, fresh) < 1e-6;
  std::printf("tokens 12 to 19 moved to 4 to 11: %s\n", same ? "as if rotated there" : "wrong");

  // Pages of 4 slots are batch rows. Page 0 stays. Tokens 12 to 19 stay in pages 3 and 4.
  std::vector<float> pages = full;
  const std::array<std::int64_t, 8> old_places = {12, 13, 14, 15, 16, 17, 18, 19};
  const std::array<std::int64_t, 8> new_places = {4, 5, 6, 7, 8, 9, 10, 11};
  const auto status = shift(view_of(pages.data() + token_size * 4 * 3, 2, 4),
                            {*frequencies, rotary::positions_of(old_places, 2)},
                            {*frequencies, rotary::positions_of(new_places, 2)});
  if (!status) return report(status.error().message);
  pages.erase(pages.begin() + 4 * token_size, pages.begin() + 12 * token_size);
  std::printf("the same in pages: %s\n", pages == cache ? "the same bits" : "other bits");
  return same && pages == cache ? 0 : 1;
}

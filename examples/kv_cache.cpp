// SPDX-License-Identifier: Apache-2.0
// A server's paged KV cache: stores a prompt and a decode step in the sequence's pages. append()
// normalises keys, rotates them and rounds them to bf16 in one pass.
// Run: kv_cache
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "rotary/rotary.hpp"

namespace {

using rotary::DType, rotary::Extents;
constexpr std::int64_t heads = 2, head_dim = 64, page_size = 4;
constexpr double base = 10000;

int report(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// The block table puts the first four tokens in page 6, the next four in page 1.
std::int64_t slot_of(std::int64_t position) {
  constexpr std::array<std::int64_t, 2> block_table = {6, 1};
  return block_table.at(static_cast<std::size_t>(position / page_size)) * page_size +
         position % page_size;
}

// Stores one token per slot, from position `first` on. Every feature of a key is 3, and 1 after the
// norm. Every feature of a value is `first`.
rotary::Status store(const rotary::KvCache& cache, const rotary::Frequencies& frequencies,
                     std::int64_t first, const std::vector<std::int64_t>& slots) {
  const auto tokens = static_cast<std::int64_t>(slots.size());
  const Extents n{.tokens = tokens, .heads = heads, .features = head_dim};
  std::vector<float> k(static_cast<std::size_t>(tokens * heads * head_dim), 3);
  std::vector<float> v(k.size(), static_cast<float>(first));
  const auto rotations =
      make_rotations(frequencies, rotary::ConsecutivePositions{.first = first, .tokens = tokens});
  if (!rotations) return rotations.error();
  const rotary::HeadNorm norm{.epsilon = 1e-6, .over = rotary::NormOver::each_head};
  return append(cache,
                {.k = {k.data(), DType::f32, n, strides_bthd(n)},
                 .v = {{v.data(), DType::f32, n, strides_bthd(n)}}},
                rotary::slots_of(slots),
                {.rotations = &*rotations,
                 .k_norm = {{.norm = norm, .order = rotary::NormOrder::before_rotation}}});
}

float widened(std::uint16_t bf16) { return std::bit_cast<float>(std::uint32_t{bf16} << 16); }

// Whether each pair of the key is (1, 1) rotated by position * frequency.
bool is_rotated(const std::uint16_t* key, std::int64_t position) {
  double farthest = 0;
  for (std::int64_t i = 0; i < head_dim / 2; ++i) {
    const double frequency = std::pow(base, -2.0 * static_cast<double>(i) / head_dim);
    const double angle = static_cast<double>(position) * frequency;
    const double x = std::cos(angle) - std::sin(angle), y = std::cos(angle) + std::sin(angle);
    farthest = std::fmax(farthest, std::abs(widened(key[i]) - x));
    farthest = std::fmax(farthest, std::abs(widened(key[i + head_dim / 2]) - y));
  }
  return farthest < 0.004;  // half a bf16 ulp is 0.0039 from 1 to 2
}

}  // namespace

int main() {
  const auto frequencies = rotary::make_frequencies(
      {.head_dim = head_dim, .base = base, .pairing = rotary::Pairing::half});
  if (!frequencies) return report(frequencies.error().message);

  // [pages, page_size, heads, head_dim] in bf16; strides_bhtd would make it FlashInfer's HND.
  const Extents pages{.batch = 8, .tokens = page_size, .heads = heads, .features = head_dim};
  std::vector<std::uint16_t> k(static_cast<std::size_t>(8 * page_size * heads * head_dim));
  std::vector<std::uint16_t> v(k.size());
  const rotary::KvCache cache{.k = {k.data(), DType::bf16, pages, strides_bthd(pages)},
                              .v = {{v.data(), DType::bf16, pages, strides_bthd(pages)}}};

  const std::vector<std::int64_t> prompt = {slot_of(0), slot_of(1), slot_of(2),
                                            slot_of(3), slot_of(4), -1};  // -1: padding, not stored
  if (auto status = store(cache, *frequencies, 0, prompt); !status)
    return report(status.error().message);
  if (auto status = store(cache, *frequencies, 5, {slot_of(5)}); !status)
    return report(status.error().message);

  for (std::int64_t position = 0; position < 6; ++position) {
    const auto at = static_cast<std::size_t>(slot_of(position) * heads * head_dim);
    std::printf("position %d in slot %2d: k[0] %6.3f, v[0] %g\n", static_cast<int>(position),
                static_cast<int>(slot_of(position)), double{widened(k[at])},
                double{widened(v[at])});
    for (std::int64_t head = 0; head < heads; ++head)
      if (!is_rotated(&k[at + static_cast<std::size_t>(head * head_dim)], position))
        return report("not the key of this position");
  }
  const auto refused = store(cache, *frequencies, 6, {slot_of(5), slot_of(5)});
  std::printf("%s\n", refused ? "stored twice" : refused.error().message.c_str());
}

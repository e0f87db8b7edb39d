// SPDX-License-Identifier: Apache-2.0
// A paged KV cache of a server: a prompt and a decode step, keys with a QK-norm, rotated and
// rounded to bf16 on their way into the pages that the sequence was given. Run: kv_cache
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "rotary/rotary.hpp"

namespace {

constexpr std::int64_t heads = 2;
constexpr std::int64_t head_dim = 64;
constexpr std::int64_t page_size = 4;

int report(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// Every key is 3 in each feature: 1 when it is normalised.
rotary::Status store(const rotary::KvCache& cache, const rotary::Frequencies& frequencies,
                     std::int64_t first_position, const std::vector<std::int64_t>& slots) {
  const auto tokens = static_cast<std::int64_t>(slots.size());
  const rotary::Extents n{.tokens = tokens, .heads = heads, .features = head_dim};
  std::vector<float> k(static_cast<std::size_t>(tokens * heads * head_dim), 3);
  std::vector<float> v(k.size(), static_cast<float>(first_position));
  const auto rotations = make_rotations(
      frequencies, rotary::ConsecutivePositions{.first = first_position, .tokens = tokens});
  if (!rotations) return rotations.error();
  const rotary::HeadNorm norm{.epsilon = 1e-6, .over = rotary::NormOver::each_head};
  return append(cache,
                {.k = {k.data(), rotary::DType::f32, n, strides_bthd(n)},
                 .v = {{v.data(), rotary::DType::f32, n, strides_bthd(n)}}},
                rotary::slots_of(slots), *rotations,
                {.k_norm = {{.norm = norm, .order = rotary::NormOrder::before_rotation}}});
}

}  // namespace

int main() {
  const auto frequencies = rotary::make_frequencies(
      {.head_dim = head_dim, .base = 10000.0, .pairing = rotary::Pairing::half});
  if (!frequencies) return report(frequencies.error().message);

  // [pages, page_size, heads, head_dim] in bf16; with strides_bhtd it would be FlashInfer's HND.
  const rotary::Extents pages{
      .batch = 8, .tokens = page_size, .heads = heads, .features = head_dim};
  const std::int64_t page = strides_bthd(pages).batch;
  std::vector<std::uint16_t> k(static_cast<std::size_t>(pages.batch * page));
  std::vector<std::uint16_t> v(k.size());
  const rotary::KvCache cache{.k = {k.data(), rotary::DType::bf16, pages, strides_bthd(pages)},
                              .v = {{v.data(), rotary::DType::bf16, pages, strides_bthd(pages)}}};

  // The sequence's block table: its first four tokens are in page 6, the next in page 1.
  constexpr std::array<std::int64_t, 2> block_table = {6, 1};
  const auto slot_of = [&](std::int64_t token) {
    return block_table.at(static_cast<std::size_t>(token / page_size)) * page_size +
           token % page_size;
  };
  std::vector<std::int64_t> prompt;
  for (std::int64_t token = 0; token < 5; ++token) prompt.push_back(slot_of(token));
  prompt.push_back(-1);  // padding: not stored
  if (auto status = store(cache, *frequencies, 0, prompt); !status)
    return report(status.error().message);
  if (auto status = store(cache, *frequencies, 5, {slot_of(5)}); !status)
    return report(status.error().message);

  for (std::int64_t token = 0; token < 6; ++token) {
    const auto at = static_cast<std::size_t>(slot_of(token) * heads * head_dim);
    const auto key = std::bit_cast<float>(std::uint32_t{k.at(at)} << 16);
    const auto value = std::bit_cast<float>(std::uint32_t{v.at(at)} << 16);
    std::printf("token %d in slot %d: k[0] %.3f, v[0] %g\n", static_cast<int>(token),
                static_cast<int>(slot_of(token)), double{key}, double{value});
    const double angle = 1.0 * static_cast<double>(token);  // pair 0 turns 1 radian a token
    if (std::abs(key - (std::cos(angle) - std::sin(angle))) > 0.004)
      return report("more than half a unit of bf16 off");
  }
  const auto refused = store(cache, *frequencies, 6, {slot_of(5), slot_of(5)});
  std::printf("%s\n", refused ? "stored twice" : refused.error().message.c_str());
}

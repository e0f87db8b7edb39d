// SPDX-License-Identifier: Apache-2.0
// A context shift in a paged cache: keeps the first 4 tokens and drops 100. Rotates the others and
// moves them to the slots of their new positions. Pages of 16 slots may be anywhere in the pool.
// Since 100 is no multiple of 16, tokens also change slots within pages.
// Run: scattered_pages
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rotary/rotary.hpp"

namespace {

constexpr std::int64_t page_size = 16;
constexpr std::int64_t kept = 4;
constexpr std::int64_t dropped = 100;
constexpr std::int64_t context = 250;
constexpr rotary::Extents page_extents{.tokens = page_size, .heads = 2, .features = 64};
constexpr std::int64_t token_elements = page_extents.heads * page_extents.features;

// Keys in pages, [pages, page_size, heads, features]. block_table: the pages of one sequence.
struct PagedKeys {
  std::vector<float> pool;
  std::vector<std::int64_t> block_table;
};

// `tokens` slots of one page, starting at the slot of `position`.
rotary::HeadsView part(PagedKeys& keys, std::int64_t position, std::int64_t tokens) {
  const std::int64_t page = keys.block_table[static_cast<std::size_t>(position / page_size)];
  const std::int64_t slot = page * page_size + position % page_size;
  rotary::Extents extents = page_extents;
  extents.tokens = tokens;
  return {.data = keys.pool.data() + slot * token_elements,
          .dtype = rotary::DType::f32,
          .extents = extents,
          .strides = strides_bthd(page_extents)};
}

// Shifts for 0 to page_size tokens. They depend only on distance, so they serve all positions.
rotary::Result<std::vector<rotary::Rotations>> shifts(const rotary::Frequencies& frequencies) {
  std::vector<rotary::Rotations> of_tokens;
  for (std::int64_t tokens = 0; tokens <= page_size; ++tokens) {
    auto shift = rotary::make_shift(
        {frequencies, rotary::ConsecutivePositions{.first = kept + dropped, .tokens = tokens}},
        {frequencies, rotary::ConsecutivePositions{.first = kept, .tokens = tokens}});
    if (!shift) return shift.error();
    of_tokens.push_back(*std::move(shift));
  }
  return of_tokens;
}

// Moves keys in order, so that none is overwritten before its move. Values would only be copied.
rotary::Status drop_tokens(PagedKeys& keys, const std::vector<rotary::Rotations>& of_tokens) {
  for (std::int64_t to = kept; to + dropped < context;) {
    const std::int64_t from = to + dropped;
    const std::int64_t tokens =
        std::min({page_size - to % page_size, page_size - from % page_size, context - from});
    auto status = rotary::rotate(part(keys, to, tokens), part(keys, from, tokens),
                                 of_tokens[static_cast<std::size_t>(tokens)]);
    if (!status) return status;
    to += tokens;
  }
  return {};
}

// Stores keys that depend on `first + t`, rotated at position t.
rotary::Status fill(PagedKeys& keys, const rotary::Frequencies& frequencies, std::int64_t first,
                    std::int64_t begin, std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t) {
    const rotary::HeadsView token = part(keys, t, 1);
    for (std::int64_t i = 0; i < token_elements; ++i) {
      static_cast<float*>(token.data)[i] =
          std::sin(static_cast<float>((first + t) * token_elements + i));
    }
    const auto rotations =
        make_rotations(frequencies, rotary::ConsecutivePositions{.first = t, .tokens = 1});
    if (!rotations) return rotations.error();
    if (auto status = rotary::rotate(token, token, *rotations); !status) return status;
  }
  return {};
}

rotary::Status run() {
  const auto frequencies = rotary::make_frequencies(rotary::RotarySpec{
      .head_dim = 64, .rotary_dim = 64, .base = 1e6, .pairing = rotary::Pairing::half});
  if (!frequencies) return frequencies.error();
  PagedKeys keys{.pool = std::vector<float>(32 * page_size * token_elements),
                 .block_table = {9, 3, 30, 1, 22, 17, 4, 28, 11, 0, 25, 14, 7, 19, 2, 12}};
  if (auto status = fill(keys, *frequencies, 0, 0, context); !status) return status;
  const auto of_tokens = shifts(*frequencies);
  if (!of_tokens) return of_tokens.error();
  if (auto status = drop_tokens(keys, *of_tokens); !status) return status;

  // A cache that never held the dropped tokens.
  PagedKeys expected{.pool = std::vector<float>(keys.pool.size()), .block_table = keys.block_table};
  if (auto status = fill(expected, *frequencies, 0, 0, kept); !status) return status;
  if (auto status = fill(expected, *frequencies, dropped, kept, context - dropped); !status) {
    return status;
  }
  float largest = 0;
  for (std::int64_t t = 0; t < context - dropped; ++t) {
    const auto* const moved = static_cast<const float*>(part(keys, t, 1).data);
    const auto* const rotated = static_cast<const float*>(part(expected, t, 1).data);
    for (std::int64_t i = 0; i < token_elements; ++i) {
      largest = std::max(largest, std::abs(moved[i] - rotated[i]));
    }
  }
  std::printf("%lld tokens in their new slots; as if rotated there at once: %s\n",
              static_cast<long long>(context - dropped), largest < 1e-6F ? "yes" : "no");
  return {};
}

}  // namespace

int main() {
  const auto status = run();
  if (!status) std::printf("%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}

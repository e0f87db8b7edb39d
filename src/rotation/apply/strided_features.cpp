// SPDX-License-Identifier: Apache-2.0
#include "rotation/apply/strided_features.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace rotary {
namespace {

// Pairs [pair, pair + count) of one head, gathered into a small head with order halves.
struct Block {
  std::int64_t pair;
  std::int64_t count;
};

// The feature of the head for feature `slot` of the gathered block.
std::int64_t feature_of(FeatureOrder order, std::int64_t pairs, const Block& block,
                        std::int64_t slot) {
  const bool second = slot >= block.count;
  const std::int64_t pair = block.pair + (second ? slot - block.count : slot);
  if (order == FeatureOrder::neighbours) return 2 * pair + (second ? 1 : 0);
  return second ? pairs + pair : pair;
}

void rotate_block(const StridedRotation& rotation, std::int64_t token, std::int64_t head,
                  const Block& block) {
  alignas(64) std::array<std::byte, 2 * strided_pairs_at_once * sizeof(double)> buffer;
  const auto& job = rotation.job;
  const std::int64_t size = rotation.element_bytes;
  const auto* const src = static_cast<const std::byte*>(job.src) +
                          (token * job.src_token_stride + head * job.src_head_stride) * size;
  auto* const dst = static_cast<std::byte*>(job.dst) +
                    (token * job.dst_token_stride + head * job.dst_head_stride) * size;
  const auto bytes = static_cast<std::size_t>(size);
  for (std::int64_t slot = 0; slot < 2 * block.count; ++slot) {
    const std::int64_t feature = feature_of(rotation.order.read, job.pairs, block, slot);
    std::memcpy(buffer.data() + slot * size, src + feature * rotation.src_feature_stride * size,
                bytes);
  }
  auto gathered = job;
  gathered.src = buffer.data();
  gathered.dst = buffer.data();
  gathered.tokens = 1;
  gathered.heads = 1;
  gathered.pairs = block.count;
  gathered.rows = static_cast<const std::byte*>(job.rows) +
                  (token * job.row_stride + block.pair) * rotation.row_element_bytes;
  rotation.kernel_of_halves(gathered);
  for (std::int64_t slot = 0; slot < 2 * block.count; ++slot) {
    const std::int64_t feature = feature_of(rotation.order.written, job.pairs, block, slot);
    std::memcpy(dst + feature * rotation.dst_feature_stride * size, buffer.data() + slot * size,
                bytes);
  }
}

}  // namespace

void rotate_strided_features(const StridedRotation& rotation) noexcept {
  const auto& job = rotation.job;
  for (std::int64_t token = 0; token < job.tokens; ++token) {
    for (std::int64_t head = 0; head < job.heads; ++head) {
      for (std::int64_t pair = 0; pair < job.pairs; pair += strided_pairs_at_once) {
        rotate_block(rotation, token, head,
                     {.pair = pair, .count = std::min(strided_pairs_at_once, job.pairs - pair)});
      }
    }
  }
}

}  // namespace rotary

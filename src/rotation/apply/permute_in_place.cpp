// SPDX-License-Identifier: Apache-2.0
// Heads of up to 256 pairs, as many as any model has, are rotated into a buffer and copied back.
// Rotating in place and then moving features one by one took eight times as long. A longer head is
// rotated in blocks of 256 pairs, each of two halves, [x0 y0 | x1 y1 | …]. Exchanges of adjacent
// runs convert between these blocks and the two halves of the head.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "rotation/apply/strided_features.hpp"

namespace rotary {
namespace {

constexpr std::int64_t block_pairs = strided_pairs_at_once;

// The rotated features of one head. Element i is at first + i * step bytes.
struct HeadElements {
  std::byte* first;
  std::int64_t step;
  std::size_t bytes;  // per element, at most 8

  [[nodiscard]] std::byte* at(std::int64_t feature) const { return first + feature * step; }

  void reverse(std::int64_t begin, std::int64_t end) const {
    std::array<std::byte, sizeof(double)> held;
    for (; begin < --end; ++begin) {  // a middle element stays
      std::memcpy(held.data(), at(begin), bytes);
      std::memcpy(at(begin), at(end), bytes);
      std::memcpy(at(end), held.data(), bytes);
    }
  }

  // Exchanges [begin, middle) and [middle, end).
  void exchange_runs(std::int64_t begin, std::int64_t middle, std::int64_t end) const {
    reverse(begin, middle);
    reverse(middle, end);
    reverse(begin, end);
  }

  [[nodiscard]] HeadElements from(std::int64_t feature) const { return {at(feature), step, bytes}; }
};

// Number of pairs in the first half of the blocks, rounded down to whole blocks.
std::int64_t left_pairs(std::int64_t pairs) {
  const std::int64_t blocks = (pairs + block_pairs - 1) / block_pairs;
  return blocks / 2 * block_pairs;
}

// Permutes [x0 y0 | x1 y1 | …] to [x0 x1 … | y0 y1 …]. The recursion has a depth of at most 7.
void blocks_to_halves(const HeadElements& head, std::int64_t pairs) {
  if (pairs <= block_pairs) return;
  const std::int64_t left = left_pairs(pairs);
  const std::int64_t right = pairs - left;
  blocks_to_halves(head, left);
  blocks_to_halves(head.from(2 * left), right);
  head.exchange_runs(left, 2 * left, 2 * left + right);
}

void halves_to_blocks(const HeadElements& head, std::int64_t pairs) {
  if (pairs <= block_pairs) return;
  const std::int64_t left = left_pairs(pairs);
  const std::int64_t right = pairs - left;
  head.exchange_runs(left, pairs, pairs + left);
  halves_to_blocks(head, left);
  halves_to_blocks(head.from(2 * left), right);
}

// Rotates the heads of one token, several at a time. Requires adjacent features.
void rotate_through_buffer(const kernels::RotateJob& job, kernels::Rotate kernel,
                           std::int64_t element_bytes) {
  alignas(64) std::array<std::byte, 4 * block_pairs * sizeof(double)> buffer;
  const std::int64_t features = 2 * job.pairs;
  const std::int64_t head_bytes = features * element_bytes;
  const std::int64_t heads_at_once = static_cast<std::int64_t>(buffer.size()) / head_bytes;
  for (std::int64_t head = 0; head < job.heads; head += heads_at_once) {
    auto* const place =
        static_cast<std::byte*>(job.dst) + head * job.dst_head_stride * element_bytes;
    auto buffered = job;
    buffered.heads = std::min(heads_at_once, job.heads - head);
    buffered.src = place;
    buffered.dst = buffer.data();
    buffered.dst_head_stride = features;
    buffered.dst_token_stride = buffered.heads * features;
    kernel(buffered);
    for (std::int64_t h = 0; h < buffered.heads; ++h) {
      std::memcpy(place + h * job.dst_head_stride * element_bytes, buffer.data() + h * head_bytes,
                  static_cast<std::size_t>(head_bytes));
    }
  }
}

// The rotation of the block that begins at `pair`, in all heads of one token.
StridedRotation block_of(const StridedRotation& rotation, std::int64_t token, std::int64_t pair) {
  StridedRotation block = rotation;
  auto& job = block.job;
  const std::int64_t elements =
      token * job.dst_token_stride + 2 * pair * rotation.dst_feature_stride;
  job.dst = static_cast<std::byte*>(job.dst) + elements * rotation.element_bytes;
  job.src = job.dst;
  job.rows = static_cast<const std::byte*>(job.rows) +
             (token * job.row_stride + pair) * rotation.row_element_bytes;
  job.tokens = 1;
  job.pairs = std::min(block_pairs, job.pairs - pair);
  return block;
}

template <class Change>
void for_each_head(const StridedRotation& rotation, std::int64_t token, Change change) {
  const auto& job = rotation.job;
  const std::int64_t size = rotation.element_bytes;
  for (std::int64_t h = 0; h < job.heads; ++h) {
    const std::int64_t element = token * job.dst_token_stride + h * job.dst_head_stride;
    change({.first = static_cast<std::byte*>(job.dst) + element * size,
            .step = rotation.dst_feature_stride * size,
            .bytes = static_cast<std::size_t>(size)},
           job.pairs);
  }
}

}  // namespace

void permute_in_place(const StridedRotation& rotation, kernels::Rotate kernel) noexcept {
  const auto& job = rotation.job;
  for (std::int64_t token = 0; token < job.tokens; ++token) {
    if (rotation.order.read == FeatureOrder::halves) {
      for_each_head(rotation, token, halves_to_blocks);
    }
    for (std::int64_t pair = 0; pair < job.pairs; pair += block_pairs) {
      const StridedRotation block = block_of(rotation, token, pair);
      if (rotation.dst_feature_stride == 1) {
        rotate_through_buffer(block.job, kernel, rotation.element_bytes);
      } else {
        rotate_strided_features(block);
      }
    }
    if (rotation.order.written == FeatureOrder::halves) {
      for_each_head(rotation, token, blocks_to_halves);
    }
  }
}

}  // namespace rotary

// SPDX-License-Identifier: Apache-2.0
// Keys with a norm, and heads to store in 8 bits, go through float32: a few heads of a token at a
// time, in buffers that stay in L1. Numbers are rounded to 16 bits only when they are stored.
#include <algorithm>
#include <array>
#include <cstddef>

#include "attention/cache/head_norm.hpp"
#include "attention/cache/norm_checks.hpp"
#include "attention/cache/token_run.hpp"
#include "kernels/int8_kernels.hpp"

namespace rotary {
namespace {

using Buffer = std::array<float, longest_normalized_head>;

// Heads [first, first + heads) of one token of a run.
struct HeadBlock {
  const HeadsOfToken& token;
  std::int64_t first;
  std::int64_t heads;
};

struct FloatRun {
  const TokenRun& run;
  const KeyNorm* k_norm;       // null: none
  const Rotations* rotations;  // null: none
  const kernels::KernelTable& kernels;
};

// The block's heads in a buffer, one after the other.
HeadsView buffer_view(float* buffer, const HeadBlock& block) {
  return {.data = buffer,
          .dtype = DType::f32,
          .extents = {.tokens = 1, .heads = block.heads, .features = block.token.features},
          .strides = {.head = block.token.features}};
}

// The block's heads in the slot of token `t`.
HeadsView slot_view(const TokenRun& run, std::int64_t t, const HeadBlock& block) {
  HeadsView view = run.transfer.dst;
  const std::int64_t offset = t * view.strides.token + block.first * view.strides.head;
  view.data = static_cast<std::byte*>(view.data) + offset * size_in_bytes(view.dtype);
  view.extents.tokens = 1;
  view.extents.heads = block.heads;
  return view;
}

HeadsOfToken token_at(const TokenRun& run, std::int64_t t) {
  const ConstHeadsView& src = run.transfer.src;
  return {.src = static_cast<const std::byte*>(src.data) +
                 t * src.strides.token * size_in_bytes(src.dtype),
          .head_stride = src.strides.head,
          .heads = src.extents.heads,
          .features = src.extents.features,
          .dtype = src.dtype};
}

// Calls visit(HeadBlock) for all heads of the token, as many at a time as a buffer holds.
template <class Visit>
void for_each_block(const HeadsOfToken& token, Visit visit) {
  const std::int64_t at_once = std::max<std::int64_t>(
      longest_normalized_head / std::max<std::int64_t>(token.features, 1), 1);
  for (std::int64_t first = 0; first < token.heads; first += at_once) {
    visit(HeadBlock{token, first, std::min(at_once, token.heads - first)});
  }
}

TokenRun run_of_one(const FloatRun& of, std::int64_t t, const Transfer& transfer) {
  return {.transfer = transfer, .batch = of.run.batch, .first_token = of.run.first_token + t};
}

// Stores the block's heads from float32, after norm and rotation.
void store_block(const FloatRun& of, std::int64_t t, const HeadBlock& block, float* done) {
  const std::int64_t features = block.token.features;
  if (!of.run.quantized) {
    return store_features({.dst = slot_view(of.run, t, block), .src = buffer_view(done, block)}, 0,
                          features, *of.kernels.cache);
  }
  const QuantizedHeadsView& to = *of.run.quantized;
  for (std::int64_t i = 0; i < block.heads; ++i) {
    const std::int64_t h = block.first + i;
    of.kernels.int8->quantize(
        {.from = done + i * features,
         .to = to.data + t * to.strides.token + h * to.strides.head,
         .features = features,
         .scale = to.scales + t * to.scale_strides.token + h * to.scale_strides.head});
  }
}

void rotate_floats(const FloatRun& of, std::int64_t t, const HeadBlock& block, float* floats,
                   float* rotated) {
  const Transfer transfer{.dst = buffer_view(rotated, block), .src = buffer_view(floats, block)};
  store_rotated(run_of_one(of, t, transfer), *of.rotations, of.kernels);
}

void normalize_then_rotate(const FloatRun& of, std::int64_t t) {
  const HeadsOfToken token = token_at(of.run, t);
  const HeadNorm& norm = of.k_norm->norm;
  const auto& kernels = *of.kernels.cache;
  const float scale_of_all = all_heads_scale(token, norm, kernels);
  for_each_block(token, [&](const HeadBlock& block) {
    alignas(64) Buffer buffer;
    for (std::int64_t i = 0; i < block.heads; ++i) {
      const std::int64_t h = block.first + i;
      const float scale =
          norm.over == NormOver::all_heads ? scale_of_all : head_scale(token, h, norm, kernels);
      scale_features(buffer.data() + i * token.features, token,
                     {.head = h, .begin = 0, .count = token.features, .scale = scale}, &norm,
                     kernels);
    }
    if (of.rotations == nullptr) return store_block(of, t, block, buffer.data());
    if (of.run.quantized) {
      alignas(64) Buffer rotated;
      rotate_floats(of, t, block, buffer.data(), rotated.data());
      return store_block(of, t, block, rotated.data());
    }
    const Transfer transfer{.dst = slot_view(of.run, t, block),
                            .src = buffer_view(buffer.data(), block)};
    store_rotated(run_of_one(of, t, transfer), *of.rotations, of.kernels);
  });
}

void widen_block(const FloatRun& of, const HeadBlock& block, float* floats) {
  for (std::int64_t i = 0; i < block.heads; ++i) {
    scale_features(floats + i * block.token.features, block.token,
                   {.head = block.first + i, .begin = 0, .count = block.token.features, .scale = 1},
                   nullptr, *of.kernels.cache);
  }
}

void rotate_block(const FloatRun& of, std::int64_t t, const HeadBlock& block, float* rotated) {
  alignas(64) Buffer buffer;
  widen_block(of, block, buffer.data());
  rotate_floats(of, t, block, buffer.data(), rotated);
}

HeadsOfToken heads_of(const float* rotated, const HeadBlock& block) {
  return {.src = reinterpret_cast<const std::byte*>(rotated),
          .head_stride = block.token.features,
          .heads = block.heads,
          .features = block.token.features,
          .dtype = DType::f32,
          .first_head = block.first};
}

// A norm over all heads rotates each head twice: once for the mean square, once to store it.
float rotated_scale_of_all(const FloatRun& of, std::int64_t t, const HeadsOfToken& token) {
  double sum = 0;
  for_each_block(token, [&](const HeadBlock& block) {
    alignas(64) Buffer rotated;
    rotate_block(of, t, block, rotated.data());
    const HeadsOfToken heads = heads_of(rotated.data(), block);
    for (std::int64_t h = 0; h < heads.heads; ++h)
      sum += sum_of_squares(heads, h, *of.kernels.cache);
  });
  return norm_scale(sum, token.heads * token.features, of.k_norm->norm.epsilon);
}

void rotate_then_normalize(const FloatRun& of, std::int64_t t) {
  const HeadsOfToken token = token_at(of.run, t);
  const HeadNorm& norm = of.k_norm->norm;
  const auto& kernels = *of.kernels.cache;
  const bool over_all = norm.over == NormOver::all_heads;
  const float scale_of_all = over_all ? rotated_scale_of_all(of, t, token) : 1;
  for_each_block(token, [&](const HeadBlock& block) {
    alignas(64) Buffer rotated;
    rotate_block(of, t, block, rotated.data());
    const HeadsOfToken heads = heads_of(rotated.data(), block);
    for (std::int64_t i = 0; i < heads.heads; ++i) {
      const float scale = over_all ? scale_of_all : head_scale(heads, i, norm, kernels);
      scale_features(rotated.data() + i * heads.features, heads,
                     {.head = i, .begin = 0, .count = heads.features, .scale = scale}, &norm,
                     kernels);
    }
    store_block(of, t, block, rotated.data());
  });
}

void store_as_it_is(const FloatRun& of, std::int64_t t) {
  for_each_block(token_at(of.run, t), [&](const HeadBlock& block) {
    alignas(64) Buffer done;
    if (of.rotations == nullptr) {
      widen_block(of, block, done.data());
    } else {
      rotate_block(of, t, block, done.data());
    }
    store_block(of, t, block, done.data());
  });
}

}  // namespace

void store_through_floats(const TokenRun& run, const KeyNorm* k_norm, const Rotations* rotations,
                          const kernels::KernelTable& kernels) noexcept {
  const bool norm_first = k_norm != nullptr && k_norm->order == NormOrder::before_rotation;
  const auto store = k_norm == nullptr ? store_as_it_is
                     : norm_first      ? normalize_then_rotate
                                       : rotate_then_normalize;
  for (std::int64_t t = 0; t < run.transfer.src.extents.tokens; ++t)
    store({run, k_norm, rotations, kernels}, t);
}

}  // namespace rotary

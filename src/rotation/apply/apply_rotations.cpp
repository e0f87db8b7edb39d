// SPDX-License-Identifier: Apache-2.0
#include "rotation/apply/apply_rotations.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "rotation/apply/pair_order.hpp"
#include "rotation/apply/strided_features.hpp"
#include "rotation/frequencies/recipe.hpp"
#include "runtime/key_fetching.hpp"
#include "runtime/of_dtype.hpp"

namespace rotary {
namespace {

// Rows hold A cos and A sin. The transpose negates the sine. The inverse, R^T / A, negates the sine
// and divides both by A².
void set_scales(Direction direction, double attention_factor, kernels::RotateJob& job) {
  const double scale =
      direction == Direction::inverse ? 1 / (attention_factor * attention_factor) : 1;
  job.cos_scale = scale;
  job.sin_scale = direction == Direction::forward ? 1 : -scale;
}

struct Index {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t head = 0;
  std::int64_t feature = 0;
};

std::int64_t byte_offset(const Strides& strides, const Index& at, DType dtype) {
  return (at.batch * strides.batch + at.token * strides.token + at.head * strides.head +
          at.feature * strides.feature) *
         size_in_bytes(dtype);
}

const std::byte* element(const ConstHeadsView& view, const Index& at) {
  return static_cast<const std::byte*>(view.data) + byte_offset(view.strides, at, view.dtype);
}

std::byte* element(const HeadsView& view, const Index& at) {
  return static_cast<std::byte*>(view.data) + byte_offset(view.strides, at, view.dtype);
}

// Tokens [begin, end) of one batch row.
struct RowPart {
  const Transfer& transfer;
  std::int64_t batch;
  std::int64_t begin;
  std::int64_t end;
};

kernels::RotateJob job_for(const RowPart& part, const Rotations& rotations) {
  const auto& [dst, src] = part.transfer;
  const Index first{
      .batch = part.batch, .token = part.begin, .feature = rotations.window().first_feature};
  const std::int64_t batch_of_rows = rotations.batch() == 1 ? 0 : part.batch;
  return {.src = element(src, first),
          .dst = element(dst, first),
          .src_token_stride = src.strides.token,
          .src_head_stride = src.strides.head,
          .dst_token_stride = dst.strides.token,
          .dst_head_stride = dst.strides.head,
          .tokens = part.end - part.begin,
          .heads = dst.extents.heads,
          .pairs = rotations.window().pairs(),
          .rows = row_of(rotations, batch_of_rows, part.begin),
          .row_stride = rotations.row_stride(),
          .lane_stride = rotations.lane_stride(),
          .cos_scale = 1,
          .sin_scale = 1};
}

void copy_features(const RowPart& part, std::int64_t begin, std::int64_t end) {
  if (begin == end) return;
  const auto& [dst, src] = part.transfer;
  const bool contiguous = src.strides.feature == 1 && dst.strides.feature == 1;
  const std::int64_t run = contiguous ? end - begin : 1;  // features copied at a time
  const auto bytes = static_cast<std::size_t>(run * size_in_bytes(dst.dtype));
  for (std::int64_t t = part.begin; t < part.end; ++t) {
    for (std::int64_t h = 0; h < dst.extents.heads; ++h) {
      for (std::int64_t f = begin; f < end; f += run) {
        const Index at{.batch = part.batch, .token = t, .head = h, .feature = f};
        std::memcpy(element(dst, at), element(src, at), bytes);
      }
    }
  }
}

// Heads per kernel call. The kernel reads them again for each block of pairs, from L1.
constexpr std::int64_t heads_of_one_row = 32;

// Rotates all tokens by one row (row_stride 0), which stays in registers. If all heads are equally
// spaced, the kernel takes them as heads of one token. Otherwise the plain call is fastest if heads
// are closer together than tokens. If not, the kernel takes the tokens of a head as heads.
void turn_by_one_row(const kernels::RotateJob& all, kernels::Rotate kernel,
                     std::int64_t element_bytes) {
  const bool nest = all.tokens == 1 || (all.src_token_stride == all.heads * all.src_head_stride &&
                                        all.dst_token_stride == all.heads * all.dst_head_stride);
  if (!nest && std::abs(all.dst_head_stride) <= std::abs(all.dst_token_stride)) {
    kernel(all);
    return;
  }
  const std::int64_t runs = nest ? 1 : all.heads;
  const std::int64_t count = nest ? all.tokens * all.heads : all.tokens;
  kernels::RotateJob job = all;
  job.tokens = 1;
  job.src_head_stride = nest ? all.src_head_stride : all.src_token_stride;
  job.dst_head_stride = nest ? all.dst_head_stride : all.dst_token_stride;
  for (std::int64_t run = 0; run < runs; ++run) {
    for (std::int64_t begin = 0; begin < count; begin += heads_of_one_row) {
      job.heads = std::min(heads_of_one_row, count - begin);
      const std::int64_t src = run * all.src_head_stride + begin * job.src_head_stride;
      const std::int64_t dst = run * all.dst_head_stride + begin * job.dst_head_stride;
      job.src = static_cast<const std::byte*>(all.src) + src * element_bytes;
      job.dst = static_cast<std::byte*>(all.dst) + dst * element_bytes;
      kernel(job);
    }
  }
}

// Prefetch distance for tensors larger than the caches (docs/decisions.md, 0003).
constexpr std::int64_t fetched_bytes = 4096;

std::int64_t bytes_ahead(const Transfer& transfer, const HeadWindow& window) {
  const Extents& n = transfer.src.extents;
  const std::int64_t elements = n.batch * n.tokens * n.heads * window.rotary_dim;
  if (elements * size_in_bytes(transfer.src.dtype) < bytes_beyond_caches()) return 0;
  const auto fetching = chosen_fetching();
  return fetching && *fetching == kernels::KeyFetching::lines ? fetched_bytes : 0;
}

struct Turning {
  const Rotations& rotations;
  Direction direction;
  const kernels::KernelTable& kernels;
};

bool is_in_place(const Transfer& transfer) {
  return transfer.dst.data == transfer.src.data && transfer.dst.strides == transfer.src.strides;
}

void turn_pairs(const RowPart& part, const Turning& turning) {
  const auto& [dst, src] = part.transfer;
  const auto& [rotations, direction, kernels] = turning;
  const PairOrder order = pair_order(rotations.window().pairing, direction);
  const auto kernel = kernel_for(kernels_for(kernels, order), rotations, dst.dtype);
  auto job = job_for(part, rotations);
  set_scales(direction, rotations.attention_factor(), job);
  job.bytes_ahead = bytes_ahead(part.transfer, rotations.window());
  const bool adjacent = src.strides.feature == 1 && dst.strides.feature == 1;
  const bool reorders_in_place = order.read != order.written && is_in_place(part.transfer);
  const std::int64_t bytes = size_in_bytes(dst.dtype);
  if (adjacent && !reorders_in_place) {
    for_each_block(job, rotations, {bytes, bytes}, [&](const kernels::RotateJob& block) {
      if (block.row_stride == 0) {
        turn_by_one_row(block, kernel, bytes);
      } else {
        kernel(block);
      }
    });
    return;
  }
  StridedRotation strided{
      .job = job,
      .kernel_of_halves = kernel_for(kernels.rotate[1][1], rotations, dst.dtype),
      .order = order,
      .element_bytes = bytes,
      .row_element_bytes = rotations.row_dtype() == RowDType::f64 ? 8 : 4,
      .src_feature_stride = src.strides.feature,
      .dst_feature_stride = dst.strides.feature};
  if (reorders_in_place) {
    permute_in_place(strided, kernel);
    return;
  }
  const ElementBytes steps{bytes * src.strides.feature, bytes * dst.strides.feature};
  for_each_block(job, rotations, steps, [&](const kernels::RotateJob& block) {
    strided.job = block;
    rotate_strided_features(strided);
  });
}

void apply_to_row(const RowPart& part, const Turning& turning) {
  turn_pairs(part, turning);
  if (is_in_place(part.transfer)) return;
  const HeadWindow& window = turning.rotations.window();
  copy_features(part, 0, window.first_feature);
  copy_features(part, window.first_feature + window.rotary_dim, window.head_dim);
}

}  // namespace

kernels::Rotate kernel_for(const kernels::RotateKernels& kernels, const Rotations& rotations,
                           DType dtype) noexcept {
  const bool every_step =
      dtype != DType::f32 && rounds_products(rotations.numerics(), rotations.rounding());
  return of_dtype(every_step ? kernels.every_step : kernels.once, dtype);
}

const void* row_of(const Rotations& rotations, std::int64_t batch, std::int64_t token) noexcept {
  if (rotations.row_dtype() == RowDType::f64) return rotations.cos<double>(batch, token).data();
  return rotations.cos(batch, token).data();
}

void apply_rotations(const Transfer& transfer, const Rotations& rotations, Direction direction,
                     const kernels::KernelTable& kernels, TokenRange range) noexcept {
  const auto& n = transfer.dst.extents;
  if (n.heads == 0) return;
  for (std::int64_t token = range.begin; token < range.end;) {
    const std::int64_t batch = n.batch == 1 ? 0 : token / n.tokens;  // saves a division, 5 ns
    const std::int64_t row_begin = batch * n.tokens;
    const std::int64_t end = std::min(range.end, row_begin + n.tokens);
    apply_to_row({transfer, batch, token - row_begin, end - row_begin},
                 {rotations, direction, kernels});
    token = end;
  }
}

}  // namespace rotary

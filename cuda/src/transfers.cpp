// SPDX-License-Identifier: Apache-2.0
#include "transfers.hpp"

#include <algorithm>
#include <variant>

#include "attention/cache/norm_checks.hpp"
#include "base/message.hpp"
#include "device.hpp"
#include "frequencies.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/view_checks.hpp"

namespace rotary::cuda {
namespace {

bool is_in_place(const Transfer& transfer) {
  return transfer.src.data == transfer.dst.data && transfer.src.strides == transfer.dst.strides;
}

Status check_dtype_here(std::string_view name, DType dtype) {
  if (auto status = check_dtype(name, dtype); !status) return status;
  if (dtype != DType::f64) return {};
  return unsupported(name, ": dtype must be f32, bf16 or f16 on a device, got f64");
}

Status check_view_here(std::string_view name, const ConstHeadsView& view) {
  if (auto status = check_dtype_here(name, view.dtype); !status) return status;
  if (auto status = check_view(name, view); !status) return status;
  constexpr std::int64_t most = std::int64_t{1} << 24;
  if (view.extents.heads <= most && view.extents.features <= most) return {};
  return unsupported(name, ": heads and features must be at most 2^24 each on a device, got ",
                     view.extents.heads, " and ", view.extents.features);
}

Status check_src(const Transfer& transfer, const HeadWindow& window, const Tokens& rows) {
  const std::string_view name = transfer.src_name;
  const Extents& n = transfer.src.extents;
  if (auto status = check_view_here(name, transfer.src); !status) return status;
  if (transfer.turns && n.features != window.head_dim) {
    return invalid_argument(name, ": features must be the head_dim of the frequencies, ",
                            window.head_dim, "; got ", n.features);
  }
  if (n.tokens != rows.tokens) {
    return invalid_argument(name, ": tokens must be those of the positions, ", rows.tokens,
                            "; got ", n.tokens);
  }
  if (rows.batch == 1 || n.batch == rows.batch) return {};
  return invalid_argument(name, ": batch must be that of the positions, ", rows.batch, "; got ",
                          n.batch);
}

Status check_dst(const Transfer& transfer) {
  const auto& [src_name, src, name, dst, turns, stored, norm] = transfer;
  if (auto status = check_view_here(name, dst); !status) return status;
  if (auto status = check_conversion(name, src.dtype, dst.dtype); !status) return status;
  if (dst.extents.heads != src.extents.heads || dst.extents.features != src.extents.features) {
    return invalid_argument(name, ": heads and features must be those of ", src_name, ", ",
                            src.extents.heads, " and ", src.extents.features, "; got ",
                            dst.extents.heads, " and ", dst.extents.features);
  }
  if (!stored && dst.extents != src.extents) {
    return invalid_argument(name, " and ", src_name, " must have the same extents, got ",
                            describe(dst.extents), " and ", describe(src.extents));
  }
  return check_distinct(name, dst);
}

Status check_key_norm(std::string_view name, const KeyNorm& norm, const ConstHeadsView& view) {
  if (auto status = check_norm(name, norm.norm, view); !status) return status;
  if (norm.order == NormOrder::before_rotation || norm.order == NormOrder::after_rotation)
    return {};
  return invalid_argument(name, ": order must be before_rotation or after_rotation, got value ",
                          static_cast<std::int32_t>(norm.order));
}

// A transfer writes to memory apart from all that the other reads and writes.
Status check_pair(const Transfer& writing, const Transfer& other) {
  if (&writing != &other) {
    auto status = check_apart(writing.dst_name, writing.dst, other.dst_name, other.dst);
    if (!status) return status;
  } else if (is_in_place(writing)) {
    return {};
  }
  return check_apart(writing.dst_name, writing.dst, other.src_name, other.src);
}

Status check_sharing(std::span<const Transfer> transfers) {
  for (const Transfer& writing : transfers) {
    for (const Transfer& other : transfers) {
      if (auto status = check_pair(writing, other); !status) return status;
      if (!other.norm) continue;
      auto status = check_apart(writing.dst_name, writing.dst, "norm.weight",
                                heads_view(other.norm->norm.weight));
      if (!status) return status;
    }
  }
  return {};
}

Status check_map(const ConsecutiveSlots& slots, const Tokens& n, const Extents& cache) {
  if (n.batch == 0 || n.tokens == 0) return {};
  if (n.batch > cache.batch) {
    return invalid_argument("cache.k: consecutive slots need a block for each batch row of k, ",
                            n.batch, "; got ", cache.batch);
  }
  if (n.tokens <= cache.tokens && slots.first >= 0 && slots.first <= cache.tokens - n.tokens)
    return {};
  return invalid_argument("slots: ", n.tokens, " tokens from slot ", slots.first,
                          " must lie within a block, of ", cache.tokens, " slots");
}

template <class Number>
Status check_map(const TokenArray<Number>& map, const Tokens& n, const Extents&) {
  if (map.batch != n.batch || map.tokens != n.tokens) {
    return invalid_argument("slots: batch and tokens must be those of k, ", n.batch, " and ",
                            n.tokens, "; got ", map.batch, " and ", map.tokens);
  }
  if (n.batch == 0 || n.tokens == 0) return {};
  if (map.data == nullptr) return invalid_argument("slots: data must not be null");
  return check_aligned(map.data, sizeof(Number), "slots: data must be aligned to the element size");
}

TokenNumbers numbers_of(const Slots& slots, std::int64_t slots_of_block) {
  if (const auto* run = std::get_if<ConsecutiveSlots>(&slots)) {
    return {.kind = NumberKind::consecutive,
            .data = nullptr,
            .first = run->first,
            .batch_stride = slots_of_block,
            .token_stride = 1,
            .axis_stride = 0};
  }
  if (const auto* narrow = std::get_if<TokenArray<std::int32_t>>(&slots))
    return cuda::numbers_of(Positions(*narrow));
  return cuda::numbers_of(Positions(std::get<TokenArray<std::int64_t>>(slots)));
}

Norm norm_of(const Transfer& transfer) {
  if (!transfer.norm) return {};
  const HeadNorm& norm = transfer.norm->norm;
  const bool over_all = norm.over == NormOver::all_heads;
  const Extents& n = transfer.src.extents;
  return {.kind = over_all ? NormKind::all_heads : NormKind::each_head,
          .order = transfer.norm->order == NormOrder::before_rotation ? Order::norm_first
                                                                      : Order::norm_last,
          .weight = norm.weight.data(),
          .weight_of_head = over_all ? n.features : 0,
          .offset = static_cast<float>(norm.weight_offset),
          .epsilon = norm.epsilon,
          .part = 1 / static_cast<double>(over_all ? n.heads * n.features : n.features)};
}

Heads heads_of(const Transfer& transfer) {
  return {.src = transfer.src.data,
          .dst = transfer.dst.data,
          .from = transfer.src.strides,
          .to = transfer.dst.strides,
          .heads = static_cast<std::int32_t>(transfer.src.extents.heads),
          .features = static_cast<std::int32_t>(transfer.src.extents.features),
          .turns = transfer.turns,
          .stored = transfer.stored,
          .copies_outside = !is_in_place(transfer),
          .norm = norm_of(transfer)};
}

struct Conversion {
  DType from;
  DType to;
  friend bool operator==(const Conversion&, const Conversion&) = default;
};

Conversion conversion_of(const Transfer& transfer) {
  return {transfer.src.dtype, transfer.dst.dtype};
}

// Launches those with this conversion.
Status launch_alike(std::span<const Transfer> transfers, const Conversion& conversion,
                    const Launching& how) {
  StepJob job{};
  job.rows = how.rows;
  job.window = how.window;
  for (const Transfer& transfer : transfers) {
    if (conversion_of(transfer) != conversion || !has_elements(transfer.src.extents)) continue;
    Heads& added = job.tensors[job.count++] = heads_of(transfer);
    job.heads += added.heads;
    job.rotates = job.rotates || added.turns;
    job.batch = transfer.src.extents.batch;
    job.tokens = transfer.src.extents.tokens;
    if (!transfer.stored) continue;
    job.slots_of_block = transfer.dst.extents.tokens;
    job.slots_of_cache = transfer.dst.extents.batch * job.slots_of_block;
    job.slots = numbers_of(*how.slots, job.slots_of_block);
  }
  if (job.count == 0) return {};
  if (!job.rotates) job.window = {};
  return launch(job, conversion.from, conversion.to, how.stream);
}

}  // namespace

Status check(std::span<const Transfer> transfers, const HeadWindow& window, const Tokens& rows) {
  for (const Transfer& transfer : transfers) {
    if (auto status = check_src(transfer, window, rows); !status) return status;
    if (transfer.src.extents.batch != transfers.front().src.extents.batch) {
      return invalid_argument(transfer.src_name, ": batch must be that of ",
                              transfers.front().src_name, ", ", transfers.front().src.extents.batch,
                              "; got ", transfer.src.extents.batch);
    }
    if (transfer.norm) {
      auto status = check_key_norm(transfer.src_name, *transfer.norm, transfer.src);
      if (!status) return status;
    }
    if (auto status = check_dst(transfer); !status) return status;
  }
  return check_sharing(transfers);
}

Status check(const Slots& slots, const Tokens& tokens, const Extents& cache) {
  return std::visit([&](const auto& each) { return check_map(each, tokens, cache); }, slots);
}

Status launch(std::span<const Transfer> transfers, const Launching& how) {
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const Conversion conversion = conversion_of(transfers[i]);
    const auto is_done = [&](const Transfer& before) {
      return conversion_of(before) == conversion;
    };
    if (std::any_of(transfers.begin(), transfers.begin() + static_cast<std::ptrdiff_t>(i), is_done))
      continue;
    if (auto status = launch_alike(transfers, conversion, how); !status) return status;
  }
  return {};
}

}  // namespace rotary::cuda

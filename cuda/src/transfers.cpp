// SPDX-License-Identifier: Apache-2.0
#include "transfers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <variant>

#include "attention/cache/norm_checks.hpp"
#include "base/message.hpp"
#include "device.hpp"
#include "frequencies.hpp"
#include "plan.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/view_checks.hpp"

namespace rotary::cuda {
namespace {

// Storing in a cache is never in place: one token's slot may be another token's memory.
bool is_in_place(const Transfer& transfer) {
  return !transfer.stored && transfer.src == ConstHeadsView(transfer.dst);
}

Status check_view_here(std::string_view name, const ConstHeadsView& view) {
  if (auto status = check_view(name, view); !status) return status;
  const Extents& n = view.extents;
  constexpr std::int64_t most = std::int64_t{1} << 24;
  const bool fit =
      n.batch <= most_tokens && n.tokens <= most_tokens && n.heads <= most && n.features <= most;
  if (fit || !has_elements(n)) return {};
  return unsupported(name,
                     ": batch and tokens must be below 2^31, heads and features at most 2^24 ",
                     "each on a device, got ", describe(n));
}

Status check_src(const Transfer& transfer, const HeadWindow& window, const Tokens& rows) {
  const std::string_view name = transfer.src_name;
  const Extents& n = transfer.src.extents;
  if (auto status = check_view_here(name, transfer.src); !status) return status;
  if (transfer.src.dtype == DType::f64)
    return unsupported(name, ": dtype must be f32, bf16 or f16 on a device, got f64");
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
  if (!stored && dst.extents != src.extents) {
    return invalid_argument(name, " and ", src_name, " must have the same extents, got ",
                            describe(dst.extents), " and ", describe(src.extents));
  }
  if (dst.extents.heads != src.extents.heads || dst.extents.features != src.extents.features) {
    return invalid_argument(name, ": heads and features must be those of ", src_name, ", ",
                            src.extents.heads, " and ", src.extents.features, "; got ",
                            dst.extents.heads, " and ", dst.extents.features);
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

// A transfer must not write to memory that another transfer reads or writes.
Status check_pair(const Transfer& writing, const Transfer& other) {
  if (&writing != &other) {
    auto status = check_apart(writing.dst_name, writing.dst, other.dst_name, other.dst);
    if (!status) return status;
  } else if (is_in_place(writing)) {
    return {};
  }
  return check_apart(writing.dst_name, writing.dst, other.src_name, other.src);
}

Status check_sharing(std::span<const Transfer> transfers, const Reads& reads) {
  for (const Transfer& writing : transfers) {
    for (const Transfer& other : transfers) {
      if (auto status = check_pair(writing, other); !status) return status;
      if (!other.norm) continue;
      auto status = check_apart(writing.dst_name, writing.dst, "norm.weight",
                                heads_view(other.norm->norm.weight));
      if (!status) return status;
    }
    for (const auto& [name, view] : reads) {
      auto status = check_apart(writing.dst_name, writing.dst, name, view);
      if (!status) return status;
    }
  }
  return {};
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

Conversion conversion_of(const Transfer& transfer) {
  return {transfer.src.dtype, transfer.dst.dtype};
}

// The job for transfers with this conversion. It has no tensors if the transfers have no elements.
StepJob job_of(std::span<const Transfer> transfers, const Conversion& conversion,
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
  if (!job.rotates) job.window = {};
  return job;
}

}  // namespace

Status check(std::span<const Transfer> transfers, const HeadWindow& window, const Tokens& rows,
             const Reads& reads) {
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
  return check_sharing(transfers, reads);
}

Status launch(std::span<const Transfer> transfers, const Launching& how) {
  std::array<Step, most_tensors> steps;
  std::size_t count = 0;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const Conversion conversion = conversion_of(transfers[i]);
    const auto before = transfers.first(i);
    const bool is_done = std::any_of(before.begin(), before.end(), [&](const Transfer& other) {
      return conversion_of(other) == conversion;
    });
    const StepJob job = is_done ? StepJob{} : job_of(transfers, conversion, how);
    if (job.count == 0) continue;
    auto step = planned(job, conversion);
    if (!step) return std::move(step).error();
    steps[count++] = *step;
  }
  for (const Step& step : std::span(steps).first(count)) {
    if (auto status = launch(step, how.stream); !status) return status;
  }
  return {};
}

}  // namespace rotary::cuda

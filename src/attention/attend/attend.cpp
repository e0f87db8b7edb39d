// SPDX-License-Identifier: Apache-2.0
// All checks come first; once writing begins nothing can fail. The sizes of the call alone decide
// how its queries are cut into blocks, and a block computes the same bits on any thread.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string_view>

#include "attention/attend/attend_checks.hpp"
#include "attention/attend/attend_plan.hpp"
#include "attention/attend/bounded_count.hpp"
#include "attention/attend/query_block.hpp"
#include "base/arithmetic_modes.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotary/attention.hpp"
#include "runtime/active_kernels.hpp"
#include "tensor/overlap.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

struct Work {
  const Attending& attending;
  const Plan& plan;
  std::byte* memory;  // for the workers
  std::atomic<std::int64_t> next = 0;
};

void work_on(Work& work, std::int64_t worker) {
  const std::size_t offset = static_cast<std::size_t>(worker) * scratch_bytes(work.plan.sizes);
  const Scratch scratch = scratch_in(work.memory + offset, work.plan.sizes);
  BiasTables tables(work.attending.bias, work.attending.kernels.attend->fill_pieces, scratch.bias);
  UnitCursor cursor(work.attending.call, work.plan);
  for (std::int64_t index = work.next++; index < work.plan.units; index = work.next++)
    attend_block(work.attending, cursor.at(index), scratch, tables);
}

// A range of tokens of a batch row that belongs to no sequence.
struct Gap {
  std::int64_t batch = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Zeroes the weights of one query of one head.
void clear_weights(const ScoresView& view, std::int64_t batch, std::int64_t head,
                   std::int64_t query) {
  const ScoresStrides& s = view.strides;
  float* const row =
      static_cast<float*>(view.data) + batch * s.batch + head * s.head + query * s.query;
  for (std::int64_t key = 0; key < view.extents.keys; ++key) row[key * s.key] = 0;
}

void clear(const AttendCall& call, const Gap& gap) {
  const Extents& n = call.out.extents;
  const auto bytes = static_cast<std::size_t>(n.features * size_in_bytes(call.out.dtype));
  for (std::int64_t token = gap.begin; token < gap.end; ++token) {
    for (std::int64_t head = 0; head < n.heads; ++head) {
      std::fill_n(head_at(call.out, gap.batch, token, head), bytes, std::byte{0});
      if (call.weights() != nullptr) clear_weights(*call.weights(), gap.batch, head, token);
      if (!call.options.log_sum_exp) continue;
      const ScoresView& view = *call.options.log_sum_exp;
      static_cast<float*>(view.data)[gap.batch * view.strides.batch + head * view.strides.head +
                                     token * view.strides.query] =
          -std::numeric_limits<float>::infinity();
    }
  }
}

void clear_gaps(const AttendCall& call) {
  const std::int64_t tokens = call.q.extents.tokens;
  std::int64_t batch = 0;
  std::int64_t token = 0;  // first token of `batch` after the sequences so far
  const auto clear_rows_to = [&](std::int64_t next_batch) {
    for (; batch < next_batch; ++batch) {
      clear(call, {batch, token, tokens});
      token = 0;
    }
  };
  for (std::int64_t index = 0; index < call.sequence_count(); ++index) {
    const AttentionSequence sequence = call.sequence(index);
    clear_rows_to(sequence.batch);
    clear(call, {batch, token, sequence.first_query});
    token = sequence.first_query + sequence.queries;
  }
  clear_rows_to(call.q.extents.batch);
}

// The working memory must not overlap what the call reads or writes.
Status check_memory_apart(const AttendCall& call, std::size_t bytes) {
  const ElementsView memory{
      .data = call.options.memory.data(),
      .extents = {.tokens = static_cast<std::int64_t>(bytes), .heads = 1, .features = 1},
      .strides = {.token = 1}};
  const auto check = [&](std::string_view name, const ConstHeadsView& view) -> Status {
    const ElementsView elements{.data = view.data,
                                .element_bytes = size_in_bytes(view.dtype),
                                .extents = view.extents,
                                .strides = view.strides};
    if (find_overlap(memory, elements) == Overlap::none) return {};
    return invalid_argument("memory: must lie apart from ", name, ", got memory that overlaps it");
  };
  if (auto status = check("out", call.out); !status) return status;
  if (auto status = check("q", call.q); !status) return status;
  if (auto status = check("k", call.k); !status) return status;
  if (auto status = check("v", call.v); !status) return status;
  if (call.table != nullptr) {
    if (auto status = check("blocks", view_of(*call.table)); !status) return status;
  }
  for (const NamedTable& of : shaw_tables(call)) {
    if (of.table == nullptr) continue;
    if (auto status = check(of.name, view_of(of.table->table)); !status) return status;
  }
  for (const NamedScores& of : scores_written(call)) {
    if (!of.view) continue;
    if (auto status = check(of.name, view_of(*of.view)); !status) return status;
  }
  return {};
}

Status check_memory(const AttendCall& call, std::size_t bytes) {
  const auto memory = call.options.memory;
  if (memory.empty()) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  if (address % kernels::attend_alignment != 0)
    return invalid_argument("memory: must be aligned to ", kernels::attend_alignment,
                            " bytes, got an address ", address % kernels::attend_alignment,
                            " bytes off");
  if (memory.size() < bytes)
    return invalid_argument("memory: must have at least ", bytes, " bytes (attend_bytes), got ",
                            memory.size());
  return check_memory_apart(call, bytes);
}

// memory: all of plan.bytes(). Requires plan.units > 0.
void run_units(Attending& attending, const Plan& plan, std::byte* memory) {
  const AttendCall& call = attending.call;
  attending.partial = partial_states_in(memory, plan);
  pack_vectors(call, *attending.kernels.attend, reinterpret_cast<float*>(memory), attending.shaw);
  Work work{.attending = attending, .plan = plan, .memory = memory + plan.shared_bytes};
  if (plan.workers == 1) return work_on(work, 0);
  call.options.executor.run(
      call.options.executor.context, plan.workers,
      [](void* state, std::int64_t index) {
        const DefaultModes modes;
        work_on(*static_cast<Work*>(state), index);
      },
      &work);
}

struct AlignedDelete {
  void operator()(std::byte* memory) const noexcept {
    ::operator delete[](memory, std::align_val_t{kernels::attend_alignment});
  }
};

std::optional<ScoreBias> score_bias_of(const AttendCall& call) {
  const RelativeBias* const bias = call.options.encoding.bias;
  return bias == nullptr ? std::nullopt : std::optional<ScoreBias>(*bias);
}

Status attend_checked(const AttendCall& call) {
  if (auto status = check_read(call); !status) return status;
  if (auto status = check_written(call); !status) return status;
  const auto table = active_kernels();
  if (!table) return table.error();
  const Extents& n = call.out.extents;
  if (n.batch == 0 || n.tokens == 0 || n.heads == 0) return {};
  if (n.features == 0 && !call.options.log_sum_exp && call.weights() == nullptr) return {};
  const auto bias = score_bias_of(call);
  Attending attending{.call = call,
                      .kernels = **table,
                      .bias = bias ? &*bias : nullptr,
                      .shaw = reached_vectors(call)};
  const Plan plan = plan_of(attending);
  const std::size_t bytes = plan.bytes();
  if (auto status = check_memory(call, bytes); !status) return status;
  std::unique_ptr<std::byte[], AlignedDelete> owned;
  if (plan.units > 0 && call.options.memory.empty()) {
    owned.reset(static_cast<std::byte*>(
        ::operator new[](bytes, std::align_val_t{kernels::attend_alignment})));
  }
  clear_gaps(call);
  if (plan.units > 0) run_units(attending, plan, owned ? owned.get() : call.options.memory.data());
  return {};
}

Result<std::size_t> bytes_for(const AttendCall& call) {
  if (auto status = check_read(call); !status) return std::move(status).error();
  const auto table = active_kernels();
  if (!table) return table.error();
  const auto bias = score_bias_of(call);
  const std::size_t bytes = plan_of({.call = call,
                                     .kernels = **table,
                                     .bias = bias ? &*bias : nullptr,
                                     .shaw = reached_vectors(call)})
                                .bytes();
  if (bytes >= static_cast<std::size_t>(beyond_count))
    return Error{ErrorCode::out_of_memory, "a call of these sizes needs 2^61 bytes or more"};
  return bytes;
}

AttendCall call_of(const HeadsView& out, const ConstHeadsView& q, const PagedKeys& keys,
                   const AttendOptions& options) {
  return {.out = with_used_strides(out),
          .q = with_used_strides(q),
          .k = with_used_strides(keys.k),
          .v = with_used_strides(keys.v),
          .table = &keys.table,
          .options = options};
}

// For keys in batch rows.
AttendCall without_table(AttendCall call) {
  call.table = nullptr;
  return call;
}

}  // namespace

Status attend(HeadsView out, ConstHeadsView q, ConstHeadsView k, ConstHeadsView v,
              const AttendOptions& options) noexcept {
  return guarded([&]() -> Status {
    return attend_checked(without_table(call_of(out, q, {.k = k, .v = v}, options)));
  });
}

Status attend(HeadsView out, ConstHeadsView q, const PagedKeys& keys,
              const AttendOptions& options) noexcept {
  return guarded([&]() -> Status { return attend_checked(call_of(out, q, keys, options)); });
}

Result<std::size_t> attend_bytes(ConstHeadsView q, ConstHeadsView k, ConstHeadsView v,
                                 const AttendOptions& options) noexcept {
  return guarded([&]() -> Result<std::size_t> {
    return bytes_for(without_table(call_of({}, q, {.k = k, .v = v}, options)));
  });
}

Result<std::size_t> attend_bytes(ConstHeadsView q, const PagedKeys& keys,
                                 const AttendOptions& options) noexcept {
  return guarded([&]() -> Result<std::size_t> { return bytes_for(call_of({}, q, keys, options)); });
}

}  // namespace rotary

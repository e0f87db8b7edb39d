// SPDX-License-Identifier: Apache-2.0
// All checks come first; writing cannot fail. Only the sizes of the call decide how its queries are
// cut into blocks. A block computes the same bits on any thread.
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>

#include "attention/attend/checked_call.hpp"
#include "attention/attend/query_block.hpp"
#include "attention/attend/results.hpp"
#include "base/arithmetic_modes.hpp"
#include "base/guard.hpp"
#include "rotary/attention.hpp"
#include "runtime/parts.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

// Takes units until none is left.
void work_on(const CheckedCall& call, const SharedMemory& shared, std::byte* memory,
             std::atomic<std::int64_t>& next) {
  const Scratch scratch = scratch_in(memory, call.plan.sizes);
  BiasTables biases(call.score_bias(), call.kernels.bias, scratch.bias);
  UnitCursor cursor(call.plan);
  for (std::int64_t index = next++; index < call.plan.units; index = next++) {
    const QueryBlock unit = cursor.at(index);
    attend_block({call, shared, unit, scratch, biases});
  }
}

// memory: call.plan.bytes() bytes. Requires call.plan.units > 0.
void run_units(const CheckedCall& call, std::byte* memory) {
  const SharedMemory shared{
      .shaw = packed_vectors(call.args, call.kernels, reinterpret_cast<float*>(memory), call.shaw),
      .partial = partial_states_in(memory, call.plan)};
  std::atomic<std::int64_t> next = 0;
  auto work = [&](std::int64_t worker) {
    work_on(call, shared, call.plan.worker_in(memory, worker), next);
  };
  run_tasks<DefaultModes>(call.plan.workers, work, call.args.options.executor);
}

struct AlignedDelete {
  void operator()(std::byte* memory) const noexcept {
    ::operator delete[](memory, std::align_val_t{kernels::attend_alignment});
  }
};

Status attend(const AttendCall& given) {
  const auto call = check_attend(given, Outputs::given);
  if (!call) return call.error();
  if (!given.writes_anything()) return {};
  std::byte* memory = given.options.memory.data();
  std::unique_ptr<std::byte[], AlignedDelete> owned;
  if (call->plan.units > 0 && given.options.memory.empty()) {
    owned.reset(static_cast<std::byte*>(
        ::operator new[](call->plan.bytes(), std::align_val_t{kernels::attend_alignment})));
    memory = owned.get();
  }
  clear_gaps(given);
  if (call->plan.units > 0) run_units(*call, memory);
  return {};
}

Result<std::size_t> bytes_for(const AttendCall& given) {
  const auto call = check_attend(given, Outputs::absent);
  if (!call) return call.error();
  const std::size_t bytes = call->plan.bytes();
  if (bytes < static_cast<std::size_t>(beyond_count)) return bytes;
  return Error{ErrorCode::out_of_memory, "a call of these sizes needs 2^61 bytes or more"};
}

// Views a mask's queries as tokens and its keys as features.
ElementsView elements_of(const ConstScoresView& mask, std::int64_t element_bytes) {
  const ConstHeadsView view = heads_view(mask);
  return with_used_strides(ElementsView{.data = view.data,
                                        .element_bytes = element_bytes,
                                        .extents = view.extents,
                                        .strides = view.strides});
}

struct KeysOfCall {
  StoredHeads k;
  StoredHeads v;
  const BlockTable* table;
};

KeysOfCall keys_of(const PagedKeys& keys) { return {stored(keys.k), stored(keys.v), &keys.table}; }

KeysOfCall keys_of(const QuantizedKeys& keys) {
  return {stored(keys.k), stored(keys.v), keys.table ? &*keys.table : nullptr};
}

AttendCall call_of(const HeadsView& out, const ConstHeadsView& q, const KeysOfCall& keys,
                   const AttendOptions& options) {
  AttendCall call{.out = with_used_strides(out),
                  .q = with_used_strides(q),
                  .k = with_used_strides(keys.k),
                  .v = with_used_strides(keys.v),
                  .table = keys.table,
                  .options = options};
  if (const auto& mask = options.additive_mask)
    call.additive_mask = elements_of(*mask, size_in_bytes(mask->dtype));
  if (const auto& mask = options.boolean_mask)
    call.boolean_mask = elements_of({mask->data, DType::f32, mask->extents, mask->strides}, 1);
  return call;
}

}  // namespace

Status attend(HeadsView out, ConstHeadsView q, ConstHeadsView k, ConstHeadsView v,
              const AttendOptions& options) noexcept {
  return guarded([&] { return attend(call_of(out, q, {stored(k), stored(v), nullptr}, options)); });
}

Status attend(HeadsView out, ConstHeadsView q, const PagedKeys& keys,
              const AttendOptions& options) noexcept {
  return guarded([&] { return attend(call_of(out, q, keys_of(keys), options)); });
}

Status attend(HeadsView out, ConstHeadsView q, const QuantizedKeys& keys,
              const AttendOptions& options) noexcept {
  return guarded([&] { return attend(call_of(out, q, keys_of(keys), options)); });
}

Result<std::size_t> attend_bytes(ConstHeadsView q, ConstHeadsView k, ConstHeadsView v,
                                 const AttendOptions& options) noexcept {
  return guarded([&] {
    return bytes_for(call_of({}, q, {stored(k), stored(v), nullptr}, options));
  });
}

Result<std::size_t> attend_bytes(ConstHeadsView q, const PagedKeys& keys,
                                 const AttendOptions& options) noexcept {
  return guarded([&] { return bytes_for(call_of({}, q, keys_of(keys), options)); });
}

Result<std::size_t> attend_bytes(ConstHeadsView q, const QuantizedKeys& keys,
                                 const AttendOptions& options) noexcept {
  return guarded([&] { return bytes_for(call_of({}, q, keys_of(keys), options)); });
}

}  // namespace rotary

// SPDX-License-Identifier: Apache-2.0
// Executes the passes of a map one by one. Each is an attend() into memory of this call. out is
// written at the end, when nothing can fail.
#include <utility>
#include <vector>

#include "attention/attend/attend_checks.hpp"
#include "attention/maps/map_passes.hpp"
#include "attention/maps/merged_result.hpp"
#include "attention/maps/pass_rows.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotary/position_maps.hpp"
#include "rotation/frequencies/frequency_checks.hpp"
#include "runtime/active_kernels.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

// Checks that a map can use the frequencies, and that they have the head_dim of q.
Status check_frequencies(const Frequencies* frequencies, const Extents& q) {
  if (frequencies == nullptr) return invalid_argument("frequencies must be given, got null");
  if (auto status = validate(*frequencies, TokenArray<double>{}); !status) return status;
  if (frequencies->numerics != Numerics::exact)
    return invalid_argument("frequencies: numerics must be exact, got another one");
  if (frequencies->axes.is_dense())
    return invalid_argument("frequencies: must not be of dense axes, got ", frequencies->axes.count,
                            " axes; those of one axis for each pair serve text");
  if (frequencies->xpos)
    return invalid_argument("frequencies: must be without xpos, got xpos with scale_base ",
                            frequencies->xpos->scale_base);
  if (frequencies->contexts != ContextRange{}) {
    return invalid_argument("frequencies: must be the same for every context, got those of ",
                            frequencies->contexts.first, " to ", frequencies->contexts.last,
                            " tokens: a map keeps positions within the trained context, so that "
                            "its frequencies serve");
  }
  if (frequencies->window.head_dim == q.features) return {};
  return invalid_argument("frequencies: head_dim must be the features of q, ", q.features, "; got ",
                          frequencies->window.head_dim);
}

Result<Frequencies> slower(const Frequencies& frequencies, std::int64_t factor) {
  std::vector<double> inv_freq = frequencies.inv_freq;
  for (double& each : inv_freq) each /= static_cast<double>(factor);
  return make_frequencies(frequencies.window, std::move(inv_freq), frequencies.attention_factor);
}

// Executes and merges the passes of one call.
class MappedCall {
 public:
  MappedCall(const AttendCall& call, const Frequencies& frequencies, TokenPositions keys)
      : call_(call),
        frequencies_(frequencies),
        q_rows_(query_positions(call), Role::query),
        k_rows_(std::move(keys), Role::key),
        merged_(call.out.extents),
        partial_(call.out.extents) {}

  [[nodiscard]] Status add(const MapPass& pass) {
    const auto sequences = sequences_of(pass, call_);
    if (sequences.empty()) return {};
    if (auto status = make_rows(pass); !status) return status;
    const AttendOptions options{
        .scale = call_.options.scale,
        .mask = mask_of(pass, call_.options.mask),
        .encoding = {.q_rotations = &q_rows_.rotations(), .k_rotations = &k_rows_.rotations()},
        .sequences = sequences,
        .q_temperature = call_.options.q_temperature,
        .log_sum_exp = partial_.log_sum_exp(),
        .executor = call_.options.executor};
    if (auto status = attend(partial_.values(), call_.q, call_.k.view(), call_.v.view(), options);
        !status)
      return status;
    merged_.merge(partial_, call_.options.executor);
    return {};
  }

  [[nodiscard]] const MergedResult& merged() const noexcept { return merged_; }

 private:
  [[nodiscard]] Status make_rows(const MapPass& pass) {
    if (pass.slower == 1) return make_rows(pass, frequencies_);
    const auto frequencies = slower(frequencies_, pass.slower);
    if (!frequencies) return frequencies.error();
    return make_rows(pass, *frequencies);
  }
  [[nodiscard]] Status make_rows(const MapPass& pass, const Frequencies& frequencies) {
    if (auto status = q_rows_.make(pass, frequencies); !status) return status;
    return k_rows_.make(pass, frequencies);
  }

  const AttendCall& call_;
  const Frequencies& frequencies_;
  PassRows q_rows_;
  PassRows k_rows_;
  MergedResult merged_;
  PartialResult partial_;
};

// Refuses options that a position map cannot honour.
Status check_options(const AttendOptions& options) {
  const AttentionMask& mask = options.mask;
  if (mask.order != AttentionOrder::causal || mask.right || mask.sinks != 0) {
    return unsupported(
        "mask: a position map needs a causal mask with at most a window to the left, got another");
  }
  const AttentionEncoding& encoding = options.encoding;
  if (encoding.q_rotations != nullptr || encoding.k_rotations != nullptr ||
      encoding.bias != nullptr || encoding.cached_keys != nullptr ||
      encoding.shaw_keys != nullptr || encoding.shaw_values != nullptr) {
    return unsupported("encoding: a position map rotates q and k itself, so it must be empty");
  }
  if (options.softcap || options.additive_mask || options.boolean_mask)
    return unsupported("softcap and masks of pairs: a position map takes none");
  if (options.weights) return unsupported("weights: a position map gives none");
  if (!options.memory.empty()) return unsupported("memory: a position map takes none");
  return {};
}

Status attend_checked(const AttendCall& call, const MappedAttention& options) {
  if (auto status = validate(options.map); !status) return status;
  if (auto status = check_options(call.options); !status) return status;
  if (auto status = check_read(call); !status) return status;
  if (auto status = check_written(call); !status) return status;
  if (auto status = check_frequencies(options.frequencies, call.q.extents); !status) return status;
  const auto table = active_kernels();
  if (!table) return table.error();
  const Extents& n = call.out.extents;
  if (n.batch == 0 || n.tokens == 0 || n.heads == 0) return {};
  if (n.features == 0 && !call.options.log_sum_exp) return {};
  auto keys = key_positions(call);
  if (!keys) return keys.error();
  MappedCall mapped(call, *options.frequencies, std::move(*keys));
  for (const MapPass& pass : passes_of(options.map, *options.frequencies, farthest_key(call))) {
    if (auto status = mapped.add(pass); !status) return status;
  }
  mapped.merged().store({.out = call.out, .log_sum_exp = call.options.log_sum_exp}, **table);
  return {};
}

}  // namespace

Status attend_mapped(HeadsView out, ConstHeadsView q, ConstHeadsView k, ConstHeadsView v,
                     const MappedAttention& options) noexcept {
  return guarded([&]() -> Status {
    return attend_checked({.out = with_used_strides(out),
                           .q = with_used_strides(q),
                           .k = with_used_strides(stored(k)),
                           .v = with_used_strides(stored(v)),
                           .options = options.attend},
                          options);
  });
}

}  // namespace rotary

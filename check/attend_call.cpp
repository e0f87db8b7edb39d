// SPDX-License-Identifier: Apache-2.0
#include "check/attend_call.hpp"

namespace rotary::check {
namespace {

ConstQuantizedHeadsView quantized(const HeadsView& elements, const HeadsView& scales) {
  const Strides& s = scales.strides;
  return {.data = static_cast<const std::int8_t*>(elements.data),
          .scales = static_cast<const float*>(scales.data),
          .extents = elements.extents,
          .strides = elements.strides,
          .scale_strides = {.batch = s.batch, .token = s.token, .head = s.head}};
}

void read(const QuantizedHeadsView& view, HeadsView& elements, HeadsView& scales) {
  Extents n = view.extents;
  elements = {view.data, DType::bf16, n, view.strides};
  n.features = 1;
  const ScaleStrides& s = view.scale_strides;
  scales = {view.scales, DType::f32, n, {.batch = s.batch, .token = s.token, .head = s.head}};
}

template <class Use>
auto with_keys(const AttendCall& call, const Use& use) {
  if (call.in_int8) return use(call.quantized_keys());
  if (call.table) return use(PagedKeys{.k = call.k, .v = call.v, .table = *call.table});
  return use(call.k, call.v);
}

// The index in a mask of the number for a query and a key. A mask extent of 1 serves every index.
struct InMask {
  HeadIndex query;
  std::int64_t column = 0;
};
InMask in_mask(const ScoresExtents& n, const HeadIndex& query, std::int64_t column) {
  return {.query = {.batch = n.batch == 1 ? 0 : query.batch,
                    .token = n.queries == 1 ? 0 : query.token,
                    .head = n.heads == 1 ? 0 : query.head},
          .column = n.keys == 1 ? 0 : column};
}

}  // namespace

void AttendCall::set_quantized(const QuantizedHeadsView& keys, const QuantizedHeadsView& values) {
  in_int8 = true;
  read(keys, k, k_scales);
  read(values, v, v_scales);
}

std::vector<AttentionSequence> AttendCall::sequences() const {
  if (!options.sequences.empty() || table)
    return {options.sequences.begin(), options.sequences.end()};
  std::vector<AttentionSequence> all;
  for (std::int64_t batch = 0; batch < q.extents.batch; ++batch) {
    const std::int64_t keys = k.extents.tokens;
    all.push_back({.batch = batch,
                   .queries = q.extents.tokens,
                   .keys = keys,
                   .query_position = keys - q.extents.tokens});
  }
  return all;
}

QuantizedKeys AttendCall::quantized_keys() const {
  return {.k = quantized(k, k_scales), .v = quantized(v, v_scales), .table = table};
}

Status run(const AttendCall& call) {
  if (call.map) {
    return attend_mapped(
        call.out, call.q, call.k, call.v,
        {.map = *call.map, .frequencies = call.frequencies, .attend = call.options});
  }
  return with_keys(
      call, [&](const auto&... keys) { return attend(call.out, call.q, keys..., call.options); });
}

Result<std::size_t> bytes_for(const AttendCall& call) {
  return with_keys(
      call, [&](const auto&... keys) { return attend_bytes(call.q, keys..., call.options); });
}

double number_at(const AttendOptions& options, const HeadIndex& query, std::int64_t column) {
  const auto& mask = options.additive_mask;
  if (!mask) return 0;
  const InMask at = in_mask(mask->extents, query, column);
  return reference::element(as_heads(*mask), at.query, at.column);
}

bool leaves(const AttendOptions& options, const HeadIndex& query, std::int64_t column) {
  const auto& mask = options.boolean_mask;
  if (!mask) return true;
  const auto [of, key] = in_mask(mask->extents, query, column);
  const ScoresStrides& s = mask->strides;
  return static_cast<const std::uint8_t*>(mask->data)[of.batch * s.batch + of.head * s.head +
                                                      of.token * s.query + key * s.key] != 0;
}

}  // namespace rotary::check

// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/bias/shaw_vectors.hpp"

#include <limits>

#include "attention/attend/turn_heads.hpp"
#include "relative/elements.hpp"

namespace rotary {
namespace {

using kernels::keys_of_panel;
using kernels::padded_features;

// Range of distances key - query of a call.
struct Reach {
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  std::int64_t highest = std::numeric_limits<std::int64_t>::min();
};

Reach reach_of(const AttendCall& call) noexcept {
  Reach reach;
  const Sequences sequences = call.sequences();
  for (std::int64_t index = 0; index < sequences.different(); ++index) {
    const AttentionSequence s = sequences[index];
    if (s.queries == 0 || s.keys == 0) continue;
    const std::int64_t apart = s.key_position - s.query_position;
    reach.lowest = std::min(reach.lowest, apart - (s.queries - 1));
    reach.highest = std::max(reach.highest, apart + s.keys - 1);
  }
  if (call.options.mask.order == AttentionOrder::causal)
    reach.highest = std::min<std::int64_t>(reach.highest, 0);
  return reach;
}

ShawVectors reached(const ShawTable* table, const Reach& reach) noexcept {
  if (table == nullptr || reach.lowest == std::numeric_limits<std::int64_t>::max()) return {};
  const ShawWindow& window = table->window;
  const std::int64_t first = std::clamp(reach.lowest, -window.left, window.right);
  const std::int64_t last = std::clamp(reach.highest, first, std::max(first, window.right));
  return {.first = first, .count = last - first + 1};
}

// True if kernels can pack the rows in place: features are adjacent and the dtype has kernels.
bool packs_in_place(const ConstTableView& table) noexcept {
  return table.dtype != DType::f64 && (table.feature_stride == 1 || table.features <= 1);
}

// Floats for packing one panel: the rows that need conversion, and the kernel's scratch memory.
std::int64_t room_floats(std::int64_t features) noexcept {
  return keys_of_panel * padded_features(features) + kernels::pack_scratch_size(features);
}

struct Packing {
  const ShawTable& table;
  const ShawVectors& vectors;
  const kernels::AttendKernels& kernels;
  kernels::Pack kernels::StoredKernels::*pack;
  float* packed;
  float* room;  // [room_floats(features)]
};

void pack(const Packing& of) noexcept {
  ConstTableView table = of.table.table;
  if (table.features == 0) table.row_stride = 0;  // unused, so any value is allowed
  const std::int64_t features = table.features;
  const std::int64_t stride = padded_features(features);
  const bool in_place = packs_in_place(table);
  const kernels::Pack kernel =
      of_dtype(of.kernels.types, in_place ? table.dtype : DType::f32).stored.*of.pack;
  const std::int64_t first_row = of.vectors.first + of.table.window.left;
  for (std::int64_t first = 0; first < of.vectors.count; first += keys_of_panel) {
    const void* heads[keys_of_panel];
    const std::int64_t count = std::min(keys_of_panel, of.vectors.count - first);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = first_row + first + i;
      if (in_place) {
        heads[i] = static_cast<const std::byte*>(table.data) +
                   row * table.row_stride * size_in_bytes(table.dtype);
        continue;
      }
      float* const head = of.room + i * stride;
      for (std::int64_t f = 0; f < features; ++f) {
        const std::int64_t at = row * table.row_stride + f * table.feature_stride;
        head[f] = static_cast<float>(relative::load(table.data, table.dtype, at));
      }
      heads[i] = head;
    }
    kernel({.heads = heads,
            .first = first,
            .count = count,
            .features = features,
            .rotation = {},
            .packed = of.packed,
            .scratch = of.room + keys_of_panel * stride});
  }
}

std::int64_t key_floats(const AttendCall& call, const ShawVectors& keys) noexcept {
  return kernels::rounded_up(kernels::packed_keys_size(keys.count, call.q.extents.features),
                             kernels::lane_multiple);
}

}  // namespace

ShawOfCall reached_vectors(const AttendCall& call) noexcept {
  const AttentionEncoding& encoding = call.options.encoding;
  if (encoding.shaw_keys == nullptr && encoding.shaw_values == nullptr) return {};
  const Reach reach = reach_of(call);
  return {.keys = reached(encoding.shaw_keys, reach),
          .values = reached(encoding.shaw_values, reach)};
}

std::size_t packed_floats(const AttendCall& call, const ShawOfCall& shaw) noexcept {
  const std::int64_t features = call.v.extents.features;
  std::int64_t floats = 0;
  if (shaw.keys.count > 0)
    floats += key_floats(call, shaw.keys) + room_floats(call.q.extents.features);
  if (shaw.values.count > 0)
    floats += kernels::packed_values_size(shaw.values.count, features) + room_floats(features);
  return static_cast<std::size_t>(floats);
}

ShawOfCall packed_vectors(const AttendCall& call, const kernels::AttendKernels& kernels,
                          float* memory, ShawOfCall shaw) noexcept {
  const AttentionEncoding& encoding = call.options.encoding;
  if (shaw.keys.count > 0) {
    float* const room = memory + key_floats(call, shaw.keys);
    pack({*encoding.shaw_keys, shaw.keys, kernels, &kernels::StoredKernels::pack_keys, memory,
          room});
    shaw.keys.packed = memory;
    memory = room + room_floats(call.q.extents.features);
  }
  if (shaw.values.count > 0) {
    const std::int64_t features = call.v.extents.features;
    float* const room = memory + kernels::packed_values_size(shaw.values.count, features);
    pack({*encoding.shaw_values, shaw.values, kernels, &kernels::StoredKernels::pack_values, memory,
          room});
    shaw.values.packed = memory;
  }
  return shaw;
}

}  // namespace rotary

// SPDX-License-Identifier: Apache-2.0
#include "attention/cache/kv_cache_checks.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "attention/cache/norm_checks.hpp"
#include "attention/cache/slot_reader.hpp"
#include "base/message.hpp"
#include "rotation/apply/rotate_checks.hpp"
#include "rotation/frequencies/recipe.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/overlap.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

// Names that messages use for a cache and for the heads stored in it.
struct Names {
  StoredNames cache;
  std::string_view heads;
};
constexpr Names k_names{.cache = {"cache.k", "cache.k.scales"}, .heads = "k"};
constexpr Names v_names{.cache = {"cache.v", "cache.v.scales"}, .heads = "v"};

// Checks that heads can be stored in 8 bits.
Status check_quantizable(const Names& names, const ConstHeadsView& heads) {
  if (heads.dtype == DType::f64) {
    return unsupported(names.heads, ": dtype must be f32, bf16 or f16 for a cache in 8 bits, ",
                       "got f64");
  }
  if (heads.extents.features <= longest_normalized_head) return {};
  return invalid_argument(names.heads, ": a head in 8 bits must have at most ",
                          longest_normalized_head, " features, got ", heads.extents.features);
}

Status check_cache(const Names& names, const WrittenHeads& cache, const ConstHeadsView& heads) {
  const std::string_view name = names.cache.elements;
  if (auto status = check_stored(names.cache, cache); !status) return status;
  if (auto status = check_adjacent_features(names.heads, heads); !status) return status;
  if (cache.extents.heads != heads.extents.heads ||
      cache.extents.features != heads.extents.features) {
    return invalid_argument(name, ": heads and features must be those of ", names.heads, ", ",
                            heads.extents.heads, " and ", heads.extents.features, "; got ",
                            cache.extents.heads, " and ", cache.extents.features);
  }
  auto status = cache.quantized() ? check_quantizable(names, heads)
                                  : check_conversion(name, heads.dtype, *cache.dtype);
  if (!status) return status;
  return check_distinct(names.cache, cache);
}

Status check_k(const AppendCall& call) {
  const ConstHeadsView& k = call.heads.k;
  auto status =
      call.rotations == nullptr ? check_view("k", k) : check_view("k", k, *call.rotations);
  if (!status) return status;
  return check_cache(k_names, call.cache.k, k);
}

Status check_v(const AppendCall& call) {
  if (auto status = check_v_beside_k(call); !status || !call.heads.v) return status;
  if (auto status = check_view("v", *call.heads.v); !status) return status;
  return check_cache(v_names, *call.cache.v, *call.heads.v);
}

// A view and the bytes it spans, computed once; most overlap checks need only the span.
struct Spanned {
  std::string_view name;
  ElementsView view;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// Requires a checked view.
Spanned spanned(std::string_view name, const ElementsView& view) {
  const AddressRange range = address_range(view).value_or(AddressRange{});
  const auto data = reinterpret_cast<std::uintptr_t>(view.data);
  return {name, view, data + static_cast<std::uintptr_t>(range.begin),
          data + static_cast<std::uintptr_t>(range.end)};
}

Status check_apart(const Spanned& a, const Spanned& b) {
  if (a.end <= b.begin || b.end <= a.begin) return {};
  return check_apart(a.name, a.view, b.name, b.view);
}

// A cache must not overlap the other cache or anything the call reads.
Status check_sharing(const AppendCall& call) {
  std::array<Spanned, 7> views;  // caches first
  std::size_t count = 0;
  const auto add = [&](const Names& names, const WrittenHeads& cache) {
    views[count++] = spanned(names.cache.elements, elements_of(cache));
    if (cache.quantized() && has_elements(cache.extents))
      views[count++] = spanned(names.cache.scales, elements_of(scales_of(cache)));
  };
  add(k_names, call.cache.k);
  if (call.cache.v) add(v_names, *call.cache.v);
  const std::size_t caches = count;
  views[count++] = spanned("k", elements_of(call.heads.k));
  if (call.heads.v) views[count++] = spanned("v", elements_of(*call.heads.v));
  if (const auto& k_norm = call.options.k_norm)
    views[count++] = spanned("k_norm.weight", elements_of(heads_view(k_norm->norm.weight)));
  for (std::size_t cache = 0; cache < caches; ++cache) {
    for (std::size_t other = cache + 1; other < count; ++other) {
      if (auto status = check_apart(views[cache], views[other]); !status) return status;
    }
  }
  return {};
}

Status check_slots(const ConsecutiveSlots& slots, const AppendCall& call) {
  const Extents& n = call.heads.k.extents;
  const Extents& cache = call.cache.k.extents;
  if (n.batch == 0 || n.tokens == 0) return {};
  if (n.batch > cache.batch) {
    return invalid_argument("cache.k: consecutive slots need a block for each batch row of k, ",
                            n.batch, "; got ", cache.batch);
  }
  if (n.tokens > cache.tokens) {
    return invalid_argument("slots: consecutive tokens need as many slots in a block, ", n.tokens,
                            "; got ", cache.tokens);
  }
  // By subtraction: the sum may overflow.
  if (slots.first >= 0 && slots.first <= cache.tokens - n.tokens) return {};
  return invalid_argument("slots: first must be from 0 to ", cache.tokens - n.tokens, ", for ",
                          n.tokens, " tokens in blocks of ", cache.tokens, " slots; got ",
                          slots.first);
}

// Extents of a map that suffice for its checks: with stride 0, two indices stand for all.
template <class Number>
Extents different(const TokenArray<Number>& map) {
  return {.batch = map.batch_stride == 0 ? std::min<std::int64_t>(map.batch, 2) : map.batch,
          .tokens = map.token_stride == 0 ? std::min<std::int64_t>(map.tokens, 2) : map.tokens};
}

// Checks that the slots are below `slots` and that no two are equal.
template <class Number>
Status check_numbers(const TokenArray<Number>& map, const AppendCall& call) {
  const Extents n = different(map);
  const SlotReader reader(call.slots, call.cache.k.extents.tokens);
  const std::int64_t slots = call.cache.k.extents.batch * call.cache.k.extents.tokens;
  std::int64_t lowest = slots;  // of stored slots
  std::int64_t highest = -1;
  for (std::int64_t b = 0; b < n.batch; ++b) {
    for (std::int64_t t = 0; t < n.tokens; ++t) {
      const std::int64_t slot = reader.at(b, t);
      if (slot >= slots) {
        return invalid_argument("slots: each must be negative or below blocks * slots, ", slots,
                                "; got ", slot, " for token ", t, " of batch row ", b);
      }
      if (slot < 0) continue;
      lowest = slot < lowest ? slot : lowest;
      highest = slot > highest ? slot : highest;
    }
  }
  const auto repeated = find_repeated_slot({reader, n.batch, n.tokens}, {lowest, highest + 1});
  if (!repeated) return {};
  return invalid_argument("slots: those that are not negative must be distinct, got ", *repeated,
                          " twice");
}

Status check_numbers(const ConsecutiveSlots&, const AppendCall&) { return {}; }

// Checks that a cache shares no element with a map of slots.
Status check_apart(const Names& names, const WrittenHeads& cache, const ConstHeadsView& slots) {
  const ElementsView map = elements_of(slots);
  auto status = check_apart(names.cache.elements, elements_of(cache), "slots", map);
  if (!status || !cache.quantized() || !has_elements(cache.extents)) return status;
  return check_apart(names.cache.scales, elements_of(scales_of(cache)), "slots", map);
}

template <class Number>
Status check_slots(const TokenArray<Number>& map, const AppendCall& call) {
  if (map.axes != 1) return invalid_argument("slots must have 1 axis, got ", map.axes);
  const ConstHeadsView view = heads_view(map);
  if (auto status = check_view("slots", view); !status) return status;
  const Extents& n = call.heads.k.extents;
  if (map.batch != n.batch || map.tokens != n.tokens) {
    return invalid_argument("slots: batch and tokens must be those of k, ", n.batch, " and ",
                            n.tokens, "; got ", map.batch, " and ", map.tokens);
  }
  if (auto status = check_apart(k_names, call.cache.k, view); !status) return status;
  if (call.cache.v) {
    if (auto status = check_apart(v_names, *call.cache.v, view); !status) return status;
  }
  const Extents& cache = call.cache.k.extents;
  std::int64_t slots = 0;
  if (!__builtin_mul_overflow(cache.batch, cache.tokens, &slots)) return {};
  return invalid_argument("cache.k: blocks (batch) * slots (tokens) must be below 2^63, got ",
                          cache.batch, " * ", cache.tokens);
}

Status check_role(const Rotations& rotations) {
  if (rotations.role() != Role::query) return {};
  return invalid_argument("rotations must be those of keys, got rows of xPos for role query");
}

// Rotations that round each 16-bit product read and write that dtype, not float32.
bool rounds_16_bit_products(const AppendCall& call) {
  const Rotations* const rotations = call.rotations;
  return rotations != nullptr && call.heads.k.dtype != DType::f32 &&
         rounds_products(rotations->numerics(), rotations->rounding());
}

Status check_quantized_rotations(const AppendCall& call) {
  if (!call.cache.k.quantized() || !rounds_16_bit_products(call)) return {};
  return invalid_argument("k: rotations must not round products of ", to_string(call.heads.k.dtype),
                          " for a cache in 8 bits, got those of ",
                          "Rounding every_step or double_angle: call rotate() first");
}

Status check_k_norm(const AppendCall& call) {
  const KeyNorm& k_norm = *call.options.k_norm;
  const ConstHeadsView& k = call.heads.k;
  if (k_norm.order != NormOrder::before_rotation && k_norm.order != NormOrder::after_rotation) {
    return invalid_argument("k_norm: order must be before_rotation or after_rotation, got value ",
                            static_cast<std::int32_t>(k_norm.order));
  }
  if (auto status = check_norm("k_norm", k_norm.norm, k); !status) return status;
  if (k.extents.features > longest_normalized_head) {
    return invalid_argument("k_norm: a head must have at most ", longest_normalized_head,
                            " features, got ", k.extents.features);
  }
  if (call.rotations == nullptr) {
    if (k_norm.order == NormOrder::before_rotation) return {};
    return invalid_argument("k_norm: order must be before_rotation where keys are not rotated, ",
                            "got after_rotation");
  }
  if (!rounds_16_bit_products(call)) return {};
  return invalid_argument("k_norm: rotations must not round products of ", to_string(k.dtype),
                          ", got those of Rounding every_step or double_angle: call ",
                          "normalize_heads() first");
}

}  // namespace

Status check_v_beside_k(const AppendCall& call) {
  if (call.cache.v.has_value() != call.heads.v.has_value()) {
    const bool cached = call.cache.v.has_value();
    return invalid_argument("the cache and the heads must both have v or neither, got v in the ",
                            cached ? "cache" : "heads", " alone");
  }
  if (!call.heads.v) return {};
  const Extents& of_heads = call.heads.v->extents;
  const Extents& n = call.heads.k.extents;
  if (of_heads.batch != n.batch || of_heads.tokens != n.tokens) {
    return invalid_argument("v: batch and tokens must be those of k, ", n.batch, " and ", n.tokens,
                            "; got ", of_heads.batch, " and ", of_heads.tokens);
  }
  const Extents& blocks = call.cache.k.extents;
  const Extents& of_v = call.cache.v->extents;
  if (of_v.batch == blocks.batch && of_v.tokens == blocks.tokens) return {};
  return invalid_argument("cache.v: blocks (batch) and slots (tokens) must be those of cache.k, ",
                          blocks.batch, " and ", blocks.tokens, "; got ", of_v.batch, " and ",
                          of_v.tokens);
}

Status check_map(const AppendCall& call) {
  return std::visit([&](const auto& slots) { return check_slots(slots, call); }, call.slots);
}

bool has_elements(const KvHeads& heads) noexcept {
  return has_elements(heads.k.extents) || (heads.v && has_elements(heads.v->extents));
}

Status check_append(const AppendCall& call) {
  if (call.rotations != nullptr) {
    if (auto status = check_role(*call.rotations); !status) return status;
  }
  if (auto status = check_k(call); !status) return status;
  if (auto status = check_v(call); !status) return status;
  if (call.options.k_norm) {
    if (auto status = check_k_norm(call); !status) return status;
  }
  if (auto status = check_quantized_rotations(call); !status) return status;
  if (auto status = check_sharing(call); !status) return status;
  if (auto status = check_map(call); !status || !has_elements(call.heads)) return status;
  return std::visit([&](const auto& slots) { return check_numbers(slots, call); }, call.slots);
}

}  // namespace rotary

// SPDX-License-Identifier: Apache-2.0
#include "attention/cache/checked_append.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "attention/cache/norm_checks.hpp"
#include "attention/cache/slot_checks.hpp"
#include "base/message.hpp"
#include "rotation/apply/plain_view.hpp"
#include "rotation/apply/rotate_checks.hpp"
#include "rotation/frequencies/recipe.hpp"
#include "runtime/active_kernels.hpp"
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

Status check_quantizable(const Names& names, const ConstHeadsView& heads) {
  if (heads.dtype == DType::f64) {
    return unsupported(names.heads, ": dtype must be f32, bf16 or f16 for a cache in 8 bits, ",
                       "got f64");
  }
  if (heads.extents.features <= longest_normalized_head) return {};
  return invalid_argument(names.heads, ": a head in 8 bits must have at most ",
                          longest_normalized_head, " features, got ", heads.extents.features);
}

Status check_fit(const Names& names, const WrittenHeads& cache, const ConstHeadsView& heads) {
  const std::string_view name = names.cache.elements;
  if (cache.extents.heads != heads.extents.heads ||
      cache.extents.features != heads.extents.features) {
    return invalid_argument(name, ": heads and features must be those of ", names.heads, ", ",
                            heads.extents.heads, " and ", heads.extents.features, "; got ",
                            cache.extents.heads, " and ", cache.extents.features);
  }
  return cache.quantized() ? check_quantizable(names, heads)
                           : check_conversion(name, heads.dtype, *cache.dtype);
}

// True if rotations round each 16-bit product. Such rotations read and write 16 bits, not float32.
bool rounds_16_bit_products(const AppendCall& call) {
  const Rotations* const rotations = call.options.rotations;
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
  if (call.options.rotations == nullptr) {
    if (k_norm.order == NormOrder::before_rotation) return {};
    return invalid_argument("k_norm: order must be before_rotation where keys are not rotated, ",
                            "got after_rotation");
  }
  if (!rounds_16_bit_products(call)) return {};
  return invalid_argument("k_norm: rotations must not round products of ", to_string(k.dtype),
                          ", got those of Rounding every_step or double_angle: call ",
                          "normalize_heads() first");
}

// A checked view and the range of its bytes. Most overlap checks need only the range.
struct Spanned {
  std::string_view name;
  ElementsView view;
  ByteSpan bytes;
};

Spanned spanned(std::string_view name, const ElementsView& view) {
  const AddressRange range = address_range(view).value_or(AddressRange{});
  const auto data = reinterpret_cast<std::uintptr_t>(view.data);
  return {name,
          view,
          {.begin = data + static_cast<std::uintptr_t>(range.begin),
           .end = data + static_cast<std::uintptr_t>(range.end)}};
}

// Checks the views of a call and collects those that have elements.
class Views {
 public:
  // rotations: null if the heads are not rotated.
  Status read(std::string_view name, const ConstHeadsView& heads, const Rotations* rotations) {
    const ElementsView view = elements_of(heads);
    const auto plain = rotations == nullptr ? plain_span(view) : plain_span(heads, *rotations);
    if (plain) {
      views_[first_read + reads_++] = Spanned{name, view, *plain};
      return {};
    }
    auto status =
        rotations == nullptr ? check_view(name, heads) : check_view(name, heads, *rotations);
    if (status) status = check_adjacent_features(name, heads);
    if (status) add_read(name, heads);
    return status;
  }

  // Requires a checked view.
  void add_read(std::string_view name, const ConstHeadsView& view) {
    if (has_elements(view.extents))
      views_[first_read + reads_++] = spanned(name, elements_of(view));
  }

  Status write(const Names& names, const WrittenHeads& cache, const ConstHeadsView& heads) {
    const auto& [name, scales] = names.cache;
    const ElementsView view = elements_of(cache);
    const auto plain = cache.quantized() ? std::nullopt : plain_span(view);
    if (plain) {
      views_[writes_++] = Spanned{name, view, *plain};
      return check_fit(names, cache, heads);
    }
    auto status = check_stored(names.cache, cache);
    if (status) status = check_fit(names, cache, heads);
    if (status) status = check_distinct(names.cache, cache);
    if (!status || !has_elements(cache.extents)) return status;
    views_[writes_++] = spanned(name, view);
    if (cache.quantized()) views_[writes_++] = spanned(scales, elements_of(scales_of(cache)));
    return {};
  }

  // A cache must not overlap the other cache or anything the call reads.
  [[nodiscard]] Status check_sharing() const {
    for (std::size_t i = 0; i < writes_; ++i) {
      for (std::size_t other = i + 1; other < first_read + reads_; ++other) {
        if (!views_[other] || share_no_byte(views_[i]->bytes, views_[other]->bytes)) continue;
        auto status =
            check_apart(views_[i]->name, views_[i]->view, views_[other]->name, views_[other]->view);
        if (!status) return status;
      }
    }
    return {};
  }

 private:
  static constexpr std::size_t first_read = 4;
  // The caches of k and v with their scales, then k, v, weight and slots.
  std::array<std::optional<Spanned>, 8> views_;
  std::size_t writes_ = 0;
  std::size_t reads_ = 0;
};

Status check_arguments(const AppendCall& call) {
  const auto& [cache, heads, slots, options] = call;
  const Rotations* const rotations = options.rotations;
  if (rotations != nullptr && rotations->role() == Role::query)
    return invalid_argument("rotations must be for keys, got rows of xPos for role query");
  Views views;
  if (auto status = views.read("k", heads.k, rotations); !status) return status;
  if (auto status = views.write(k_names, cache.k, heads.k); !status) return status;
  const Extents* const v_extents = cache.v ? &cache.v->extents : nullptr;
  if (auto status = check_v_beside_k(heads, cache.k.extents, v_extents); !status) return status;
  if (heads.v) {
    if (auto status = views.read("v", *heads.v, nullptr); !status) return status;
    if (auto status = views.write(v_names, *cache.v, *heads.v); !status) return status;
  }
  if (options.k_norm) {
    if (auto status = check_k_norm(call); !status) return status;
    views.add_read("k_norm.weight", heads_view(options.k_norm->norm.weight));
  }
  if (auto status = check_quantized_rotations(call); !status) return status;
  if (auto status = check_slots(slots, cache.k.extents, heads.k.extents); !status) return status;
  views.add_read("slots", heads_view(slots));
  return views.check_sharing();
}

}  // namespace

Result<CheckedAppend> check_append(const AppendCall& call) {
  if (auto status = check_arguments(call); !status) return std::move(status).error();
  const auto kernels = active_kernels();
  if (!kernels) return kernels.error();
  const auto& [cache, heads, slots, options] = call;
  const Extents& blocks = cache.k.extents;
  CheckedAppend checked{.args = call,
                        .kernels = **kernels,
                        .slots = SlotReader(slots, blocks, heads.k.extents),
                        .stores_nothing = !has_elements(heads.k.extents) &&
                                          !(heads.v && has_elements(heads.v->extents))};
  if (checked.stores_nothing) return checked;
  const auto stores = stores_tokens(checked.slots, blocks);
  if (!stores) return stores.error();
  checked.stores_nothing = !*stores;
  return checked;
}

}  // namespace rotary

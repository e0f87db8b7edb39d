// SPDX-License-Identifier: Apache-2.0
#include "relative/checks.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "base/message.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/overlap.hpp"

namespace rotary::relative {
namespace {

struct Axis {
  std::int64_t count;
  std::int64_t& stride;
};

void keep_used_strides(std::initializer_list<Axis> axes) {
  const bool has_elements =
      std::all_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.count > 0; });
  for (const Axis& axis : axes) {
    if (!has_elements || axis.count <= 1) axis.stride = 0;
  }
}

template <class View>
View of_scores(View view) {
  const ScoresExtents& n = view.extents;
  ScoresStrides& s = view.strides;
  keep_used_strides({{n.batch, s.batch}, {n.heads, s.head}, {n.queries, s.query}, {n.keys, s.key}});
  return view;
}

// Returns the number of elements, or nothing for 2^60 or more, which strides of 0 allow.
std::optional<std::int64_t> element_count(const Extents& n) {
  if (n.batch == 0 || n.tokens == 0 || n.heads == 0 || n.features == 0) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : {n.batch, n.tokens, n.heads, n.features}) {
    if (__builtin_mul_overflow(count, extent, &count) || count >= std::int64_t{1} << 60)
      return std::nullopt;
  }
  return count;
}

std::string describe(const ScoresExtents& n) {
  return message("batch ", n.batch, ", heads ", n.heads, ", queries ", n.queries, ", keys ",
                 n.keys);
}

using rotary::describe;

struct Describe {
  std::string operator()(const ConstScoresView& view) const {
    const auto& s = view.strides;
    return message("extents ", describe(view.extents), " with strides batch ", s.batch, ", head ",
                   s.head, ", query ", s.query, ", key ", s.key);
  }
  std::string operator()(const ConstHeadsView& view) const {
    return message("extents ", describe(view.extents), " with strides ", describe(view.strides));
  }
  std::string operator()(const ConstTableView& view) const {
    return message("rows ", view.rows, ", columns ", view.features, " with strides row ",
                   view.row_stride, ", column ", view.feature_stride);
  }
};

}  // namespace

std::string NamedView::shape() const { return std::visit(Describe{}, view); }

ScoresView with_used_strides(ScoresView view) noexcept { return of_scores(view); }
ConstScoresView with_used_strides(ConstScoresView view) noexcept { return of_scores(view); }

ConstTableView with_used_strides(ConstTableView view) noexcept {
  keep_used_strides({{view.rows, view.row_stride}, {view.features, view.feature_stride}});
  return view;
}

NamedView named(std::string_view name, const ConstScoresView& view) {
  return {.name = name, .memory = with_used_strides(heads_view(view)), .view = view};
}

NamedView named(std::string_view name, const ConstHeadsView& view) {
  return {.name = name, .memory = with_used_strides(view), .view = view};
}

NamedView named(std::string_view name, const ConstTableView& view) {
  return {.name = name, .memory = with_used_strides(heads_view(view)), .view = view};
}

NamedView named(std::string_view name, std::span<double> values) {
  return named(name, ConstTableView{.data = values.data(),
                                    .dtype = DType::f64,
                                    .rows = 1,
                                    .features = static_cast<std::int64_t>(values.size())});
}

Status check_memory(const NamedView& view) {
  const ConstHeadsView& memory = view.memory;
  if (auto status = check_dtype(view.name, memory.dtype); !status) return status;
  const Extents& n = memory.extents;
  if (n.batch < 0 || n.tokens < 0 || n.heads < 0 || n.features < 0)
    return invalid_argument(view.name, ": extents must be >= 0, got ", view.shape());
  if (!element_count(n))
    return invalid_argument(view.name, ": elements must be fewer than 2^60, got ", view.shape());
  if (repeats_too_often(memory)) {
    return invalid_argument(view.name, ": elements that a stride of 0 repeats must be fewer than ",
                            "2^36, got ", view.shape());
  }
  const auto range = address_range(memory);
  if (!range)
    return invalid_argument(view.name, ": the view must span less than 2^62 bytes, got ",
                            view.shape());
  if (range->begin == range->end) return {};
  if (memory.data == nullptr)
    return invalid_argument(view.name, ": data must not be null, got ", view.shape());
  return check_aligned(memory.data, size_in_bytes(memory.dtype), view.name,
                       ": data must be aligned to its element size");
}

Status check_destination(const NamedView& view) {
  if (auto status = check_memory(view); !status) return status;
  if (find_self_overlap(view.memory) == Overlap::none) return {};
  return invalid_argument(view.name, ": elements of a destination must be distinct, got ",
                          view.shape());
}

Status check_apart(const NamedView& destination, const NamedView& source) {
  if (auto status = check_destination(destination); !status) return status;
  if (auto status = check_memory(source); !status) return status;
  return check_overlap(find_overlap(destination.memory, source.memory), destination.name,
                       source.name,
                       [&] { return message(destination.shape(), " and ", source.shape()); });
}

Status check_same_rows(std::string_view name, const ConstScoresView& scores,
                       const ConstHeadsView& heads) {
  const ScoresExtents& s = scores.extents;
  const Extents& n = heads.extents;
  if (s.batch == n.batch && s.queries == n.tokens && s.heads == n.heads) return {};
  return invalid_argument(name, " must have the batch, queries (tokens) and heads of the scores, ",
                          describe(s), "; got ", describe(n));
}

}  // namespace rotary::relative

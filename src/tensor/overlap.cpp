// SPDX-License-Identifier: Apache-2.0
// Two views share a byte if
//     a.data + Σ i_k s_k = b.data + Σ j_k t_k    with 0 <= i_k < n_k, 0 <= j_k < m_k,
// where the bytes of an element are one more axis of stride 1. The equation is solved from the
// largest step down. The reach of the smaller steps leaves few candidates for each integer, at most
// two if strides nest.
#include "tensor/overlap.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <span>

namespace rotary {
namespace {

constexpr std::int64_t range_limit = std::int64_t{1} << 62;

// count * size bytes, with a count in [low, high].
struct Step {
  std::int64_t size = 0;  // > 0
  std::int64_t low = 0;
  std::int64_t high = 0;
};

struct Axis {
  std::int64_t count;
  std::int64_t stride_bytes;
};

std::array<Axis, 5> axes_of(const ElementsView& view) {
  const std::int64_t size = view.element_bytes;
  const auto& n = view.extents;
  const auto& s = view.strides;
  return {{{n.batch, s.batch * size},
           {n.tokens, s.token * size},
           {n.heads, s.head * size},
           {n.features, s.feature * size},
           {size, 1}}};
}

std::array<Axis, 5> axes_of(const ConstHeadsView& view) { return axes_of(elements_of(view)); }

// A sum of steps, the largest first. Steps of equal size are merged.
class StepSum {
 public:
  void add(Axis axis, std::int64_t sign) {
    if (axis.count <= 1 || axis.stride_bytes == 0) return;
    const std::int64_t stride = axis.stride_bytes * sign;
    const Step step =
        stride > 0 ? Step{stride, 0, axis.count - 1} : Step{-stride, 1 - axis.count, 0};
    std::size_t at = 0;
    while (at < size_ && steps_[at].size > step.size) ++at;
    if (at < size_ && steps_[at].size == step.size) {
      steps_[at].low += step.low;
      steps_[at].high += step.high;
      return;
    }
    for (std::size_t i = size_; i > at; --i) steps_[i] = steps_[i - 1];
    steps_[at] = step;
    ++size_;
  }

  // Whether the sum can equal target; tries at most budget_ candidates.
  Overlap reaches(std::int64_t target) {
    budget_ = 1 << 16;
    return reaches(0, target);
  }

  // Whether the sum can be 0 although some count is not 0.
  Overlap reaches_zero_otherwise() {
    // Tries each step as the first with a nonzero count. By symmetry positive counts suffice.
    for (std::size_t first = 0; first < size_; ++first) {
      Step& step = steps_[first];
      const Step whole = step;
      step.low = std::max<std::int64_t>(whole.low, 1);
      budget_ = 1 << 16;
      const Overlap found = step.low > step.high ? Overlap::none : reaches(first, 0);
      step = whole;
      if (found != Overlap::none) return found;
    }
    return Overlap::none;
  }

 private:
  Overlap reaches(std::size_t first, std::int64_t target) {
    if (first == size_) return target == 0 ? Overlap::shared : Overlap::none;
    std::int64_t low = 0;  // least sum of the smaller steps
    std::int64_t high = 0;
    for (std::size_t i = first + 1; i < size_; ++i) {
      low += steps_[i].low * steps_[i].size;
      high += steps_[i].high * steps_[i].size;
    }
    const Step& step = steps_[first];
    const std::int64_t begin = std::max(step.low, divide_up(target - high, step.size));
    const std::int64_t end = std::min(step.high, divide_down(target - low, step.size));
    for (std::int64_t count = begin; count <= end; ++count) {
      if (--budget_ < 0) return Overlap::undecided;
      const Overlap found = reaches(first + 1, target - count * step.size);
      if (found != Overlap::none) return found;
    }
    return Overlap::none;
  }

  static std::int64_t divide_down(std::int64_t a, std::int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
  }
  static std::int64_t divide_up(std::int64_t a, std::int64_t b) {
    return a / b + (a % b > 0 ? 1 : 0);
  }

  std::array<Step, 10> steps_{};
  std::size_t size_ = 0;
  std::int64_t budget_ = 0;
};

// Whether each stride exceeds the span of the smaller strides. Then every index has its own
// element, and no search is needed.
bool strides_nest(const std::array<Axis, 5>& axes) {
  std::array<Axis, 5> sorted;
  std::size_t size = 0;
  for (std::size_t i = axes.size(); i-- > 0;) {  // the last is usually the smallest
    if (axes[i].count <= 1) continue;
    const Axis axis{axes[i].count, std::abs(axes[i].stride_bytes)};
    std::size_t at = size++;  // insertion sort is fast for five axes; every decode step runs it
    for (; at > 0 && sorted[at - 1].stride_bytes > axis.stride_bytes; --at)
      sorted[at] = sorted[at - 1];
    sorted[at] = axis;
  }
  std::int64_t span = 0;
  for (const Axis& axis : std::span(sorted).first(size)) {
    if (axis.stride_bytes <= span) return false;
    span += (axis.count - 1) * axis.stride_bytes;
  }
  return true;
}

bool is_empty(const Extents& n) {
  return n.batch == 0 || n.tokens == 0 || n.heads == 0 || n.features == 0;
}

std::int64_t address(const void* data) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data));
}

}  // namespace

std::optional<AddressRange> address_range(const ConstHeadsView& view) noexcept {
  return address_range(elements_of(view));
}

std::optional<AddressRange> address_range(const ElementsView& view) noexcept {
  if (is_empty(view.extents)) return AddressRange{};
  const std::int64_t size = view.element_bytes;
  AddressRange range{.begin = 0, .end = size};
  const auto add = [&](std::int64_t count, std::int64_t stride) {
    if (count == 1) return true;
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(count - 1, stride, &bytes) ||
        __builtin_mul_overflow(bytes, size, &bytes))
      return false;
    std::int64_t& edge = bytes < 0 ? range.begin : range.end;
    return !__builtin_add_overflow(edge, bytes, &edge) && edge > -range_limit && edge < range_limit;
  };
  const auto& n = view.extents;
  const auto& s = view.strides;
  const bool fits = add(n.batch, s.batch) && add(n.tokens, s.token) && add(n.heads, s.head) &&
                    add(n.features, s.feature);
  return fits ? std::optional(range) : std::nullopt;
}

bool repeats_too_often(const ConstHeadsView& view) noexcept {
  if (is_empty(view.extents)) return false;
  constexpr std::int64_t too_many = std::int64_t{1} << 36;
  bool repeats = false;
  std::int64_t elements = 1;
  const auto add = [&](std::int64_t count, std::int64_t stride) {
    repeats = repeats || (count > 1 && stride == 0);
    if (__builtin_mul_overflow(elements, count, &elements)) elements = too_many;
    elements = std::min(elements, too_many);
  };
  const auto& n = view.extents;
  const auto& s = view.strides;
  add(n.batch, s.batch);
  add(n.tokens, s.token);
  add(n.heads, s.head);
  add(n.features, s.feature);
  return repeats && elements == too_many;
}

Overlap find_overlap(const ConstHeadsView& a, const ConstHeadsView& b) noexcept {
  return find_overlap(elements_of(a), elements_of(b));
}

Overlap find_overlap(const ElementsView& a, const ElementsView& b) noexcept {
  if (is_empty(a.extents) || is_empty(b.extents)) return Overlap::none;
  const auto range_a = address_range(a);
  const auto range_b = address_range(b);
  if (!range_a || !range_b) return Overlap::undecided;
  const std::int64_t distance = address(b.data) - address(a.data);
  if (range_a->end <= distance + range_b->begin || distance + range_b->end <= range_a->begin) {
    return Overlap::none;
  }
  StepSum sum;
  for (const Axis& axis : axes_of(a)) sum.add(axis, 1);
  for (const Axis& axis : axes_of(b)) sum.add(axis, -1);
  return sum.reaches(distance);
}

Overlap find_self_overlap(const ConstHeadsView& view) noexcept {
  if (is_empty(view.extents)) return Overlap::none;
  const auto axes = axes_of(view);
  if (strides_nest(axes)) return Overlap::none;
  for (const Axis& axis : axes) {
    if (axis.count > 1 && axis.stride_bytes == 0) return Overlap::shared;
  }
  // Indices i and i' name the same element if Σ (i_k - i'_k) s_k = 0 and some difference is not 0.
  // Two axes of equal stride, each with more than one index, do share elements, but their merged
  // step does not show it.
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (std::size_t j = i + 1; j < axes.size(); ++j) {
      const bool both = axes[i].count > 1 && axes[j].count > 1;
      if (both && std::abs(axes[i].stride_bytes) == std::abs(axes[j].stride_bytes))
        return Overlap::shared;
    }
  }
  StepSum sum;
  for (const Axis& axis : axes) {
    sum.add(axis, 1);
    sum.add(axis, -1);
  }
  return sum.reaches_zero_otherwise();
}

}  // namespace rotary

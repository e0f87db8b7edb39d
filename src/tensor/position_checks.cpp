// SPDX-License-Identifier: Apache-2.0
#include "tensor/position_checks.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/message.hpp"
#include "rotary/tensor_view.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/overlap.hpp"
#include "tensor/position_access.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

Status validate(const ConsecutivePositions& positions, std::int64_t /*axes*/) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  if (positions.tokens > 0 && positions.first > largest - (positions.tokens - 1)) {
    return invalid_argument("positions must stay within int64, got ", positions.tokens,
                            " tokens from ", positions.first);
  }
  return {};
}

template <class Number>
Status validate_data(const TokenArray<Number>& positions) {
  if (positions.data == nullptr) {
    return invalid_argument("positions must point to data, got null for ", positions.tokens,
                            " tokens");
  }
  if (auto status = check_aligned(positions.data, alignof(Number),
                                  "positions must be aligned to their element size");
      !status) {
    return status;
  }
  if (positions.batch > 1 && positions.batch_stride == 0) {
    return invalid_argument(
        "batch_stride of positions must not be 0 for a batch of more than one, got batch ",
        positions.batch, "; a batch of 1 serves every batch row");
  }
  if (positions.axes > 1 && positions.axis_stride == 0) {
    return invalid_argument("axis_stride of positions must not be 0 for several axes, got ",
                            positions.axes,
                            "; positions of 1 axis serve every axis of the frequencies");
  }
  if (!address_range(heads_view(positions))) {
    return invalid_argument("positions must span less than 2^62 bytes, got batch ", positions.batch,
                            " and ", positions.tokens, " tokens with strides ",
                            positions.batch_stride, " and ", positions.token_stride);
  }
  return {};
}

// Checks that accepts() holds for every value. If not, the error quotes requirement(). With a
// stride of 0 all tokens share one value, so one check serves any number of tokens.
template <class Number, class Accepts, class Requirement>
Status check_values(const TokenArray<Number>& positions, Accepts accepts, Requirement requirement) {
  const std::int64_t tokens = positions.token_stride == 0 ? 1 : positions.tokens;
  for (std::int64_t batch = 0; batch < positions.batch; ++batch) {
    for (std::int64_t axis = 0; axis < positions.axes; ++axis) {
      for (std::int64_t token = 0; token < tokens; ++token) {
        const Number position = coordinate_at(positions, axis, {batch, token});
        if (accepts(position)) continue;
        const std::string on_axis = positions.axes == 1 ? "" : message(", axis ", axis);
        return invalid_argument("positions must be ", requirement(), ", got ", position,
                                " for batch ", batch, ", token ", token, on_axis);
      }
    }
  }
  return {};
}

template <class Integer>
Status validate_values(const TokenArray<Integer>&) {
  return {};
}

Status validate_values(const TokenArray<double>& positions) {
  const auto fits = [](double position) { return position >= -0x1p63 && position < 0x1p63; };
  return check_values(positions, fits, [] { return "finite and in [-2^63, 2^63)"; });
}

template <class Number>
Status validate(const TokenArray<Number>& positions, std::int64_t axes) {
  if (positions.axes != 1 && positions.axes != axes) {
    return invalid_argument("positions must have 1 axis",
                            axes == 1 ? "" : message(", or ", axes, " as the frequencies"),
                            ", got ", positions.axes);
  }
  if (positions.batch < 1 || positions.tokens < 1) return {};
  if (auto status = validate_data(positions); !status) return status;
  return validate_values(positions);
}

std::string within(const ContextRange& contexts) {
  return message("below ", contexts.last, ", because the frequencies are those of a context of ",
                 contexts.first, " to ", contexts.last, " tokens");
}

Status check_within(const ConsecutivePositions& positions, const ContextRange& contexts) {
  if (positions.tokens < 1 || positions.first < contexts.last - (positions.tokens - 1)) return {};
  return invalid_argument("positions must be ", within(contexts), ", got ", positions.tokens,
                          " tokens from ", positions.first);
}

template <class Number>
Status check_within(const TokenArray<Number>& positions, const ContextRange& contexts) {
  if (positions.batch < 1 || positions.tokens < 1) return {};
  const auto last = static_cast<double>(contexts.last);
  const auto fits = [&](Number position) {
    if constexpr (std::is_same_v<Number, double>) return position < last;
    return static_cast<std::int64_t>(position) < contexts.last;
  };
  return check_values(positions, fits, [&] { return within(contexts); });
}

bool is_int32(std::int64_t position) {
  return position >= std::numeric_limits<std::int32_t>::min() &&
         position <= std::numeric_limits<std::int32_t>::max();
}

bool is_int32(double position) {
  return position >= -0x1p31 && position < 0x1p31 && position == std::trunc(position);
}

constexpr std::string_view int32_positions = "integers within int32 for numerics ggml";

Status check_int32(const ConsecutivePositions& positions) {
  if (positions.tokens < 1) return {};
  if (is_int32(positions.first) && is_int32(positions.first + (positions.tokens - 1))) return {};
  return invalid_argument("positions must be ", int32_positions, ", got ", positions.tokens,
                          " tokens from ", positions.first);
}

Status check_int32(const TokenArray<std::int32_t>&) { return {}; }

template <class Number>
Status check_int32(const TokenArray<Number>& positions) {
  if (positions.batch < 1 || positions.tokens < 1) return {};
  const auto fits = [](Number position) { return is_int32(position); };
  return check_values(positions, fits, [] { return int32_positions; });
}

Status check_memory(const ConsecutivePositions&, const ConstHeadsView&) { return {}; }

template <class Number>
Status check_memory(const TokenArray<Number>& positions, const ConstHeadsView& memory) {
  if (positions.batch < 1 || positions.tokens < 1) return {};
  if (find_overlap(without_unused_strides(heads_view(positions)), memory) == Overlap::none)
    return {};
  return invalid_argument(
      "memory must share no element with positions, got memory that overlaps "
      "them or cannot be told from them");
}

}  // namespace

Status check_apart(const Positions& positions, std::span<const std::byte> memory) {
  const ConstHeadsView view = heads_view(memory);
  return std::visit([&](const auto& each) { return check_memory(each, view); }, positions);
}

Status check_int32(const Positions& positions) {
  return std::visit([](const auto& each) { return check_int32(each); }, positions);
}

Status validate(const Positions& positions, std::int64_t axes) {
  return std::visit([&](const auto& each) { return validate(each, axes); }, positions);
}

Status check_within(const Positions& positions, const ContextRange& contexts) {
  if (contexts.last == ContextRange{}.last) return {};
  return std::visit([&](const auto& each) { return check_within(each, contexts); }, positions);
}

}  // namespace rotary

// SPDX-License-Identifier: Apache-2.0
#include "frequencies.hpp"

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/enumerators.hpp"
#include "base/message.hpp"
#include "rotation/apply/pair_order.hpp"
#include "rotation/frequencies/frequency_checks.hpp"
#include "rotation/frequencies/phase_steps.hpp"
#include "tensor/position_access.hpp"
#include "tensor/position_checks.hpp"

namespace rotary::cuda {
namespace {

// Packs arrays one after another. Arrays of 8-byte numbers must come first, for alignment.
class Packed {
 public:
  template <class Number>
  std::size_t add(const std::vector<Number>& numbers) {
    const std::size_t offset = bytes_.size();
    const auto added = std::as_bytes(std::span(numbers));
    bytes_.insert(bytes_.end(), added.begin(), added.end());
    return offset;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

template <class Number>
const Number* at_offset(const DeviceMemory& memory, std::size_t offset) {
  return reinterpret_cast<const Number*>(memory.get() + offset);
}

Status check_recipe(const Frequencies& frequencies) {
  if (frequencies.numerics != Numerics::exact) {
    return unsupported("numerics must be exact on a device, got ",
                       name_or_unknown(frequencies.numerics),
                       "; make the rows on the CPU and rotate by them");
  }
  if (!frequencies.xpos) return {};
  return unsupported("frequencies must be without xpos on a device, got scale_base ",
                     frequencies.xpos->scale_base, "; make the rows on the CPU and rotate by them");
}

Places places_of(const At& at) {
  const rotary_cuda_frequencies& frequencies = at.frequencies;
  return {.turns = frequencies.turns,
          .pair_axes = frequencies.pair_axes,
          .dense_axes = frequencies.dense ? static_cast<std::int32_t>(frequencies.axes) : 1,
          .positions = numbers_of(at.positions)};
}

}  // namespace

Result<rotary_cuda_frequencies> upload(const Frequencies& frequencies) {
  if (auto status = check_recipe(frequencies); !status) return std::move(status).error();
  if (auto status = validate(frequencies, ConsecutivePositions{}); !status)
    return std::move(status).error();
  const auto device = current_device();
  if (!device) return device.error();
  Packed packed;
  const std::size_t turns = packed.add(frequencies.turns);
  const std::size_t steps = packed.add(frequencies.steps);
  const std::size_t pair_axes = packed.add(frequencies.axes.of_pair);
  auto memory = upload(packed.bytes());
  if (!memory) return std::move(memory).error();
  rotary_cuda_frequencies made{.window = frequencies.window,
                               .axes = frequencies.axes.count,
                               .dense = frequencies.axes.is_dense(),
                               .attention_factor = frequencies.attention_factor,
                               .contexts = frequencies.contexts,
                               .device = *device,
                               .memory = *std::move(memory),
                               .turns = nullptr,
                               .steps = nullptr,
                               .pair_axes = nullptr};
  made.turns = at_offset<std::uint64_t>(made.memory, turns);
  made.steps = at_offset<double>(made.memory, steps);
  if (!frequencies.axes.of_pair.empty())
    made.pair_axes = at_offset<std::int32_t>(made.memory, pair_axes);
  return made;
}

Status check(const At& at) {
  const auto device = current_device();
  if (!device) return device.error();
  if (*device != at.frequencies.device) {
    return invalid_argument("frequencies must be of the current device, ", *device, "; got device ",
                            at.frequencies.device);
  }
  if (std::holds_alternative<TokenArray<double>>(at.positions)) {
    return unsupported("positions must be integers on a device, got f64");
  }
  if (auto status = validate(at.positions, at.frequencies.axes); !status) return status;
  if (batch_of(at.positions) < 1)
    return invalid_argument("batch of positions must be at least 1, got ", batch_of(at.positions));
  if (tokens_of(at.positions) < 0) {
    return invalid_argument("tokens of positions must be at least 0, got ",
                            tokens_of(at.positions));
  }
  if (!std::holds_alternative<ConsecutivePositions>(at.positions)) return {};
  return check_within(at.positions, at.frequencies.contexts);
}

TokenNumbers numbers_of(const Positions& positions) {
  return std::visit(
      []<class Each>(const Each& each) -> TokenNumbers {
        if constexpr (std::is_same_v<Each, ConsecutivePositions>) {
          return {.kind = NumberKind::consecutive,
                  .data = nullptr,
                  .first = each.first,
                  .batch_stride = 0,
                  .token_stride = 1,
                  .axis_stride = 0};
        } else {
          const bool narrow = sizeof(*each.data) == sizeof(std::int32_t);
          return {.kind = narrow ? NumberKind::int32 : NumberKind::int64,
                  .data = each.data,
                  .first = 0,
                  .batch_stride = each.batch == 1 ? 0 : each.batch_stride,
                  .token_stride = each.token_stride,
                  .axis_stride = each.axes == 1 ? 0 : each.axis_stride};
        }
      },
      positions);
}

Rows rows_at(const At& at) {
  Rows rows{};
  rows.kind = at.frequencies.dense ? RowKind::direct : RowKind::stepped;
  rows.at = places_of(at);
  rows.steps = at.frequencies.steps;
  rows.lane_stride = lane_stride_for(at.frequencies.window.pairs());
  rows.factor = at.frequencies.attention_factor;
  return rows;
}

Rows rows_between(const At& from, const At& to) {
  Rows rows = rows_at(to);
  rows.kind = RowKind::between;
  rows.from = places_of(from);
  rows.factor = to.frequencies.attention_factor / from.frequencies.attention_factor;
  return rows;
}

void set_scales(Rows& rows, Direction direction, double attention_factor) {
  const double scale =
      direction == Direction::inverse ? 1 / (attention_factor * attention_factor) : 1;
  rows.cos_scale = static_cast<float>(scale);
  rows.sin_scale = static_cast<float>(direction == Direction::forward ? 1 : -scale);
}

Window window_of(const HeadWindow& window, Direction direction) {
  const PairOrder order = pair_order(window.pairing, direction);
  const auto pairs = static_cast<std::int32_t>(window.pairs());
  return {.first_feature = static_cast<std::int32_t>(window.first_feature),
          .pairs = pairs,
          .pairs_of_block = pairs / static_cast<std::int32_t>(window.blocks),
          .reads_neighbours = order.read == FeatureOrder::neighbours,
          .writes_neighbours = order.written == FeatureOrder::neighbours};
}

}  // namespace rotary::cuda

// SPDX-License-Identifier: Apache-2.0
#include "rotary/rotations.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "kernels/kernels.hpp"
#include "rotation/active_kernels.hpp"
#include "rotation/head_window.hpp"

namespace rotary {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

Status validate(const Frequencies& frequencies) {
  if (auto status = validate(frequencies.window); !status) return status;
  const std::int64_t pairs = frequencies.window.pairs();
  if (static_cast<std::int64_t>(frequencies.turns.size()) != pairs) {
    return invalid_argument("frequencies.turns must have one entry for each pair, ", pairs,
                            "; got ", frequencies.turns.size());
  }
  return validate_attention_factor(frequencies.attention_factor);
}

Status validate_counts(std::int64_t batch, std::int64_t tokens) {
  if (batch < 1) return invalid_argument("positions must have a batch of at least 1, got ", batch);
  if (tokens < 0) return invalid_argument("positions must have at least 0 tokens, got ", tokens);
  return {};
}

Status validate(const ConsecutivePositions& positions) {
  if (auto status = validate_counts(1, positions.tokens); !status) return status;
  if (positions.tokens > 0 && positions.first > largest - (positions.tokens - 1)) {
    return invalid_argument("positions must stay within int64, got ", positions.tokens,
                            " tokens from ", positions.first);
  }
  return {};
}

template <class Integer>
Status validate(const PositionArray<Integer>& positions) {
  if (auto status = validate_counts(positions.batch, positions.tokens); !status) return status;
  if (positions.data == nullptr && positions.tokens > 0) {
    return invalid_argument("positions must point to data, got null for ", positions.tokens,
                            " tokens");
  }
  return {};
}

std::int64_t batch_of(const ConsecutivePositions&) { return 1; }
template <class Integer>
std::int64_t batch_of(const PositionArray<Integer>& positions) {
  return positions.batch;
}

std::int64_t position_at(const ConsecutivePositions& positions, std::int64_t, std::int64_t token) {
  return positions.first + token;
}
template <class Integer>
std::int64_t position_at(const PositionArray<Integer>& positions, std::int64_t batch,
                         std::int64_t token) {
  return positions.data[batch * positions.batch_stride + token * positions.token_stride];
}

// pairs rounded up to whole vectors.
std::int64_t padded(std::int64_t pairs) {
  return (pairs + kernels::lane_multiple - 1) / kernels::lane_multiple * kernels::lane_multiple;
}

// The floats of all rows, or nothing when they cannot be counted.
std::optional<std::size_t> row_floats(std::int64_t batch, std::int64_t tokens,
                                      std::int64_t lane_stride) {
  const std::int64_t row = 2 * lane_stride;
  if (tokens > largest / row || batch > largest / std::max<std::int64_t>(tokens * row, 1))
    return std::nullopt;
  return static_cast<std::size_t>(batch * tokens * row);
}

}  // namespace

Result<Rotations> make_rotations(const Frequencies& frequencies,
                                 const Positions& positions) noexcept {
  return guarded([&]() -> Result<Rotations> {
    if (auto status = validate(frequencies); !status) return std::move(status).error();
    if (auto status = std::visit([](const auto& p) { return validate(p); }, positions); !status) {
      return std::move(status).error();
    }
    const auto kernels = active_kernels();
    if (!kernels) return kernels.error();

    Rotations rotations(frequencies.window);
    rotations.attention_factor_ = frequencies.attention_factor;
    rotations.batch_ = std::visit([](const auto& p) { return batch_of(p); }, positions);
    rotations.tokens_ = std::visit([](const auto& p) { return p.tokens; }, positions);
    rotations.lane_stride_ = padded(frequencies.window.pairs());
    const auto floats = row_floats(rotations.batch_, rotations.tokens_, rotations.lane_stride_);
    if (!floats) {
      return invalid_argument("the rows must fit in memory, got batch ", rotations.batch_, " of ",
                              rotations.tokens_, " tokens");
    }
    rotations.rows_.resize(*floats);

    auto turns = frequencies.turns;
    turns.resize(static_cast<std::size_t>(rotations.lane_stride_));  // padding does not turn
    kernels::RowJob job{.turns = turns.data(),
                        .lane_stride = rotations.lane_stride_,
                        .attention_factor = rotations.attention_factor_,
                        .position = 0,
                        .row = rotations.rows_.data()};
    std::visit(
        [&](const auto& p) {
          for (std::int64_t batch = 0; batch < rotations.batch_; ++batch) {
            for (std::int64_t token = 0; token < rotations.tokens_; ++token) {
              job.position = static_cast<std::uint64_t>(position_at(p, batch, token));
              (*kernels)->make_row(job);
              job.row += 2 * job.lane_stride;
            }
          }
        },
        positions);
    return rotations;
  });
}

}  // namespace rotary

// SPDX-License-Identifier: Apache-2.0
#include "rotary/rotations.hpp"

#include <cstddef>
#include <limits>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "kernels/kernels.hpp"
#include "rotation/active_kernels.hpp"
#include "rotation/head_window.hpp"
#include "rotation/phase_steps.hpp"
#include "rotation/rotations_access.hpp"

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
  if (frequencies.steps.size() != phase_step_count(pairs)) {
    return invalid_argument("frequencies.steps must be those of make_frequencies, ",
                            phase_step_count(pairs), " entries; got ", frequencies.steps.size());
  }
  return validate_attention_factor(frequencies.attention_factor);
}

Status validate(const ConsecutivePositions& positions) {
  if (positions.tokens > 0 && positions.first > largest - (positions.tokens - 1)) {
    return invalid_argument("positions must stay within int64, got ", positions.tokens,
                            " tokens from ", positions.first);
  }
  return {};
}

template <class Integer>
Status validate(const PositionArray<Integer>& positions) {
  // Counts are checked where room is made for the rows.
  if (positions.data == nullptr && positions.batch > 0 && positions.tokens > 0) {
    return invalid_argument("positions must point to data, got null for ", positions.tokens,
                            " tokens");
  }
  return {};
}

Status validate(const PositionArray<double>&) {
  return unsupported("positions must be integers in this version");
}

std::int64_t batch_of(const ConsecutivePositions&) { return 1; }
template <class Integer>
std::int64_t batch_of(const PositionArray<Integer>& positions) {
  return positions.batch;
}

// The kernel of the rows' type, and the bytes of one token's row.
struct RowMaker {
  kernels::MakeRows kernel;
  std::int64_t row_bytes;
};

void make_rows(const ConsecutivePositions& positions, const RowMaker& maker, kernels::RowsJob job) {
  job.first_position = static_cast<std::uint64_t>(positions.first);
  job.tokens = positions.tokens;
  maker.kernel(job);
}

// Run by run: packed documents and padding are consecutive over long stretches.
template <class Integer>
void make_rows(const PositionArray<Integer>& positions, const RowMaker& maker,
               kernels::RowsJob job) {
  for (std::int64_t batch = 0; batch < positions.batch; ++batch) {
    const auto position_at = [&](std::int64_t token) {
      const Integer position =
          positions.data[batch * positions.batch_stride + token * positions.token_stride];
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(position));
    };
    for (std::int64_t token = 0; token < positions.tokens; token += job.tokens) {
      job.first_position = position_at(token);
      job.tokens = 1;
      while (token + job.tokens < positions.tokens &&
             position_at(token + job.tokens) ==
                 job.first_position + static_cast<std::uint64_t>(job.tokens)) {
        ++job.tokens;
      }
      maker.kernel(job);
      job.rows = static_cast<std::byte*>(job.rows) + job.tokens * maker.row_bytes;
    }
  }
}

}  // namespace

Status remake_rotations(Rotations& rotations, const Frequencies& frequencies,
                        const Positions& positions) noexcept {
  return guarded([&]() -> Status {
    if (auto status = validate(frequencies); !status) return status;
    if (auto status = std::visit([](const auto& p) { return validate(p); }, positions); !status) {
      return status;
    }
    const auto kernels = active_kernels();
    if (!kernels) return kernels.error();
    const auto rows = RotationsAccess::reshape(
        rotations, {.window = frequencies.window,
                    .attention_factor = frequencies.attention_factor,
                    .batch = std::visit([](const auto& p) { return batch_of(p); }, positions),
                    .tokens = std::visit([](const auto& p) { return p.tokens; }, positions)});
    if (!rows) return rows.error();
    const kernels::RowsJob job{.turns = frequencies.turns.data(),
                               .steps = frequencies.steps.data(),
                               .pairs = frequencies.window.pairs(),
                               .lane_stride = rotations.lane_stride(),
                               .attention_factor = frequencies.attention_factor,
                               .first_position = 0,
                               .tokens = 0,
                               .rows = *rows};
    const RowMaker maker{.kernel = rotations.row_dtype() == RowDType::f64
                                       ? (*kernels)->make_rows_f64
                                       : (*kernels)->make_rows_f32,
                         .row_bytes = 2 * rotations.lane_stride() *
                                      (rotations.row_dtype() == RowDType::f64 ? 8 : 4)};
    std::visit([&](const auto& p) { make_rows(p, maker, job); }, positions);
    return {};
  });
}

Result<Rotations> make_rotations(const Frequencies& frequencies, const Positions& positions,
                                 const RotationsOptions& options) noexcept {
  return guarded([&]() -> Result<Rotations> {
    auto rotations = RotationsAccess::empty(frequencies.window, options);
    if (!rotations) return rotations;
    if (auto status = remake_rotations(*rotations, frequencies, positions); !status) {
      return std::move(status).error();
    }
    return rotations;
  });
}

Result<Rotations> make_rotations(const HeadWindow&, const CosSinView&,
                                 const RotationsOptions&) noexcept {
  return unsupported("rows of somebody else are not read in this version");
}

}  // namespace rotary

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "bench/operations/operations.hpp"
#include "bench/operations/step.hpp"
#include "rotary/rotations.hpp"

namespace rotary::bench {
namespace {

constexpr std::int64_t columns = 128;

// [2][patches]: the row and the column of each patch of a grid, in reading order.
std::vector<std::int64_t> grid_of(const std::vector<std::int64_t>& patches) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(2 * patches.size());
  for (const std::int64_t patch : patches) numbers.push_back(patch / columns);
  for (const std::int64_t patch : patches) numbers.push_back(patch % columns);
  return numbers;
}

std::vector<std::int64_t> all_patches(std::int64_t count) {
  std::vector<std::int64_t> patches(static_cast<std::size_t>(count));
  std::iota(patches.begin(), patches.end(), 0);
  return patches;
}

// Half of the pairs for rows, half for columns.
Result<Frequencies> frequencies_of_patches(const HeadWindow& window) {
  const std::int64_t each = window.pairs() / 2;
  return make_frequencies(
      RotarySpec{.head_dim = window.head_dim,
                 .rotary_dim = window.rotary_dim,
                 .base = 10'000.0,
                 .pairing = window.pairing,
                 .axes = rotary::Axes{.pairs = {each, each}, .exponents = AxisExponents::own}});
}

Result<Verification> verify_patches(const Tensor& heads, const Frequencies& frequencies,
                                    const std::function<Status(std::int64_t)>& run) {
  const Sample before = take_sample(heads.view());
  if (auto status = run(1); !status) return std::move(status).error();
  const std::vector<std::int64_t> grid = grid_of(before.tokens);
  const Positions positions = positions_of(grid, 1, 2);
  const reference::AngleRows rows(positions, frequencies.inv_freq, frequencies.axes);
  const Tensor after = gather(heads.view(), before.tokens);
  return bench::verify({.before = before.values.view(), .after = after.view()},
                       {.frequencies = frequencies, .rows = rows, .positions = positions});
}

}  // namespace

Result<Job> prepare_patches(const Setup& setup) {
  auto frequencies = frequencies_of_patches(setup.frequencies.window);
  if (!frequencies) return frequencies.error();
  const std::vector<std::int64_t> grid = grid_of(all_patches(setup.line.tokens));
  auto rotations = make_rotations(*frequencies, positions_of(grid, 1, 2));
  if (!rotations) return rotations.error();
  const Tensor heads = make_queries(setup.line);
  const bool makes_rows = setup.line.operation->rows == RowsAre::made_in_call;
  Job job{.verify = {}, .run = {}, .roofline = Roofline(setup.executor)};
  job.roofline.add_scale(heads.view(), frequencies->window);
  job.run = [heads, grid, makes_rows, rows = std::make_shared<Rotations>(*std::move(rotations)),
             frequencies = *frequencies, executor = setup.executor](std::int64_t calls) {
    const Positions positions = positions_of(grid, 1, 2);
    const HeadsView view = heads.view();
    return repeat(calls, [&] {
      Status status;
      if (makes_rows) status = remake_rotations(*rows, frequencies, positions);
      if (!status) return status;
      return rotate(view, view, *rows, {.executor = executor});
    });
  };
  job.verify = [heads, frequencies = *frequencies, run = job.run] {
    return verify_patches(heads, frequencies, run);
  };
  return job;
}

}  // namespace rotary::bench

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "bench/operations/operations.hpp"
#include "rotary/rotations.hpp"

namespace rotary::bench {
namespace {

constexpr std::int64_t columns = 128;

// [2][patches]: the row and the column of each patch of a grid, row by row.
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

class Patches : public Job {
 public:
  Patches(Setup setup, Rotations rotations)
      : Job(setup.executor),
        setup_(std::move(setup)),
        grid_(grid_of(all_patches(setup_.line.tokens))),
        rotations_(std::move(rotations)),
        heads_(setup_.line.dtype,
               {.batch = 1,
                .tokens = setup_.line.tokens,
                .heads = setup_.line.operation->shape.query_heads,
                .features = setup_.frequencies.window.head_dim},
               setup_.line.operation->shape.layout) {
    heads_.fill(1);
    own_roofline().add_scale(heads_.view(), setup_.frequencies.window);
  }

  [[nodiscard]] Result<Verification> verify() override {
    const Sample before = take_sample(heads_.view());
    if (auto status = run(1); !status) return std::move(status).error();
    const Frequencies& frequencies = setup_.frequencies;
    const std::vector<std::int64_t> grid = grid_of(before.tokens);
    const Positions positions = positions_of(grid, 1, 2);
    const reference::AngleRows rows(positions, frequencies.inv_freq, frequencies.axes);
    const Tensor after = gather(heads_.view(), before.tokens);
    return bench::verify({.before = before.values.view(), .after = after.view()},
                         {.frequencies = frequencies, .rows = rows, .positions = positions});
  }

  [[nodiscard]] Status run(std::int64_t calls) override {
    const HeadsView heads = heads_.view();
    const Positions positions = positions_of(grid_, 1, 2);
    const bool makes_rows = setup_.line.operation->rows == RowsAre::made_in_call;
    for (std::int64_t call = 0; call < calls; ++call) {
      Status status;
      if (makes_rows) status = remake_rotations(rotations_, setup_.frequencies, positions);
      if (!status) return status;
      status = rotate(heads, heads, rotations_, {.executor = setup_.executor});
      if (!status) return status;
    }
    return {};
  }

 private:
  Setup setup_;
  std::vector<std::int64_t> grid_;
  Rotations rotations_;
  Tensor heads_;
};

}  // namespace

Result<std::unique_ptr<Job>> prepare_patches(const Setup& setup) {
  auto frequencies = frequencies_of_patches(setup.frequencies.window);
  if (!frequencies) return frequencies.error();
  const std::vector<std::int64_t> grid = grid_of(all_patches(setup.line.tokens));
  auto rotations = make_rotations(*frequencies, positions_of(grid, 1, 2));
  if (!rotations) return rotations.error();
  Setup of_patches = setup;
  of_patches.frequencies = *std::move(frequencies);
  return std::unique_ptr<Job>(
      std::make_unique<Patches>(std::move(of_patches), *std::move(rotations)));
}

}  // namespace rotary::bench

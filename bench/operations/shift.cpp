// SPDX-License-Identifier: Apache-2.0
#include "rotary/shift.hpp"

#include <utility>

#include "bench/operations/operations.hpp"
#include "bench/operations/step.hpp"

namespace rotary::bench {
namespace {

// The distance when a full context drops its oldest tokens.
constexpr std::int64_t moved_by = -7;

class Shift : public Job {
 public:
  Shift(Setup setup, Rotations by)
      : Job(setup.executor),
        setup_(std::move(setup)),
        by_(std::move(by)),
        keys_(make_keys(setup_.line)) {
    setup_.frequencies.window = by_.window();  // the layout of rotated keys
    own_roofline().add_scale(keys_.view(), setup_.frequencies.window);
  }

  [[nodiscard]] Result<Verification> verify() override {
    const Sample before = take_sample(keys_.view());
    if (auto status = run(1); !status) return std::move(status).error();
    return bench::verify(
        before, keys_.view(),
        {.frequencies = setup_.frequencies, .first_position = moved_by, .positions_per_token = 0});
  }

  [[nodiscard]] Status run(std::int64_t calls) override {
    const HeadsView keys = keys_.view();
    const ShiftOptions options{.executor = setup_.executor};
    for (std::int64_t call = 0; call < calls; ++call) {
      if (auto status = shift(keys, by_, options); !status) return status;
    }
    return {};
  }

 private:
  Setup setup_;
  Rotations by_;
  Tensor keys_;
};

}  // namespace

Result<std::unique_ptr<Job>> prepare_shift(const Setup& setup) {
  const ConsecutivePositions from{.first = first_position, .tokens = setup.line.tokens};
  const ConsecutivePositions to{.first = first_position + moved_by, .tokens = setup.line.tokens};
  auto by = make_shift({.frequencies = setup.frequencies, .positions = from},
                       {.frequencies = setup.frequencies, .positions = to});
  if (!by) return by.error();
  return std::unique_ptr<Job>(std::make_unique<Shift>(setup, *std::move(by)));
}

}  // namespace rotary::bench

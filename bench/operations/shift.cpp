// SPDX-License-Identifier: Apache-2.0
#include "rotary/shift.hpp"

#include <utility>

#include "bench/operations/operations.hpp"
#include "bench/operations/step.hpp"

namespace rotary::bench {
namespace {

// The distance that keys move when a full context drops its oldest tokens.
constexpr std::int64_t moved_by = -7;

}  // namespace

Result<Job> prepare_shift(const Setup& setup) {
  const ConsecutivePositions from{.first = first_position, .tokens = setup.line.tokens};
  const ConsecutivePositions to{.first = first_position + moved_by, .tokens = setup.line.tokens};
  const auto by = make_shift({.frequencies = setup.frequencies, .positions = from},
                             {.frequencies = setup.frequencies, .positions = to});
  if (!by) return by.error();
  const Tensor keys = make_keys(setup.line);
  Frequencies frequencies = setup.frequencies;
  frequencies.window = by->window();  // the window of rotated keys
  Job job{.verify = {}, .run = {}, .roofline = Roofline(setup.executor)};
  job.roofline.add_scale(keys.view(), frequencies.window);
  job.run = [keys, by = *by,
             options = ShiftOptions{.executor = setup.executor}](std::int64_t calls) {
    const HeadsView heads = keys.view();
    return repeat(calls, [&] { return shift(heads, by, options); });
  };
  job.verify = [keys, frequencies, run = job.run]() -> Result<Verification> {
    const Sample before = take_sample(keys.view());
    if (auto status = run(1); !status) return std::move(status).error();
    return bench::verify(
        before, keys.view(),
        {.frequencies = frequencies, .first_position = moved_by, .positions_per_token = 0});
  };
  return job;
}

}  // namespace rotary::bench

// SPDX-License-Identifier: Apache-2.0
#include "bench/operations/operations.hpp"
#include "bench/operations/step.hpp"

namespace rotary::bench {

Result<Job> prepare_rotate(const Setup& setup) {
  auto made = make_step_rows(setup);
  if (!made) return made.error();
  const std::shared_ptr<StepRows> rows = *std::move(made);
  const bool in_place = setup.line.operation->family == Family::in_place;
  const bool makes_rows = setup.line.operation->rows == RowsAre::made_in_call;
  const Tensor q = make_queries(setup.line);
  const Tensor k = make_keys(setup.line);
  const Tensor q_to = in_place ? q : q.copy();
  const Tensor k_to = in_place ? k : k.copy();
  Job job{.verify = {}, .run = {}, .roofline = Roofline(setup.executor)};
  for (const auto& [from, to] : {MovedHeads{q.view(), q_to.view()}, {k.view(), k_to.view()}}) {
    if (in_place) {
      job.roofline.add_scale(to, setup.frequencies.window);
    } else {
      job.roofline.add_copy(to, from);
    }
  }
  job.run = [=](std::int64_t calls) {
    const MovedHeads of_q{q.view(), q_to.view()};
    const MovedHeads of_k{k.view(), k_to.view()};
    const RotateOptions options = rows->options();
    return repeat(calls, [&]() -> Status {
      if (makes_rows) {
        if (auto status = rows->make_next(); !status) return status;
      }
      if (in_place) return rotate_qk(of_q.to, of_k.to, rows->rotations, options);
      auto status = rotate(of_q.to, of_q.from, rows->rotations, options);
      if (!status) return status;
      return rotate(of_k.to, of_k.from, rows->rotations, options);
    });
  };
  job.verify = [=, run = job.run] {
    return rows->verify(run, {{q.view(), q_to.view()}, {k.view(), k_to.view()}});
  };
  return job;
}

}  // namespace rotary::bench

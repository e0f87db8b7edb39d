// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "bench/operations/operations.hpp"
#include "bench/operations/step.hpp"
#include "rotary/kv_cache.hpp"

namespace rotary::bench {
namespace {

// Keys, and a cache of twice their size. The keys go to its second half.
struct CacheStep {
  std::shared_ptr<StepRows> rows;
  Tensor keys;
  Tensor cache;

  [[nodiscard]] HeadsView second_half() const {
    const std::int64_t tokens = rows->setup.line.tokens;
    HeadsView view = cache.view();
    view.data = static_cast<std::byte*>(view.data) +
                tokens * view.strides.token * size_in_bytes(view.dtype);
    view.extents.tokens = tokens;
    return view;
  }
};

Result<CacheStep> make_cache_step(const Setup& setup) {
  auto rows = make_step_rows(setup);
  if (!rows) return rows.error();
  const HeadShape& shape = setup.line.operation->shape;
  Tensor cache(
      setup.line.dtype,
      {.tokens = 2 * setup.line.tokens, .heads = shape.key_heads, .features = shape.head_dim},
      setup.line.operation->cache_layout);
  cache.fill(3);
  return CacheStep{*std::move(rows), make_keys(setup.line), cache};
}

// The roofline is a plain copy of the keys to the same slots.
Roofline copy_of(const CacheStep& step) {
  Roofline roofline(step.rows->setup.executor);
  roofline.add_copy(step.second_half(), step.keys.view());
  return roofline;
}

Job job_of(const CacheStep& step, const std::function<Status(std::int64_t)>& run) {
  return {.verify =
              [=] {
                return step.rows->verify(run, {{step.keys.view(), step.second_half()}});
              },
          .run = run,
          .roofline = copy_of(step)};
}

}  // namespace

Result<Job> prepare_append(const Setup& setup) {
  const auto step = make_cache_step(setup);
  if (!step) return step.error();
  return job_of(*step, [step = *step](std::int64_t calls) {
    const StepRows& rows = *step.rows;
    const KvCache into{.k = step.cache.view()};
    const KvHeads heads{.k = step.keys.view()};
    const Slots slots = ConsecutiveSlots{.first = rows.setup.line.tokens};
    const AppendOptions options{.rotations = &rows.rotations, .executor = rows.setup.executor};
    return repeat(calls, [&] { return append(into, heads, slots, options); });
  });
}

// The alternative to append: rotates keys in place, then stores them.
Result<Job> prepare_rotate_then_copy(const Setup& setup) {
  const auto step = make_cache_step(setup);
  if (!step) return step.error();
  return job_of(*step, [step = *step, copy = copy_of(*step)](std::int64_t calls) {
    const HeadsView keys = step.keys.view();
    return repeat(calls, [&] {
      auto status = rotate(keys, keys, step.rows->rotations, step.rows->options());
      if (status) copy.run(1);
      return status;
    });
  });
}

}  // namespace rotary::bench

// SPDX-License-Identifier: Apache-2.0
#include "fuzz/turned.hpp"

#include <algorithm>
#include <string>

#include "check/keys.hpp"
#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "reference/forms.hpp"
#include "rotary/instruction_set.hpp"

namespace rotary::fuzz {
namespace {

// The given rows count as exact, so positions add no error.
check::Rotated rotated(const Head& before, const Head& after) {
  const auto set = instruction_set();
  const bool converts = before.dtype != after.dtype && after.dtype == DType::bf16;
  return {.dtype = after.dtype, .flushes = converts && set && *set == "AVX3_BF16"};
}

}  // namespace

Head head_before(const ConstHeadsView& view, Axes index, const Memory& memory) {
  Head head{.dtype = view.dtype};
  for (index[3] = 0; index[3] < view.extents.features; ++index[3])
    head.features.push_back(number_before(view, index, memory));
  return head;
}

Head head_after(const ConstHeadsView& view, Axes index, const Memory& memory) {
  return head_before(view, index, {.before = memory.after, .after = memory.after});
}

void check_turned(const Head& before, const Head& after, const TurnedBy& by) {
  const check::KeyTurn turn = check::turn_of(by.rotations, by.batch, by.token);
  check::Rotated rotation = rotated(before, after);
  rotation.direction = by.direction;
  rotation.attention_factor = turn.attention_factor;
  // The rows have the factor A, so the inverse divides by its square.
  const long double factor = by.direction == Direction::inverse ? turn.attention_factor : 1;
  const std::vector<long double> in(before.features.begin(), before.features.end());
  const auto exact = reference::rotate_by_elements(
      in, turn.window,
      {.angles = turn.row, .attention_factor = factor * factor, .direction = by.direction});
  const std::string fault = check::rotated_fault(turn.window, {in, exact, after.features}, rotation,
                                                 [](std::int64_t) { return 0; });
  if (!fault.empty()) fail("a head must be rotated within the bound", fault);
}

void check_turned(const ConstHeadsView& before, const ConstHeadsView& after, TurnedBy by,
                  const Memory& memory) {
  Strided heads = strided(after);
  heads.counts[3] = std::min<std::int64_t>(heads.counts[3], 1);
  for_each_element(heads, [&](const Axes& index) {
    by.batch = index[0];
    by.token = index[1];
    check_turned(head_before(before, index, memory), head_after(after, index, memory), by);
  });
}

void check_stored(const Head& before, const Head& after, std::string_view what) {
  const check::Rotated by = rotated(before, after);
  for (std::size_t f = 0; f < before.features.size(); ++f) {
    if (!check::is_stored(by, after.features[f], before.features[f])) fail(what);
  }
}

}  // namespace rotary::fuzz

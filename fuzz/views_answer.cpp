// SPDX-License-Identifier: Apache-2.0
#include "fuzz/views_answer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/rotations_fit.hpp"

namespace rotary::fuzz {
namespace {

// Whether two views, each valid alone, have distinct elements (only a destination must) and none in
// common.
Answer expected_of_elements(const ViewsCase& views, const std::byte* buffer) {
  const std::array both = {strided(views.dst), strided(views.src)};
  const std::span all(both);
  const bool in_place = views.operation == Operation::rotate &&
                        views.dst.dtype == views.src.dtype && are_same(both[0], both[1]);
  if (views.operation == Operation::rotate_qk) return expected_of_sharing(all, {}, buffer);
  return expected_of_sharing(all.first(1), in_place ? all.first(0) : all.last(1), buffer);
}

bool are_bad_together(const ViewsCase& views) {
  if (views.operation == Operation::rotate) {
    return views.src.dtype != views.dst.dtype || views.src.extents != views.dst.extents;
  }
  return views.src.extents.batch != views.dst.extents.batch;
}

}  // namespace

Answer expected_answer(const ViewsCase& views, const Rotations& rotations,
                       const std::byte* buffer) {
  const auto direction = static_cast<std::int32_t>(views.direction);
  if (direction < 1 || direction > 3) return Answer::refuse;
  for (const ConstHeadsView& view : {ConstHeadsView(views.dst), ConstHeadsView(views.src)}) {
    if (!is_well_formed(strided(view)) || !fits(view, rotations)) return Answer::refuse;
  }
  if (are_bad_together(views)) return Answer::refuse;
  return expected_of_elements(views, buffer);
}

}  // namespace rotary::fuzz

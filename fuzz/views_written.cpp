// SPDX-License-Identifier: Apache-2.0
#include "fuzz/views_written.hpp"

#include "fuzz/turned.hpp"

namespace rotary::fuzz {

void check_written(const ViewsCase& views, const Rotations& rotations, const Memory& memory) {
  const bool both = views.operation == Operation::rotate_qk;
  const ConstHeadsView first_source = both ? views.dst : views.src;
  check_turned({.before = first_source, .after = views.dst, .direction = views.direction},
               rotations, memory);
  if (both) {
    check_turned({.before = views.src, .after = views.src, .direction = views.direction}, rotations,
                 memory);
    put_back(strided(views.src), memory);
  }
  put_back(strided(views.dst), memory);
  check_unchanged(memory, "bytes that belong to no destination must stay");
}

}  // namespace rotary::fuzz

// SPDX-License-Identifier: Apache-2.0
// The edits of hypotheses about positions, and about 16-bit formats.
#include <optional>
#include <string>
#include <vector>

#include "base/message.hpp"
#include "identify/edits.hpp"

namespace rotary::identification {
namespace {

void list_narrow(std::string_view name, EditList& list, std::optional<DType> Operation::*rounded) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    list.add(precision_aspect, rows_field(name, "float32", std::string(to_string(dtype))),
             [dtype, rounded](Operation& operation) { operation.*rounded = dtype; });
  }
}

}  // namespace

void list_offsets(const Start& start, EditList& list) {
  if (!start.sample.has_positions) return;
  std::vector<double> offsets = {1, -1, 2, -2};
  const double first = start.sample.positions_on(0)[0];
  if (first != 0 && first != 1 && first != 2) offsets.push_back(-first);
  for (const double offset : offsets) {
    list.add(offset_aspect,
             rows_field("positions", "p",
                        message(offset > 0 ? "p + " : "p - ", offset > 0 ? offset : -offset)),
             [offset](Operation& operation) { operation.position_offset += offset; });
  }
}

void list_stretches(const Start& /*start*/, EditList& list) {
  for (const double factor : {2.0, 4.0, 8.0, 0.5, 0.25, 0.125}) {
    list.add(stretch_aspect, rows_field("positions", "p", message(factor, " p")),
             [factor](Operation& operation) { operation.position_factor *= factor; });
  }
}

void list_second_rotations(const Start& /*start*/, EditList& list) {
  list.add(stretch_aspect | attention_aspect, rows_field("rotations", "1", "2"),
           [](Operation& operation) {
             operation.position_factor *= 2;
             operation.position_offset *= 2;
             operation.attention_power = 2;
           });
}

void list_counted(const Start& start, EditList& list) {
  if (start.sample.heads > 1) {
    list.add(counted_aspect, rows_field("positions", "of the token", "the head's index"),
             [](Operation& operation) { operation.counted = Counted::head; });
  }
  if (start.sample.tokens > 1) {
    list.add(counted_aspect, rows_field("positions", "of the token", "of the first token"),
             [](Operation& operation) { operation.counted = Counted::first_token; });
  }
}

void list_rounded_positions(const Start& /*start*/, EditList& list) {
  list_narrow("positions", list, &Operation::positions_rounded);
}

void list_rounded_frequencies(const Start& /*start*/, EditList& list) {
  list_narrow("inv_freq", list, &Operation::frequencies_rounded);
}

void list_rounded_angles(const Start& /*start*/, EditList& list) {
  list_narrow("angles", list, &Operation::angles_rounded);
}

}  // namespace rotary::identification

// SPDX-License-Identifier: Apache-2.0
// The sizes that the bounds of one query depend on, and one set for all queries of a call.
#pragma once

#include <vector>

#include "reference/attention_case.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::test {

class Attended;

struct RowSizes {
  AttendedRow row;
  std::vector<double> values;  // [features] largest |v|, plus that of Shaw's vectors
};

[[nodiscard]] RowSizes sizes_of(const reference::AttentionCase& of,
                                const reference::QueryIndex& index);

// |error| of an element of out, of any row, for queries and keys that were rotated `turns` times in
// all, at positions of up to twice its keys.
[[nodiscard]] double bound_of(const Attended& call, int turns);

}  // namespace rotary::test

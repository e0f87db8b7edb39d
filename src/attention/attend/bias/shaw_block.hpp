// SPDX-License-Identifier: Apache-2.0
// Shaw's vectors in one block. Key vectors give each row a table of biases, which its scores start
// from. At the end, value vectors are multiplied by the sums of weights at each distance. Without
// vectors these functions do nothing.
#pragma once

#include "attention/attend/query_block.hpp"

namespace rotary {

// Loads the rows of `loading` without rotation and multiplies them with Shaw's key vectors. Returns
// false, and loads nothing, if there are no key vectors.
[[nodiscard]] bool score_shaw_keys(const BlockHead& head, const RowChunk& chunk,
                                   const kernels::QueriesJob& loading);

// Sets place_of_key_0, and the bias of key vectors, in the limits of all rows.
void set_shaw_limits(const BlockHead& head);

// Adds the value vectors to the state of the first split. Requires that this state, and the sinks
// and windows in scratch, cover all keys that the queries see. Overwrites the limits.
void add_shaw_values(const BlockHead& head);

}  // namespace rotary

// SPDX-License-Identifier: Apache-2.0
// Writes the outputs of a call: out, log_sum_exp and weights.
#pragma once

#include <cstdint>

#include "attention/attend/query_block.hpp"

namespace rotary {

// Writes the results of queries that belong to no sequence and so see no key.
void clear_gaps(const AttendCall& call);

// Zeroes the weights of all keys. Requires AttendCall::weights(), as does store_weights().
void clear_weights(const BlockHead& head);

// Stores the weights of a packed tile of keys, for up to rows_of_group rows from first_row on.
// Requires the rows' limits in scratch.
void store_weights(const BlockHead& head, std::int64_t first_row, const KeyRun& tile);

// Stores out and log_sum_exp from the state of the first split.
void store_results(const BlockHead& head);

}  // namespace rotary

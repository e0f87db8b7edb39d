/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ROTARY_TESTS_C_API_FIXTURES_H
#define ROTARY_TESTS_C_API_FIXTURES_H

#include "rotary/rotary.h"

/* Returns NULL after a failed check. */
rotary_frequencies* frequencies_of(const char* spec_json);

rotary_positions consecutive(int64_t first, int64_t tokens);

/* Contiguous [1, tokens, heads, features]. */
rotary_heads_view view_of(void* data, int32_t dtype, const int64_t extents[3]);

#endif /* ROTARY_TESTS_C_API_FIXTURES_H */

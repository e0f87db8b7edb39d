/* SPDX-License-Identifier: Apache-2.0 */
/* Shared setup of several tests, and the expected result of a rotation by plain formulas. */
#ifndef ROTARY_TESTS_C_API_FIXTURES_H
#define ROTARY_TESTS_C_API_FIXTURES_H

#include "rotary/rotary.h"

/* For a spec, or for consecutive positions; NULL after a failed check. */
rotary_frequencies* frequencies_of(const char* spec_json);
rotary_rotations* rotations_of(const rotary_frequencies* frequencies, int64_t first, int64_t tokens,
                               int32_t rows);

rotary_positions consecutive(int64_t first, int64_t tokens);

/* Contiguous [1, tokens, heads, features]. */
rotary_heads_view view_of(void* data, int32_t dtype, const int64_t extents[3]);

/* The element of a view of f32 or f64. */
double element_at(const rotary_heads_view* view, const int64_t index[4]);

/* Different numbers of both signs. */
void fill(rotary_heads_view* view, double offset);

/* The expected elements of a view. */
typedef struct expected_rotation {
  const rotary_frequencies* frequencies;
  const double* positions; /* [tokens] */
  double sign;             /* of the angle: -1 for the inverse */
} expected_rotation;

/* Checks that result is the rotation of original: within the bound of docs/numeric-contract.md for
 * A = 1 where features turn, the same bits elsewhere. */
void check_rotated(const rotary_heads_view* result, const rotary_heads_view* original,
                   const expected_rotation* expected);

#endif /* ROTARY_TESTS_C_API_FIXTURES_H */

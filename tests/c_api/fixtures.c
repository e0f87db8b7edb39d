/* SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

#include <math.h>
#include <string.h>

#include "check.h"

rotary_frequencies* frequencies_of(const char* spec_json) {
  rotary_frequencies* frequencies = NULL;
  CHECK_OK(rotary_frequencies_of_spec(spec_json, strlen(spec_json), &frequencies));
  return frequencies;
}

rotary_positions consecutive(int64_t first, int64_t tokens) {
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  positions.first = first;
  positions.tokens = tokens;
  return positions;
}

rotary_rotations* rotations_of(const rotary_frequencies* frequencies, int64_t first, int64_t tokens,
                               int32_t rows) {
  const rotary_positions positions = consecutive(first, tokens);
  rotary_rotations_options options = ROTARY_ROTATIONS_OPTIONS_INIT;
  rotary_rotations* rotations = NULL;
  options.rows = rows;
  CHECK_OK(rotary_rotations_make(frequencies, &positions, &options, &rotations));
  return rotations;
}

rotary_heads_view view_of(void* data, int32_t dtype, const int64_t extents[3]) {
  rotary_heads_view view = ROTARY_HEADS_VIEW_INIT;
  view.data = data;
  view.dtype = dtype;
  view.extents[1] = extents[0];
  view.extents[2] = extents[1];
  view.extents[3] = extents[2];
  view.strides[0] = extents[0] * extents[1] * extents[2];
  view.strides[1] = extents[1] * extents[2];
  view.strides[2] = extents[2];
  return view;
}

static int64_t offset_of(const rotary_heads_view* view, const int64_t index[4]) {
  int64_t offset = 0;
  for (int axis = 0; axis < 4; ++axis) offset += index[axis] * view->strides[axis];
  return offset;
}

double element_at(const rotary_heads_view* view, const int64_t index[4]) {
  const int64_t offset = offset_of(view, index);
  if (view->dtype == ROTARY_F64) return ((const double*)view->data)[offset];
  return (double)((const float*)view->data)[offset];
}

/* Moves to the next index of the view; 0 after the last. */
static int advance(const rotary_heads_view* view, int64_t index[4]) {
  for (int axis = 3; axis >= 0; --axis) {
    if (++index[axis] < view->extents[axis]) return 1;
    index[axis] = 0;
  }
  return 0;
}

void fill(rotary_heads_view* view, double offset) {
  int64_t index[4] = {0, 0, 0, 0};
  double number = offset;
  do {
    const double value = sin(number) + 0.01 * number;
    const int64_t at = offset_of(view, index);
    if (view->dtype == ROTARY_F64) {
      ((double*)view->data)[at] = value;
    } else {
      ((float*)view->data)[at] = (float)value;
    }
    number += 1;
  } while (advance(view, index));
}

/* The pair that a feature belongs to, and its place in it; 0 when the feature does not turn. */
static int find_pair(const rotary_window* window, int64_t feature, int64_t pair[3]) {
  const int64_t f = feature - window->first_feature;
  const int64_t half = window->rotary_dim / 2;
  if (f < 0 || f >= window->rotary_dim) return 0;
  if (window->pairing == ROTARY_PAIRING_HALF) {
    pair[0] = f % half;
    pair[1] = window->first_feature + pair[0];
    pair[2] = pair[1] + half;
  } else {
    pair[0] = f / 2;
    pair[1] = window->first_feature + 2 * pair[0];
    pair[2] = pair[1] + 1;
  }
  return 1;
}

/* Bounds of docs/numeric-contract.md for A = 1 and positions below 1000, relative to the pair. */
static long double bound(int32_t dtype) {
  if (dtype == ROTARY_F64)
    return (2 + 1.4143L * (1000 * ldexpl(1, -62) + ldexpl(1, -50)) * ldexpl(1, 53)) *
           (1 + ldexpl(1, -20)) * ldexpl(1, -53);
  return (3 + ldexpl(1, -18)) * ldexpl(1, -24);
}

static void check_element(const rotary_heads_view* result, const rotary_heads_view* original,
                          const expected_rotation* expected, const int64_t index[4],
                          const rotary_window* window) {
  int64_t pair[3];
  if (!find_pair(window, index[3], pair)) {
    CHECK(element_at(result, index) == element_at(original, index));
    return;
  }
  const int64_t at_x[4] = {index[0], index[1], index[2], pair[1]};
  const int64_t at_y[4] = {index[0], index[1], index[2], pair[2]};
  const long double x = element_at(original, at_x);
  const long double y = element_at(original, at_y);
  const long double inv_freq = rotary_frequencies_inv_freq(expected->frequencies)[pair[0]];
  const long double angle = expected->sign * expected->positions[index[1]] * inv_freq;
  const long double wanted =
      index[3] == pair[1] ? x * cosl(angle) - y * sinl(angle) : x * sinl(angle) + y * cosl(angle);
  CHECK(fabsl(element_at(result, index) - wanted) <= bound(result->dtype) * hypotl(x, y));
}

void check_rotated(const rotary_heads_view* result, const rotary_heads_view* original,
                   const expected_rotation* expected) {
  int64_t index[4] = {0, 0, 0, 0};
  rotary_window window = ROTARY_WINDOW_INIT;
  if (!CHECK_OK(rotary_frequencies_window(expected->frequencies, &window))) return;
  do {
    check_element(result, original, expected, index, &window);
  } while (advance(result, index));
}

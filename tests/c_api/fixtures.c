/* SPDX-License-Identifier: Apache-2.0 */
#include "fixtures.h"

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

/* SPDX-License-Identifier: Apache-2.0 */
/* From the text of a model's config.json to rotated queries and keys in C99.
 * Run: rotate */
#include <stdio.h>
#include <stdlib.h>

#include "rotary/rotary.h"

static const char config[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 4096, \"num_attention_heads\": 32,"
    " \"num_hidden_layers\": 32, \"max_position_embeddings\": 131072, \"rope_theta\": 500000.0,"
    " \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0,"
    " \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192}}";

static void require(rotary_status status) {
  if (status == ROTARY_OK) return;
  fprintf(stderr, "%s\n", rotary_last_error());
  exit(1);
}

/* Contiguous [1, tokens, heads, features]. */
static rotary_heads_view view_of(float* data, int64_t tokens, int64_t heads, int64_t features) {
  rotary_heads_view view = ROTARY_HEADS_VIEW_INIT;
  view.data = data;
  view.dtype = ROTARY_F32;
  view.extents[1] = tokens;
  view.extents[2] = heads;
  view.extents[3] = features;
  view.strides[1] = heads * features;
  view.strides[2] = features;
  return view;
}

int main(void) {
  static float q[2 * 32 * 128], k[2 * 8 * 128]; /* [tokens, heads, head_dim] */
  rotary_heads_view q_view = view_of(q, 2, 32, 128);
  rotary_heads_view k_view = view_of(k, 2, 8, 128);
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  rotary_model* model;
  rotary_frequencies* frequencies;
  rotary_rotations* rotations;
  for (size_t i = 0; i < sizeof q / sizeof *q; ++i) q[i] = 1;
  for (size_t i = 0; i < sizeof k / sizeof *k; ++i) k[i] = 1;

  require(rotary_model_resolve(config, sizeof config - 1, NULL, &model)); /* once for a model */
  require(rotary_frequencies_of_model(model, 0, &frequencies));           /* once for a model */
  positions.first = 1000;
  positions.tokens = 2;
  require(rotary_rotations_make(frequencies, &positions, NULL, &rotations)); /* once for a step */
  require(rotary_rotate_qk(&q_view, &k_view, rotations, NULL));              /* in each layer */
  printf("k of token 0, at position 1000: %f, %f, %f, …\n", k[0], k[1], k[2]);

  rotary_rotations_free(rotations);
  rotary_frequencies_free(frequencies);
  rotary_model_free(model);
  /* Features 0 and 64 are a pair (pairing half), whose length stays. */
  const float squares = k[0] * k[0] + k[64] * k[64];
  return squares > 1.9999f && squares < 2.0001f ? 0 : 1;
}

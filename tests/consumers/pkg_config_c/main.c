/* SPDX-License-Identifier: Apache-2.0 */
/* Rotates heads for a model's config, by hand and with rotary on two threads. Then resolves an
 * unknown config. Exit status 0: the results agree, and the unknown config is refused. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rotary/rotary.h"
#include "rotary/rotary_threads.h"

enum { FIRST = 7, TOKENS = 256, FEATURES = 4 };

static double q[TOKENS][FEATURES];

static rotary_status frequencies_of_config(const char* config, rotary_frequencies** out) {
  rotary_model* model = NULL;
  rotary_status status = rotary_model_resolve(config, strlen(config), NULL, &model);
  if (status == ROTARY_OK) {
    const int64_t rotary = rotary_model_rotary_of_layer(model, 0);
    status = rotary_frequencies_of_model(model, rotary, out);
  }
  rotary_model_free(model);
  return status;
}

static rotary_status rotate_on_threads(const rotary_rotations* rotations) {
  rotary_heads_view view = ROTARY_HEADS_VIEW_INIT;
  view.data = q;
  view.dtype = ROTARY_F64;
  view.extents[1] = TOKENS;
  view.extents[2] = 1;
  view.extents[3] = FEATURES;
  view.strides[1] = FEATURES;

  rotary_executor executor = ROTARY_EXECUTOR_INIT;
  rotary_rotate_options options = ROTARY_ROTATE_OPTIONS_INIT;
  options.executor = &executor;
  rotary_threads* threads = NULL;
  rotary_status status = rotary_threads_start(2, &threads);
  if (status == ROTARY_OK) status = rotary_threads_executor(threads, &executor);
  if (status == ROTARY_OK) status = rotary_rotate(&view, &view, rotations, &options);
  rotary_threads_stop(threads);
  return status;
}

static rotary_status rotate(const rotary_frequencies* frequencies) {
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  positions.first = FIRST;
  positions.tokens = TOKENS;
  rotary_rotations_options options = ROTARY_ROTATIONS_OPTIONS_INIT;
  options.rows = ROTARY_F64;
  rotary_rotations* rotations = NULL;
  rotary_status status = rotary_rotations_make(frequencies, &positions, &options, &rotations);
  if (status == ROTARY_OK) status = rotate_on_threads(rotations);
  rotary_rotations_free(rotations);
  return status;
}

/* The largest error of rotated heads of ones. Pair i, of features i and i + FEATURES / 2, rotates
 * by 1 or 1/100 radian per position. */
static double largest_error(void) {
  double largest = 0;
  for (int t = 0; t < TOKENS; ++t) {
    for (int i = 0; i < FEATURES / 2; ++i) {
      const double angle = (FIRST + t) * (i == 0 ? 1.0 : 0.01);
      const double error = hypot(q[t][i] - (cos(angle) - sin(angle)),
                                 q[t][i + FEATURES / 2] - (sin(angle) + cos(angle)));
      largest = fmax(largest, error);
    }
  }
  return largest;
}

int main(void) {
  const char* config =
      "{\"model_type\": \"llama\", \"hidden_size\": 8, \"num_attention_heads\": 2,"
      " \"num_hidden_layers\": 1, \"rope_theta\": 10000.0}";
  for (int i = 0; i < TOKENS * FEATURES; ++i) q[i / FEATURES][i % FEATURES] = 1;
  rotary_frequencies* frequencies = NULL;
  rotary_status status = frequencies_of_config(config, &frequencies);
  if (status == ROTARY_OK) status = rotate(frequencies);
  rotary_frequencies_free(frequencies);
  if (status != ROTARY_OK) {
    fprintf(stderr, "%s: %s\n", rotary_status_name(status), rotary_last_error());
    return 1;
  }
  printf("C: off by %.1e\n", largest_error());

  status = frequencies_of_config("{\"model_type\": \"no such model\"}", &frequencies);
  printf("refused: %s\n", rotary_last_error());
  return largest_error() < 1e-13 && status == ROTARY_UNSUPPORTED ? 0 : 1;
}

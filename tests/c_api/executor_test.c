/* SPDX-License-Identifier: Apache-2.0 */
/* Calls use the caller's executor and give the same results with it. */
#include <string.h>

#include "check.h"
#include "fixtures.h"

typedef struct counts {
  int calls;
  int64_t tasks;
} counts;

/* The last task first: any order will do. */
static void run_backwards(void* context, int64_t count, rotary_task task, void* state) {
  counts* const seen = context;
  ++seen->calls;
  seen->tasks += count;
  for (int64_t index = count - 1; index >= 0; --index) task(state, index);
}

enum { features = 8 };

static void rotate_by(const rotary_executor* executor, int64_t tokens, float* data) {
  const int64_t extents[3] = {tokens, 1, features};
  rotary_heads_view view = view_of(data, ROTARY_F32, extents);
  rotary_rotate_options options = ROTARY_ROTATE_OPTIONS_INIT;
  rotary_frequencies* const frequencies =
      frequencies_of("{\"head_dim\": 8, \"base\": 10000, \"pairing\": \"half\"}");
  rotary_rotations* const rotations = rotations_of(frequencies, 11, tokens, ROTARY_F32);
  options.executor = executor;
  fill(&view, 0);
  CHECK_OK(rotary_rotate(&view, &view, rotations, &options));
  rotary_rotations_free(rotations);
  rotary_frequencies_free(frequencies);
}

void test_executor(void) {
  static float alone[200 * features], shared[200 * features];
  rotary_executor executor = ROTARY_EXECUTOR_INIT;
  counts seen = {0, 0};
  rotate_by(NULL, 200, alone);
  rotate_by(&executor, 200, shared); /* run is NULL */
  CHECK(memcmp(alone, shared, sizeof alone) == 0);

  executor.context = &seen;
  executor.run = run_backwards;
  executor.concurrency = 3;
  rotate_by(&executor, 200, shared);
  CHECK(seen.calls == 1 && seen.tasks > 1 && seen.tasks <= 3);
  CHECK(memcmp(alone, shared, sizeof alone) == 0);

  rotate_by(&executor, 63, shared); /* too few to be worth it */
  CHECK(seen.calls == 1);
}

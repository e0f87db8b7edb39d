/* SPDX-License-Identifier: Apache-2.0 */
/* rotary through its C ABI: makes the rows of the step, then rotates q and k. */
#include <stdlib.h>
#include <string.h>

#include "conformance/peers/native/peers.h"
#include "rotary/rotary.h"
#include "rotary/rotary_threads.h"

typedef struct rotary_rope {
  peers_job job;
  rotary_heads_view q, k, q_out, k_out;
  rotary_positions positions;
  rotary_frequencies* frequencies;
  rotary_rotations* rotations;
  rotary_threads* threads;
  rotary_executor executor;
  rotary_rotate_options options;
} rotary_rope;

static rotary_heads_view view_of(const peers_job* job, void* data, int64_t heads) {
  rotary_heads_view view = ROTARY_HEADS_VIEW_INIT;
  view.data = data;
  view.dtype = job->dtype;
  view.extents[1] = job->tokens;
  view.extents[2] = heads;
  view.extents[3] = job->head_dim;
  view.strides[0] = job->tokens * heads * job->head_dim;
  view.strides[1] = heads * job->head_dim;
  view.strides[2] = job->head_dim;
  return view;
}

static rotary_status start_threads(rotary_rope* rope) {
  if (rope->job.threads < 2) return ROTARY_OK;
  rotary_status status = rotary_threads_start(rope->job.threads, &rope->threads);
  if (status == ROTARY_OK) status = rotary_threads_executor(rope->threads, &rope->executor);
  rope->options.executor = &rope->executor;
  return status;
}

static rotary_status make_rows(rotary_rope* rope) {
  const char* spec = rope->job.spec;
  rotary_status status = rotary_frequencies_of_spec(spec, strlen(spec), &rope->frequencies);
  if (status != ROTARY_OK) return status;
  return rotary_rotations_make(rope->frequencies, &rope->positions, NULL, &rope->rotations);
}

void* peers_rotary_make(const peers_job* job) {
  rotary_rope* rope = calloc(1, sizeof *rope);
  if (rope == NULL) return NULL;
  rope->job = *job;
  rope->q = view_of(job, job->q, job->query_heads);
  rope->k = view_of(job, job->k, job->key_heads);
  rope->q_out = view_of(job, job->q_out, job->query_heads);
  rope->k_out = view_of(job, job->k_out, job->key_heads);
  rope->positions = (rotary_positions)ROTARY_POSITIONS_INIT;
  rope->positions.first = job->first;
  rope->positions.tokens = job->tokens;
  rope->executor = (rotary_executor)ROTARY_EXECUTOR_INIT;
  rope->options = (rotary_rotate_options)ROTARY_ROTATE_OPTIONS_INIT;
  if (start_threads(rope) == ROTARY_OK && make_rows(rope) == ROTARY_OK) return rope;
  peers_rotary_free(rope);
  return NULL;
}

static rotary_status step(rotary_rope* rope) {
  rotary_status status = ROTARY_OK;
  if (rope->job.rows == PEERS_ROWS_IN_EACH_CALL) {
    status = rotary_rotations_remake(rope->rotations, rope->frequencies, &rope->positions);
    if (status != ROTARY_OK) return status;
  }
  if (rope->job.q == rope->job.q_out) {
    return rotary_rotate_qk(&rope->q, &rope->k, rope->rotations, &rope->options);
  }
  status = rotary_rotate(&rope->q_out, &rope->q, rope->rotations, &rope->options);
  if (status != ROTARY_OK) return status;
  return rotary_rotate(&rope->k_out, &rope->k, rope->rotations, &rope->options);
}

int64_t peers_rotary_time(void* made, int64_t calls) {
  const int64_t start = nanoseconds_now();
  for (int64_t call = 0; call < calls; ++call) {
    if (step(made) != ROTARY_OK) return -1;
  }
  return nanoseconds_now() - start;
}

void peers_rotary_free(void* made) {
  rotary_rope* rope = made;
  if (rope == NULL) return;
  rotary_rotations_free(rope->rotations);
  rotary_frequencies_free(rope->frequencies);
  rotary_threads_stop(rope->threads);
  free(rope);
}

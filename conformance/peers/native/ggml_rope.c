/* SPDX-License-Identifier: Apache-2.0 */
/* ggml's rope: one graph with a node for q and one for k, made once and computed in a loop.
 * Threads are kept between calls. Results are in place, or in other tensors as in llama.cpp. */
#include <ggml-cpu.h>
#include <ggml.h>
#include <stdlib.h>

#include "conformance/peers/native/clock.h"
#include "conformance/peers/native/ggml_run.h"
#include "conformance/peers/native/peers.h"
#include "rotary/rotary.h"

typedef struct ggml_rope_job {
  struct ggml_context* context;
  ggml_run run;
  int32_t* positions;
} ggml_rope_job;

static struct ggml_tensor* rope_of(const ggml_rope_job* made, const peers_job* job,
                                   struct ggml_tensor* positions, int64_t heads) {
  const enum ggml_type type = job->dtype == ROTARY_F16 ? GGML_TYPE_F16 : GGML_TYPE_F32;
  const int mode =
      job->pairing == ROTARY_PAIRING_HALF ? GGML_ROPE_TYPE_NEOX : GGML_ROPE_TYPE_NORMAL;
  const int features = (int)job->head_dim;
  const int original_context = 8192; /* read only by YaRN, which ext_factor 0 turns off */
  struct ggml_tensor* x =
      ggml_new_tensor_3d(made->context, type, job->head_dim, heads, job->tokens);
  const int is_query = heads == job->query_heads;
  x->data = is_query ? job->q : job->k;
  if (job->q == job->q_out) {
    return ggml_rope_ext_inplace(made->context, x, positions, NULL, features, mode,
                                 original_context, (float)job->base, 1, 0, 1, 32, 1);
  }
  struct ggml_tensor* out = ggml_rope_ext(made->context, x, positions, NULL, features, mode,
                                          original_context, (float)job->base, 1, 0, 1, 32, 1);
  out->data = is_query ? job->q_out : job->k_out;
  return out;
}

static struct ggml_tensor* positions_of(ggml_rope_job* made, const peers_job* job) {
  made->positions = malloc((size_t)job->tokens * sizeof *made->positions);
  if (made->positions == NULL) return NULL;
  for (int64_t t = 0; t < job->tokens; ++t) made->positions[t] = (int32_t)(job->first + t);
  struct ggml_tensor* positions = ggml_new_tensor_1d(made->context, GGML_TYPE_I32, job->tokens);
  positions->data = made->positions;
  return positions;
}

static int make_graph(ggml_rope_job* made, const peers_job* job) {
  enum { tensors = 8 }; /* q, k, positions, two results */
  const struct ggml_init_params parameters = {
      .mem_size = tensors * ggml_tensor_overhead() + ggml_graph_overhead_custom(tensors, false),
      .mem_buffer = NULL,
      .no_alloc = true,
  };
  made->context = ggml_init(parameters);
  if (made->context == NULL) return 0;
  struct ggml_tensor* positions = positions_of(made, job);
  if (positions == NULL) return 0;
  made->run.graph = ggml_new_graph_custom(made->context, tensors, false);
  ggml_build_forward_expand(made->run.graph, rope_of(made, job, positions, job->query_heads));
  ggml_build_forward_expand(made->run.graph, rope_of(made, job, positions, job->key_heads));
  return 1;
}

void* peers_ggml_make(const peers_job* job) {
  const int known = job->dtype == ROTARY_F32 || job->dtype == ROTARY_F16;
  if (!known || job->query_heads == job->key_heads) return NULL; /* rope_of compares heads */
  ggml_rope_job* made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  ggml_cpu_init();
  if (make_graph(made, job) && ggml_run_make(&made->run, job->threads)) return made;
  peers_ggml_free(made);
  return NULL;
}

int64_t peers_ggml_time(void* made, int64_t calls) {
  ggml_rope_job* job = made;
  const int64_t start = nanoseconds_now();
  for (int64_t call = 0; call < calls; ++call) {
    if (!ggml_run_compute(&job->run)) return -1;
  }
  return nanoseconds_now() - start;
}

void peers_ggml_free(void* made) {
  ggml_rope_job* job = made;
  if (job == NULL) return;
  ggml_run_free(&job->run);
  if (job->context != NULL) ggml_free(job->context);
  free(job->positions);
  free(job);
}

const char* peers_ggml_version(void) { return ggml_version(); }

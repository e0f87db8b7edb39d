/* SPDX-License-Identifier: Apache-2.0 */
/* ggml's rope: one graph with a node for q and one for k, made once and computed in a loop.
 * Threads are kept between calls. Results are in place, or in other tensors as in llama.cpp. */
#include <ggml-cpu.h>
#include <ggml.h>
#include <stdlib.h>

#include "conformance/peers/native/ggml_run.h"
#include "conformance/peers/native/peers.h"
#include "rotary/rotary.h"

static struct ggml_tensor* rope_of(const ggml_run* run, const peers_job* job,
                                   struct ggml_tensor* positions, int64_t heads) {
  const enum ggml_type type = job->dtype == ROTARY_F16 ? GGML_TYPE_F16 : GGML_TYPE_F32;
  const int mode =
      job->pairing == ROTARY_PAIRING_HALF ? GGML_ROPE_TYPE_NEOX : GGML_ROPE_TYPE_NORMAL;
  const int original_context = 8192; /* read only by YaRN, which ext_factor 0 turns off */
  struct ggml_tensor* x = ggml_new_tensor_3d(run->context, type, job->head_dim, heads, job->tokens);
  const int is_query = heads == job->query_heads;
  x->data = is_query ? job->q : job->k;
  struct ggml_tensor* out = (job->q == job->q_out ? ggml_rope_ext_inplace : ggml_rope_ext)(
      run->context, x, positions, NULL, (int)job->head_dim, mode, original_context,
      (float)job->base, 1, 0, 1, 32, 1);
  out->data = is_query ? job->q_out : job->k_out;
  return out;
}

static int make_graph(ggml_run* run, const peers_job* job) {
  if (!ggml_run_begin(run, 8)) return 0; /* q, k, positions, two results */
  struct ggml_tensor* positions = ggml_run_positions(run, job->first, job->tokens);
  if (positions == NULL) return 0;
  ggml_build_forward_expand(run->graph, rope_of(run, job, positions, job->query_heads));
  ggml_build_forward_expand(run->graph, rope_of(run, job, positions, job->key_heads));
  return 1;
}

void* peers_ggml_make(const peers_job* job) {
  const int known = job->dtype == ROTARY_F32 || job->dtype == ROTARY_F16;
  if (!known || job->query_heads == job->key_heads) return NULL; /* rope_of compares heads */
  ggml_run* run = calloc(1, sizeof *run);
  if (run == NULL) return NULL;
  if (make_graph(run, job) && ggml_run_make(run, job->threads)) return run;
  peers_ggml_free(run);
  return NULL;
}

int64_t peers_ggml_time(void* made, int64_t calls) {
  const int64_t start = nanoseconds_now();
  for (int64_t call = 0; call < calls; ++call) {
    if (!ggml_run_compute(made)) return -1;
  }
  return nanoseconds_now() - start;
}

void peers_ggml_free(void* made) {
  if (made == NULL) return;
  ggml_run_free(made);
  free(made);
}

const char* peers_ggml_version(void) { return ggml_version(); }

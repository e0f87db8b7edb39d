/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a graph of ggml without the data of its tensors, and computes it repeatedly. Keeps its
 * threads between calls. */
#ifndef ROTARY_BENCH_PEERS_GGML_RUN_H
#define ROTARY_BENCH_PEERS_GGML_RUN_H

#include <ggml-cpu.h>
#include <ggml.h>
#include <stdlib.h>

typedef struct ggml_run {
  struct ggml_context* context;
  struct ggml_cgraph* graph;
  struct ggml_cplan plan;
  struct ggml_threadpool* pool; /* NULL: one thread */
  int32_t* positions;
  uint8_t* work;
} ggml_run;

/* Makes a context and an empty graph. Returns 0 if memory runs out. Call ggml_run_free() even then.
 */
static inline int ggml_run_begin(ggml_run* run, size_t tensors) {
  const struct ggml_init_params parameters = {
      .mem_size = tensors * ggml_tensor_overhead() + ggml_graph_overhead_custom(tensors, false),
      .mem_buffer = NULL,
      .no_alloc = true,
  };
  ggml_cpu_init();
  run->context = ggml_init(parameters);
  if (run->context == NULL) return 0;
  run->graph = ggml_new_graph_custom(run->context, tensors, false);
  return 1;
}

/* Positions first, first + 1, …; NULL if memory runs out. */
static inline struct ggml_tensor* ggml_run_positions(ggml_run* run, int64_t first, int64_t tokens) {
  run->positions = malloc((size_t)tokens * sizeof *run->positions);
  if (run->positions == NULL) return NULL;
  for (int64_t t = 0; t < tokens; ++t) run->positions[t] = (int32_t)(first + t);
  struct ggml_tensor* positions = ggml_new_tensor_1d(run->context, GGML_TYPE_I32, tokens);
  positions->data = run->positions;
  return positions;
}

/* Plans the finished graph. Returns 0 if memory or threads run out. */
static inline int ggml_run_make(ggml_run* run, int32_t threads) {
  if (threads > 1) {
    struct ggml_threadpool_params parameters = ggml_threadpool_params_default(threads);
    run->pool = ggml_threadpool_new(&parameters);
    if (run->pool == NULL) return 0;
  }
  run->plan = ggml_graph_plan(run->graph, threads, run->pool);
  run->work = malloc(run->plan.work_size + 1);
  run->plan.work_data = run->work;
  return run->work != NULL;
}

static inline int ggml_run_compute(ggml_run* run) {
  return ggml_graph_compute(run->graph, &run->plan) == GGML_STATUS_SUCCESS;
}

static inline void ggml_run_free(ggml_run* run) {
  if (run->pool != NULL) ggml_threadpool_free(run->pool);
  if (run->context != NULL) ggml_free(run->context);
  free(run->positions);
  free(run->work);
}

#endif /* ROTARY_BENCH_PEERS_GGML_RUN_H */

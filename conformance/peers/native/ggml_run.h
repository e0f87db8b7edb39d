/* SPDX-License-Identifier: Apache-2.0 */
/* Computes a graph of ggml repeatedly and keeps its threads between calls. */
#ifndef ROTARY_BENCH_PEERS_GGML_RUN_H
#define ROTARY_BENCH_PEERS_GGML_RUN_H

#include <ggml-cpu.h>
#include <ggml.h>
#include <stdlib.h>

typedef struct ggml_run {
  struct ggml_cgraph* graph;
  struct ggml_cplan plan;
  struct ggml_threadpool* pool; /* NULL: one thread */
  uint8_t* work;
} ggml_run;

/* Returns 0 if memory or threads run out. Call ggml_run_free() even then. */
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
  free(run->work);
}

#endif /* ROTARY_BENCH_PEERS_GGML_RUN_H */

/* SPDX-License-Identifier: Apache-2.0 */
/* Causal attention of ours and of ggml, for tools/bench/peers/attention_measure.py, which calls and
 * times them. Every make returns NULL when it cannot; every run returns 0, or -1. */
#ifndef ROTARY_BENCH_PEERS_ATTENTION_H
#define ROTARY_BENCH_PEERS_ATTENTION_H

/* C says these things so. */
/* NOLINTBEGIN(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */
#include <stdint.h>

#include "rotary/export.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ATTENTION_NONE = 1, ATTENTION_ROPE = 2, ATTENTION_ALIBI = 3, ATTENTION_T5 = 4 };

/* q, k, v and out are float32 [tokens, heads, head_dim], contiguous; token t stands at position t.
 * Members mirror class AttentionJob of tools/bench/peers/attention_native.py. */
typedef struct attention_job {
  float* q;
  float* k;
  float* v;
  float* out;
  const float* t5_table; /* [32 buckets, heads]; ours */
  void* mask; /* float16 [1 or heads, tokens, tokens], what is added to a score; ggml's */
  int64_t tokens;
  int64_t heads;
  int64_t head_dim;
  double base;
  int32_t encoding; /* ATTENTION_… */
  int32_t mask_heads;
  int32_t cache_is_f16; /* ggml: k and v are float16 */
} attention_job;

ROTARY_API void* attention_rotary_make(const attention_job* job);
ROTARY_API int32_t attention_rotary_run(void* made);
ROTARY_API int64_t attention_rotary_bytes(void* made); /* what a call works in */
ROTARY_API void attention_rotary_free(void* made);

ROTARY_API void* attention_ggml_make(const attention_job* job);
ROTARY_API int32_t attention_ggml_run(void* made);
ROTARY_API int64_t attention_ggml_bytes(void* made); /* the same */
ROTARY_API void attention_ggml_free(void* made);

/* Speed of multiply-adds on one core: does `steps` steps and returns the number of operations. */
ROTARY_API double attention_peak(int64_t steps);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */

#endif /* ROTARY_BENCH_PEERS_ATTENTION_H */

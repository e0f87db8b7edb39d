/* SPDX-License-Identifier: Apache-2.0 */
/* Causal attention of rotary and of ggml, called and timed by
 * conformance/peers/attention_measure.py. On failure make returns NULL and run returns -1. */
#ifndef ROTARY_BENCH_PEERS_ATTENTION_H
#define ROTARY_BENCH_PEERS_ATTENTION_H

/* C needs these forms. */
/* NOLINTBEGIN(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */
#include <stdint.h>

#include "rotary/export.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ATTENTION_NONE = 1, ATTENTION_ROPE = 2, ATTENTION_ALIBI = 3, ATTENTION_T5 = 4 };

/* The dtype of q, k, v and the result. ATTENTION_F16 (only ggml): k and v are float16, the others
 * float32. ATTENTION_8_BITS: all are float32. rotary quantizes k and v once, with a scale for each
 * head and token; ggml stores k as q8_0 and v as float16. */
enum { ATTENTION_F32 = 1, ATTENTION_BF16 = 2, ATTENTION_F16 = 3, ATTENTION_8_BITS = 4 };

/* Contiguous: [heads, tokens, head_dim] for rotary, [tokens, heads, head_dim] for ggml. Key c is at
 * position c, the last query at the last key's. Members mirror class AttentionJob of
 * conformance/peers/attention_native.py. */
typedef struct attention_job {
  void* q;
  void* k;
  void* v;
  void* out;
  const float* t5_table; /* [32 buckets, heads]; for rotary */
  void* mask; /* float16 [1 or heads, queries, keys], added to scores; for ggml; or NULL */
  int64_t queries;
  int64_t keys;
  int64_t heads;
  int64_t key_heads;
  int64_t head_dim;
  double base;
  int32_t encoding; /* ATTENTION_NONE, … */
  int32_t mask_heads;
  int32_t dtype; /* ATTENTION_F32, … */
  int32_t threads;
} attention_job;

ROTARY_API void* attention_rotary_make(const attention_job* job);
ROTARY_API int32_t attention_rotary_run(void* made);
ROTARY_API int64_t attention_rotary_bytes(void* made); /* working memory of a call */
ROTARY_API void attention_rotary_free(void* made);

ROTARY_API void* attention_ggml_make(const attention_job* job);
ROTARY_API int32_t attention_ggml_run(void* made);
ROTARY_API int64_t attention_ggml_bytes(void* made); /* working memory of a call */
ROTARY_API void attention_ggml_free(void* made);

/* Speed of multiply-adds on one core: does `steps` steps and returns the number of operations. */
ROTARY_API double attention_peak(int64_t steps);

/* Reads count bytes once, in order: the roofline of a decode step. */
ROTARY_API void attention_read(const void* data, int64_t count);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */

#endif /* ROTARY_BENCH_PEERS_ATTENTION_H */

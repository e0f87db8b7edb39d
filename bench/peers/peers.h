/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over one job, for tools/bench/peers, which calls them through ctypes. Every make returns
 * NULL when it cannot; every time returns the nanoseconds of all calls together, or -1. */
#ifndef ROTARY_BENCH_PEERS_PEERS_H
#define ROTARY_BENCH_PEERS_PEERS_H

/* C says these things so. */
/* NOLINTBEGIN(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */
#include <stdint.h>

#include "rotary/export.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PEERS_ROWS_PREPARED = 1, PEERS_ROWS_IN_EACH_CALL = 2 };

/* Queries [tokens, query_heads, head_dim] and keys [tokens, key_heads, head_dim], contiguous, at
 * the positions first, first + 1, … In place where the outputs are the inputs. Members mirror class
 * Job of tools/bench/peers/native.py. */
typedef struct peers_job {
  void* q;
  void* k;
  void* q_out;
  void* k_out;
  const char* spec; /* JSON, what rotary_frequencies_of_spec reads; ggml takes base and pairing */
  double base;
  int64_t tokens;
  int64_t query_heads;
  int64_t key_heads;
  int64_t head_dim;
  int64_t first;
  int32_t dtype;   /* ROTARY_F32, … */
  int32_t pairing; /* ROTARY_PAIRING_HALF or ROTARY_PAIRING_INTERLEAVED */
  int32_t rows;    /* PEERS_ROWS_…; ggml makes them in each call whatever this says */
  int32_t threads;
} peers_job;

ROTARY_API void* peers_rotary_make(const peers_job* job);
ROTARY_API int64_t peers_rotary_time(void* made, int64_t calls);
ROTARY_API void peers_rotary_free(void* made);

ROTARY_API void* peers_ggml_make(const peers_job* job);
ROTARY_API int64_t peers_ggml_time(void* made, int64_t calls);
ROTARY_API void peers_ggml_free(void* made);
ROTARY_API const char* peers_ggml_version(void);

/* The roofline: multiplies the same bytes by 1, in place, whatever the dtype, as floats. */
ROTARY_API void* peers_scale_make(const peers_job* job);
ROTARY_API int64_t peers_scale_time(void* made, int64_t calls);
ROTARY_API void peers_scale_free(void* made);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */

#endif /* ROTARY_BENCH_PEERS_PEERS_H */

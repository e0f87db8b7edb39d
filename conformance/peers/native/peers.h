/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over one job, called by conformance/peers through ctypes. make returns NULL on failure.
 * time returns the nanoseconds of all calls together, or -1. */
#ifndef ROTARY_BENCH_PEERS_PEERS_H
#define ROTARY_BENCH_PEERS_PEERS_H

/* C needs these forms. */
/* NOLINTBEGIN(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */
#include <stdint.h>
#include <time.h>

#include "rotary/export.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PEERS_ROWS_PREPARED = 1, PEERS_ROWS_IN_EACH_CALL = 2 };

/* Queries [tokens, query_heads, head_dim] and keys [tokens, key_heads, head_dim], contiguous, at
 * positions first, first + 1, … In place if outputs equal inputs. Members mirror RotationJob of
 * conformance/peers/native.py. */
typedef struct peers_job {
  void* q;
  void* k;
  void* q_out;
  void* k_out;
  const char* spec; /* JSON for rotary_frequencies_of_spec; ggml reads base and pairing */
  double base;
  int64_t tokens;
  int64_t query_heads;
  int64_t key_heads;
  int64_t head_dim;
  int64_t first;
  int32_t dtype;   /* ROTARY_F32, … */
  int32_t pairing; /* ROTARY_PAIRING_HALF or ROTARY_PAIRING_INTERLEAVED */
  int32_t rows;    /* PEERS_ROWS_…; ggml always makes them in each call */
  int32_t threads;
} peers_job;

ROTARY_API void* peers_rotary_make(const peers_job* job);
ROTARY_API int64_t peers_rotary_time(void* made, int64_t calls);
ROTARY_API void peers_rotary_free(void* made);

ROTARY_API void* peers_ggml_make(const peers_job* job);
ROTARY_API int64_t peers_ggml_time(void* made, int64_t calls);
ROTARY_API void peers_ggml_free(void* made);
ROTARY_API const char* peers_ggml_version(void);

/* The roofline: multiplies the same bytes by 1 in place, as floats for any dtype. */
ROTARY_API void* peers_scale_make(const peers_job* job);
ROTARY_API int64_t peers_scale_time(void* made, int64_t calls);
ROTARY_API void peers_scale_free(void* made);

#ifdef __cplusplus
}
#endif

/* NOLINTNEXTLINE(modernize-redundant-void-arg): in C, () would take any arguments */
static inline int64_t nanoseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* NOLINTEND(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */

#endif /* ROTARY_BENCH_PEERS_PEERS_H */

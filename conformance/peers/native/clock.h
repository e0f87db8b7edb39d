/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ROTARY_BENCH_PEERS_CLOCK_H
#define ROTARY_BENCH_PEERS_CLOCK_H

#include <stdint.h> /* NOLINT(modernize-deprecated-headers): C has only this name */
#include <time.h>   /* NOLINT(modernize-deprecated-headers) */

/* NOLINTNEXTLINE(modernize-redundant-void-arg): in C, () would take any arguments */
static inline int64_t nanoseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif /* ROTARY_BENCH_PEERS_CLOCK_H */

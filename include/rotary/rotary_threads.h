/* SPDX-License-Identifier: Apache-2.0 */
/* rotary::threads for C: a thread pool for programs without one (rotary/threads.hpp). */
#ifndef ROTARY_ROTARY_THREADS_H
#define ROTARY_ROTARY_THREADS_H

#include "rotary/rotary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTNEXTLINE(modernize-use-using): this is C */
typedef struct rotary_threads rotary_threads;

/* concurrency includes the calling thread; 0: the number of processors in its affinity mask.
 * ROTARY_INVALID_ARGUMENT outside [0, 1024]; ROTARY_OUT_OF_MEMORY also if the system has no more
 * threads. A forked process has none of these threads: its calls run on the calling thread, with
 * the same bits, and rotary_threads_stop() waits for no thread. The library may be unloaded when
 * all threads are stopped. */
ROTARY_API rotary_status rotary_threads_start(int64_t concurrency, rotary_threads** out);
/* rotary_last_error() of this library. */
ROTARY_API const char* rotary_threads_last_error(void);

/* Fills *executor, whose struct_size the caller has set; valid until the threads are stopped. */
ROTARY_API rotary_status rotary_threads_executor(const rotary_threads* threads,
                                                 rotary_executor* executor);
/* Ends the threads; no call may be in progress. NULL does nothing. */
ROTARY_API void rotary_threads_stop(rotary_threads* threads);

#ifdef __cplusplus
}
#endif

#endif /* ROTARY_ROTARY_THREADS_H */

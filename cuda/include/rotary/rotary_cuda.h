/* SPDX-License-Identifier: Apache-2.0 */
/* rotary on NVIDIA GPUs, for C: rotate, append, shift, and the step of a layer in one kernel.
 *
 *   rotary_cuda_frequencies_make(frequencies, &on_device);             // once
 *   rotary_cuda_rotate_qk(&q, &k, &(rotary_cuda_at){…}, &options);     // each step, on a stream
 *
 * Structs are those of rotary.h and lie in host memory; what their `data` and `weight` point to,
 * the elements of views, positions and slots, is in the memory of the device. Tensors are f32, bf16
 * or f16, in any layout, with 64-bit offsets. Positions are integers, of any number of axes.
 *
 * The numbers are those of the library (numeric_contract.hpp): angles are 64-bit fractions of a
 * turn in integers, cos and sin are evaluated in double and rounded once to float32, elements once
 * when they are stored. Rows and rotated elements have the bits that rotate() gives on a CPU with
 * fused multiply-add (its AVX2, AVX3, NEON), whatever the batch, the layout or the launch; only
 * which NaN a NaN is may differ. Heads with a norm keep the bounds, and have the same bits whatever
 * the batch; the order in which their squares are added, in double, may depend on the layout.
 *
 * Calls on a stream check their arguments, launch one kernel, or one for each pair of dtypes, and
 * return: they allocate nothing and wait for nothing, so that they can be captured in a graph,
 * which reads positions and slots anew at each replay. They run on the current device, which must
 * be the one that the frequencies were made on. What is in device memory is not looked at: a slot
 * beyond the cache is not stored, and of two tokens with one slot either may be.
 *
 * A call takes fewer than 2^31 tokens, blocks and slots of a block, and at most 2^24 heads. What it
 * writes shares no element with what it reads, positions and slots included, but for heads in
 * place.
 *
 * Errors as in rotary.h; a failure of CUDA is ROTARY_UNSUPPORTED, with CUDA's words. Only a library
 * built with ROTARY_CUDA has these functions. */
#ifndef ROTARY_ROTARY_CUDA_H
#define ROTARY_ROTARY_CUDA_H

#include "rotary/rotary_kv_cache.h"

/* The checks below would forbid C's own forms. */
/* NOLINTBEGIN(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Frequencies -------------------------------------------------------------------------- */

/* Frequencies in the memory of the device that was current when they were made. */
typedef struct rotary_cuda_frequencies rotary_cuda_frequencies;

/* Copies them to the device, and waits for it. Frequencies with xpos, or of numerics other than
 * exact, are refused: make their rows on the CPU and use rotary_cuda_rotate_by_rows. */
ROTARY_API rotary_status rotary_cuda_frequencies_make(const rotary_frequencies* frequencies,
                                                      rotary_cuda_frequencies** out);
ROTARY_API void rotary_cuda_frequencies_free(rotary_cuda_frequencies* frequencies);

/* Tokens stand, or keys are rotated, at these positions with these frequencies. Positions of a kind
 * other than consecutive are in device memory; ROTARY_POSITIONS_F64 is refused. */
typedef struct rotary_cuda_at {
  size_t struct_size;
  const rotary_cuda_frequencies* frequencies;
  const rotary_positions* positions;
} rotary_cuda_at;
#define ROTARY_CUDA_AT_INIT \
  { sizeof(rotary_cuda_at), NULL, NULL }

typedef struct rotary_cuda_options {
  size_t struct_size;
  void* stream;      /* a cudaStream_t; NULL: the default stream */
  int32_t direction; /* ROTARY_FORWARD, …; ROTARY_FORWARD for all but rotations */
  int32_t reserved;
} rotary_cuda_options;
#define ROTARY_CUDA_OPTIONS_INIT \
  { sizeof(rotary_cuda_options), NULL, ROTARY_FORWARD, 0 }

/* ---- Rotate ------------------------------------------------------------------------------- */

/* As rotary_rotate and rotary_rotate_qk, with rows that are made on the way. options may be NULL,
 * here and below. */
ROTARY_API rotary_status rotary_cuda_rotate(const rotary_heads_view* dst,
                                            const rotary_heads_view* src, const rotary_cuda_at* at,
                                            const rotary_cuda_options* options);
ROTARY_API rotary_status rotary_cuda_rotate_qk(const rotary_heads_view* q,
                                               const rotary_heads_view* k, const rotary_cuda_at* at,
                                               const rotary_cuda_options* options);

/* Writes the rows themselves: cos and sin of rows, float32 in device memory. */
ROTARY_API rotary_status rotary_cuda_rows(const rotary_cos_sin* rows, const rotary_cuda_at* at,
                                          const rotary_cuda_options* options);

/* Rotates by rows in device memory, float32, which are not looked at. */
ROTARY_API rotary_status rotary_cuda_rotate_by_rows(const rotary_heads_view* dst,
                                                    const rotary_heads_view* src,
                                                    const rotary_window* window,
                                                    const rotary_cos_sin* rows,
                                                    const rotary_cuda_options* options);

/* ---- KV cache ----------------------------------------------------------------------------- */

/* As rotary_append: contiguous and paged caches. A norm's weight is in device memory. */
typedef struct rotary_cuda_norms {
  size_t struct_size;
  const rotary_head_norm* q; /* NULL: none */
  const rotary_head_norm* k; /* NULL: none */
  int32_t order;             /* ROTARY_NORM_BEFORE_ROTATION …; 0 without norms */
  int32_t reserved;
} rotary_cuda_norms;
#define ROTARY_CUDA_NORMS_INIT \
  { sizeof(rotary_cuda_norms), NULL, NULL, 0, 0 }

/* norms may be NULL; its q must be. */
ROTARY_API rotary_status rotary_cuda_append(const rotary_kv* cache, const rotary_kv* heads,
                                            const rotary_slots* slots, const rotary_cuda_at* at,
                                            const rotary_cuda_norms* norms,
                                            const rotary_cuda_options* options);

/* The step of a layer between its projection and its attention, in one kernel: takes q, k and v,
 * which may be views of one fused projection, normalises q and k, rotates them, writes q to q_out,
 * which may be q itself, and stores k and v in the cache. norms may be NULL. */
typedef struct rotary_cuda_step {
  size_t struct_size;
  const rotary_heads_view* q;
  const rotary_heads_view* q_out;
  const rotary_kv* heads;
  const rotary_kv* cache;
  const rotary_slots* slots;
  const rotary_cuda_norms* norms;
} rotary_cuda_step;
#define ROTARY_CUDA_STEP_INIT \
  { sizeof(rotary_cuda_step), NULL, NULL, NULL, NULL, NULL, NULL }
ROTARY_API rotary_status rotary_cuda_prepare_attention(const rotary_cuda_step* step,
                                                       const rotary_cuda_at* at,
                                                       const rotary_cuda_options* options);

/* As rotary_shift_make and rotary_shift in one: takes keys from where they are to where they are to
 * be, in place. */
ROTARY_API rotary_status rotary_cuda_shift(const rotary_heads_view* keys,
                                           const rotary_cuda_at* from, const rotary_cuda_at* to,
                                           const rotary_cuda_options* options);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */

#endif /* ROTARY_ROTARY_CUDA_H */

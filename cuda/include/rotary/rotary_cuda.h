/* SPDX-License-Identifier: Apache-2.0 */
/* rotary on NVIDIA GPUs, for C: rotates heads, fills and shifts KV caches, prepares attention.
 *
 *   rotary_cuda_frequencies_make(frequencies, &on_device);             // once
 *   rotary_cuda_rotate_qk(&q, &k, &(rotary_cuda_at){…}, &options);     // each step, on a stream
 *
 * Structs are those of rotary.h and stay in host memory. Their members data, cos, sin and weight
 * point to device memory. Tensors are f32, bf16 or f16, in any layout, with 64-bit offsets.
 * Positions are integers with any number of axes.
 *
 * The arithmetic is that of the library (numeric_contract.hpp). Angles are integers in units of
 * 2^-64 turn. cos and sin are evaluated in double and rounded once to float32; elements are rounded
 * once when stored. Rows and rotated elements are bit-identical to rotate() on a CPU with fused
 * multiply-add (AVX2, AVX3, NEON), for any batch, layout and launch; only the bits of a NaN may
 * differ. Heads with a norm keep the library's error bounds. Their bits do not depend on the batch,
 * but may depend on the layout, which can change the order in which squares are added in double.
 *
 * Calls on a stream check their arguments, launch one kernel for each pair of input and output
 * dtype, and return. They neither allocate nor wait, so a graph can capture them; each replay reads
 * positions and slots again. They run on the current device, where the frequencies must have been
 * made. Contents of device memory are not checked: a token whose slot is beyond the cache is not
 * stored, and if two tokens have the same slot, either may be stored.
 *
 * A call takes fewer than 2^31 tokens, blocks and slots of a block, and at most 2^24 heads. Outputs
 * share no element with inputs, positions or slots, except that heads may be rotated in place.
 *
 * Errors are as in rotary.h. A failure of CUDA is ROTARY_UNSUPPORTED with CUDA's message. Only a
 * library built with ROTARY_CUDA has these functions. */
#ifndef ROTARY_ROTARY_CUDA_H
#define ROTARY_ROTARY_CUDA_H

#include "rotary/rotary_kv_cache.h"

/* This is a C header, so clang-tidy must not ask for C++ forms. */
/* NOLINTBEGIN(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Frequencies -------------------------------------------------------------------------- */

/* Frequencies in the memory of the device on which they were made. */
typedef struct rotary_cuda_frequencies rotary_cuda_frequencies;

/* Copies frequencies to the current device and waits. Refuses xpos and numerics other than exact:
 * make their rows on the CPU and use rotary_cuda_rotate_by_rows. */
ROTARY_API rotary_status rotary_cuda_frequencies_make(const rotary_frequencies* frequencies,
                                                      rotary_cuda_frequencies** out);
ROTARY_API void rotary_cuda_frequencies_free(rotary_cuda_frequencies* frequencies);

/* Positions of tokens, and the frequencies of their rotation. Positions are in device memory unless
 * consecutive. ROTARY_POSITIONS_F64 is refused. */
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
  int32_t direction; /* ROTARY_FORWARD; rotary_cuda_rotate… also take the other directions */
  int32_t reserved;
} rotary_cuda_options;
#define ROTARY_CUDA_OPTIONS_INIT \
  { sizeof(rotary_cuda_options), NULL, ROTARY_FORWARD, 0 }

/* ---- Rotate ------------------------------------------------------------------------------- */

/* As rotary_rotate and rotary_rotate_qk, but the kernel makes the cos/sin rows. options may be NULL
 * in every call. */
ROTARY_API rotary_status rotary_cuda_rotate(const rotary_heads_view* dst,
                                            const rotary_heads_view* src, const rotary_cuda_at* at,
                                            const rotary_cuda_options* options);
ROTARY_API rotary_status rotary_cuda_rotate_qk(const rotary_heads_view* q,
                                               const rotary_heads_view* k, const rotary_cuda_at* at,
                                               const rotary_cuda_options* options);

/* Writes the cos/sin rows, float32 in device memory. */
ROTARY_API rotary_status rotary_cuda_rows(const rotary_cos_sin* rows, const rotary_cuda_at* at,
                                          const rotary_cuda_options* options);

/* Rotates by given float32 rows in device memory, whose contents are not checked. */
ROTARY_API rotary_status rotary_cuda_rotate_by_rows(const rotary_heads_view* dst,
                                                    const rotary_heads_view* src,
                                                    const rotary_window* window,
                                                    const rotary_cos_sin* rows,
                                                    const rotary_cuda_options* options);

/* ---- KV cache ----------------------------------------------------------------------------- */

/* The norms of q and k. Their weights are in device memory. */
typedef struct rotary_cuda_norms {
  size_t struct_size;
  const rotary_head_norm* q; /* NULL: none */
  const rotary_head_norm* k; /* NULL: none */
  int32_t order;             /* ROTARY_NORM_BEFORE_ROTATION …; 0 without norms */
  int32_t reserved;
} rotary_cuda_norms;
#define ROTARY_CUDA_NORMS_INIT \
  { sizeof(rotary_cuda_norms), NULL, NULL, 0, 0 }

/* As rotary_append, for contiguous and paged caches. norms may be NULL; norms->q must be NULL. */
ROTARY_API rotary_status rotary_cuda_append(const rotary_kv* cache, const rotary_kv* heads,
                                            const rotary_slots* slots, const rotary_cuda_at* at,
                                            const rotary_cuda_norms* norms,
                                            const rotary_cuda_options* options);

/* The work of a layer between projection and attention: normalises and rotates q and k, writes q to
 * q_out, and stores k and v in the cache. q, k and v may be views of one fused projection. q_out
 * may be q. norms may be NULL. */
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

/* rotary_shift_make and rotary_shift in one call: moves keys to other positions, in place. */
ROTARY_API rotary_status rotary_cuda_shift(const rotary_heads_view* keys,
                                           const rotary_cuda_at* from, const rotary_cuda_at* to,
                                           const rotary_cuda_options* options);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */

#endif /* ROTARY_ROTARY_CUDA_H */

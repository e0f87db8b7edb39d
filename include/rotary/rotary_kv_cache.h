/* SPDX-License-Identifier: Apache-2.0 */
/* The KV cache for C: stores rotated keys and values, and shifts stored keys. kv_cache.hpp and
 * shift.hpp say what each function promises; rotary.h has the rules of all functions. */
#ifndef ROTARY_ROTARY_KV_CACHE_H
#define ROTARY_ROTARY_KV_CACHE_H

#include "rotary/rotary.h"

/* These clang-tidy checks do not fit a C header. */
/* NOLINTBEGIN(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- KV cache, QK-norm -------------------------------------------------------------------- */

/* Keys and values: a cache, or the heads to store in it. A cache has extents[0] blocks (batch rows
 * or pages) of extents[1] slots. v is NULL in both or in neither. */
typedef struct rotary_kv {
  size_t struct_size;
  const rotary_heads_view* k;
  const rotary_heads_view* v;
} rotary_kv;
#define ROTARY_KV_INIT \
  { sizeof(rotary_kv), NULL, NULL }

/* Keys or values in 8 bits with one float32 scale for each head and token: feature = scale *
 * element. Elements are laid out as in a rotary_heads_view, with strides[3] = 1. The scale of (b,
 * t, h) is at scales + b*scale_strides[0] + t*scale_strides[1] + h*scale_strides[2]. */
typedef struct rotary_int8_view {
  size_t struct_size;
  int8_t* data;
  float* scales;
  int64_t extents[4];       /* batch, tokens, heads, features */
  int64_t strides[4];       /* in elements, may be negative */
  int64_t scale_strides[3]; /* in floats */
} rotary_int8_view;
#define ROTARY_INT8_VIEW_INIT                                                     \
  {                                                                               \
    sizeof(rotary_int8_view), NULL, NULL, {1, 0, 0, 0}, {0, 0, 0, 1}, { 0, 0, 0 } \
  }

/* A cache in 8 bits: blocks and slots as in a rotary_kv. */
typedef struct rotary_int8_kv {
  size_t struct_size;
  const rotary_int8_view* k;
  const rotary_int8_view* v; /* NULL here and in the heads, or in neither */
} rotary_int8_kv;
#define ROTARY_INT8_KV_INIT \
  { sizeof(rotary_int8_kv), NULL, NULL }

enum {
  ROTARY_SLOTS_CONSECUTIVE = 1, /* token t of batch row b has slot first + t of block b */
  ROTARY_SLOTS_INT32 = 2,
  ROTARY_SLOTS_INT64 = 3
};

/* The slot of each token. Kinds other than consecutive: [batch, tokens] elements at data. Number s
 * is slot s % n of block s / n, for n slots in a block; a negative number: not stored. */
typedef struct rotary_slots {
  size_t struct_size;
  int32_t kind;
  int32_t reserved;
  int64_t first;    /* consecutive; 0 for the other kinds */
  const void* data; /* the other kinds; NULL for consecutive */
  int64_t batch;    /* batch of k; unused for consecutive, like the members below */
  int64_t tokens;
  int64_t batch_stride; /* in elements */
  int64_t token_stride;
} rotary_slots;
#define ROTARY_SLOTS_INIT \
  { sizeof(rotary_slots), ROTARY_SLOTS_CONSECUTIVE, 0, 0, NULL, 1, 0, 0, 1 }

enum { ROTARY_NORM_OVER_EACH_HEAD = 1, ROTARY_NORM_OVER_ALL_HEADS = 2 };
enum { ROTARY_NORM_BEFORE_ROTATION = 1, ROTARY_NORM_AFTER_ROTATION = 2 };

/* y = x / sqrt(mean(x^2) + epsilon) * (weight_offset + weight). epsilon and over must be set. */
typedef struct rotary_head_norm {
  size_t struct_size;
  const float* weight;  /* [features], or [heads][features] over all heads; NULL: none */
  size_t weight_count;  /* elements of weight; 0 for none */
  double weight_offset; /* Gemma: 1 */
  double epsilon;
  int32_t over; /* ROTARY_NORM_OVER_… */
  int32_t reserved;
} rotary_head_norm;
#define ROTARY_HEAD_NORM_INIT \
  { sizeof(rotary_head_norm), NULL, 0, 0, 0, 0, 0 }

/* Options of an append. */
typedef struct rotary_append_options {
  size_t struct_size;
  const rotary_executor* executor; /* NULL: the calling thread */
  const rotary_head_norm* k_norm;  /* NULL: none */
  int32_t k_norm_order;            /* ROTARY_NORM_BEFORE_ROTATION …; 0 without k_norm */
  int32_t reserved;
} rotary_append_options;
#define ROTARY_APPEND_OPTIONS_INIT \
  { sizeof(rotary_append_options), NULL, NULL, 0, 0 }

/* Rotates keys; stores keys and values. Converts f32 to bf16 or f16 caches. options may be NULL. */
ROTARY_API rotary_status rotary_append(const rotary_kv* cache, const rotary_kv* heads,
                                       const rotary_slots* slots, const rotary_rotations* rotations,
                                       const rotary_append_options* options);
/* Stores keys unrotated, and values. For layers without positions, and for caches whose keys are
 * rotated when they are read. options may be NULL. */
ROTARY_API rotary_status rotary_append_unrotated(const rotary_kv* cache, const rotary_kv* heads,
                                                 const rotary_slots* slots,
                                                 const rotary_append_options* options);

/* rotary_append into a cache in 8 bits. options may be NULL. */
ROTARY_API rotary_status rotary_append_int8(const rotary_int8_kv* cache, const rotary_kv* heads,
                                            const rotary_slots* slots,
                                            const rotary_rotations* rotations,
                                            const rotary_append_options* options);
/* rotary_append_unrotated into a cache in 8 bits. */
ROTARY_API rotary_status rotary_append_int8_unrotated(const rotary_int8_kv* cache,
                                                      const rotary_kv* heads,
                                                      const rotary_slots* slots,
                                                      const rotary_append_options* options);

/* Normalises every head. To work in place, pass the same view twice. executor may be NULL. */
ROTARY_API rotary_status rotary_normalize_heads(const rotary_heads_view* dst,
                                                const rotary_heads_view* src,
                                                const rotary_head_norm* norm,
                                                const rotary_executor* executor);

/* ---- Shift -------------------------------------------------------------------------------- */

/* The frequencies and positions of cached keys, before or after a shift. */
typedef struct rotary_rotated_at {
  size_t struct_size;
  const rotary_frequencies* frequencies;
  const rotary_positions* positions;
} rotary_rotated_at;
#define ROTARY_ROTATED_AT_INIT \
  { sizeof(rotary_rotated_at), NULL, NULL }

/* Makes rotations that move keys from `from` to `to`, for all layers with the same spec. With equal
 * frequencies and one whole distance, tokens share a row (strides of 0). options may be NULL. */
ROTARY_API rotary_status rotary_shift_make(const rotary_rotated_at* from,
                                           const rotary_rotated_at* to,
                                           const rotary_rotations_options* options,
                                           rotary_rotations** out);

/* rotary_shift_make into existing rotations; allocates nothing if an earlier call had at least as
 * many rows. */
ROTARY_API rotary_status rotary_shift_remake(rotary_rotations* rotations,
                                             const rotary_rotated_at* from,
                                             const rotary_rotated_at* to);

/* Rotates cached keys in place by rotations of rotary_shift_make. executor may be NULL. */
ROTARY_API rotary_status rotary_shift(const rotary_heads_view* keys, const rotary_rotations* by,
                                      const rotary_executor* executor);

/* rotary_shift for keys in 8 bits; also changes the scales. executor may be NULL. */
ROTARY_API rotary_status rotary_shift_int8(const rotary_int8_view* keys, const rotary_rotations* by,
                                           const rotary_executor* executor);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */

#endif /* ROTARY_ROTARY_KV_CACHE_H */

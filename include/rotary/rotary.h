/* SPDX-License-Identifier: Apache-2.0 */
/* The C ABI (C99): config.json or a spec -> frequencies -> rotations -> rotate. The headers of the
 * C++ API say more about each step.
 *
 * Freeing a NULL handle does nothing. Several threads may read a handle at once, but not while a
 * thread changes or frees it.
 *
 * If a function returns a status other than ROTARY_OK, it has written no output, except that a
 * handle *out is NULL, and rotary_last_error() names the requirement and what was got. Functions
 * that return no status return 0, -1, NaN or NULL for a NULL handle and set rotary_last_error().
 * An argument may be NULL only if its function's comment says so; otherwise NULL is an error.
 *
 * Every struct begins with struct_size, its sizeof where the caller was compiled. Initialise it
 * with its macro (ROTARY_ROTATE_OPTIONS_INIT); members called reserved stay 0. Later versions add
 * members at the end, where 0 keeps the earlier behaviour. An older library accepts a longer struct
 * of at most 4096 bytes whose unknown members are 0. A function that fills a struct reads only its
 * struct_size.
 *
 * A library built with ROTARY_CORE_ONLY has no functions for models or for specs as JSON. Its CMake
 * and pkg-config packages define the macro, and this file then omits these functions.
 *
 * No function of this file throws, prints, aborts or starts a thread. Each rounds to nearest in
 * every floating-point mode of the thread, which it leaves unchanged (numeric_contract.hpp). */
#ifndef ROTARY_ROTARY_H
#define ROTARY_ROTARY_H

/* These clang-tidy checks do not fit a C header. */
/* NOLINTBEGIN(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */
#include <stddef.h>
#include <stdint.h>

#include "rotary/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when a function or struct changes incompatibly. Compare it with rotary_abi_version(). */
#define ROTARY_ABI_VERSION 1

/* ---- Status ------------------------------------------------------------------------------- */

typedef int32_t rotary_status;
enum {
  ROTARY_OK = 0,
  ROTARY_INVALID_ARGUMENT = 1, /* the caller's value breaks a stated requirement */
  ROTARY_MALFORMED_INPUT = 2,  /* a config, spec or file breaks its format */
  ROTARY_UNSUPPORTED = 3,      /* valid, but this version or machine cannot do it */
  ROTARY_OUT_OF_MEMORY = 4
};

/* ROTARY_ABI_VERSION of the library that is loaded. */
ROTARY_API uint32_t rotary_abi_version(void);
ROTARY_API const char* rotary_version(void); /* such as "0.3.0" */

/* "ok", "invalid_argument", …; "unknown" for other values. */
ROTARY_API const char* rotary_status_name(rotary_status status);

/* Message of the last failed call on this thread; "" if none failed. At most 1023 bytes of UTF-8,
 * valid until the next failed call on this thread. */
ROTARY_API const char* rotary_last_error(void);

/* ---- Values ------------------------------------------------------------------------------- */

enum { ROTARY_F32 = 1, ROTARY_BF16 = 2, ROTARY_F16 = 3, ROTARY_F64 = 4 };
enum {
  ROTARY_PAIRING_HALF = 1,
  ROTARY_PAIRING_INTERLEAVED = 2,
  ROTARY_PAIRING_INTERLEAVED_TO_HALF = 3 /* reads interleaved, writes half: DeepSeek-V3 */
};
enum {
  ROTARY_NUMERICS_EXACT = 1,
  ROTARY_NUMERICS_TRANSFORMERS = 2,
  ROTARY_NUMERICS_GGML = 3,
  ROTARY_NUMERICS_VLLM = 4
};
enum { ROTARY_ROLE_QUERY = 1, ROTARY_ROLE_KEY = 2 };
enum { ROTARY_FORWARD = 1, ROTARY_INVERSE = 2, ROTARY_TRANSPOSE = 3 };

/* Queries or keys in any layout. Element (b, t, h, f) is at data + b*strides[0] + t*strides[1] +
 * h*strides[2] + f*strides[3] elements. Sources are not written. */
typedef struct rotary_heads_view {
  size_t struct_size;
  void* data;
  int32_t dtype; /* ROTARY_F32 … */
  int32_t reserved;
  int64_t extents[4]; /* batch, tokens, heads, features */
  int64_t strides[4]; /* in elements, may be negative */
} rotary_heads_view;
#define ROTARY_HEADS_VIEW_INIT                                          \
  {                                                                     \
    sizeof(rotary_heads_view), NULL, 0, 0, {1, 0, 0, 0}, { 0, 0, 0, 1 } \
  }

enum {
  ROTARY_POSITIONS_CONSECUTIVE = 1, /* token t of every batch row has position first + t */
  ROTARY_POSITIONS_INT32 = 2,
  ROTARY_POSITIONS_INT64 = 3,
  ROTARY_POSITIONS_F64 = 4
};

/* The position of each token. Kinds other than consecutive: [axes, batch, tokens] elements at data.
 * With frequencies of several axes, tokens have a coordinate for each, or one for all (text). */
typedef struct rotary_positions {
  size_t struct_size;
  int32_t kind;
  int32_t reserved;
  int64_t first;    /* consecutive; 0 for the other kinds */
  const void* data; /* the other kinds; NULL for consecutive */
  int64_t batch;    /* 1: for every batch row; consecutive: 1 */
  int64_t tokens;
  int64_t batch_stride; /* in elements */
  int64_t token_stride;
  int64_t axes; /* 0 and 1: one */
  int64_t axis_stride;
} rotary_positions;
#define ROTARY_POSITIONS_INIT \
  { sizeof(rotary_positions), ROTARY_POSITIONS_CONSECUTIVE, 0, 0, NULL, 1, 0, 0, 1, 1, 0 }

#ifndef ROTARY_CORE_ONLY

/* ---- A model's config --------------------------------------------------------------------- */

typedef struct rotary_model rotary_model;

/* The part of a model to read: the language model, or the tower for images or sound. */
enum { ROTARY_PART_TEXT = 1, ROTARY_PART_VISION = 2, ROTARY_PART_AUDIO = 3 };

/* Information that the config lacks. */
typedef struct rotary_resolve_options {
  size_t struct_size;
  int32_t pairing; /* required for an unknown family; 0: the family's */
  int32_t reserved;
  int64_t context_tokens; /* the intended context, for rotary_frequencies_of_model; 0: none */
  int32_t numerics;       /* ROTARY_NUMERICS_…; 0: exact */
  int32_t part;           /* ROTARY_PART_…; 0: text */
} rotary_resolve_options;
#define ROTARY_RESOLVE_OPTIONS_INIT \
  { sizeof(rotary_resolve_options), 0, 0, 0, 0, 0 }

/* A config.json or params.json: UTF-8, not necessarily terminated. options may be NULL. */
ROTARY_API rotary_status rotary_model_resolve(const char* config_json, size_t config_bytes,
                                              const rotary_resolve_options* options,
                                              rotary_model** out);

/* A file. read_at copies `count` bytes from `offset`, within size_bytes, and returns the number
 * copied; it must not throw. If read_at is NULL, context points to the bytes of the file. */
typedef struct rotary_byte_source {
  size_t struct_size;
  void* context;
  size_t (*read_at)(void* context, uint64_t offset, void* bytes, size_t count);
  uint64_t size_bytes;
} rotary_byte_source;
#define ROTARY_BYTE_SOURCE_INIT \
  { sizeof(rotary_byte_source), NULL, NULL, 0 }
/* A GGUF file, or the first of split files. options may be NULL; options->pairing must be 0. */
ROTARY_API rotary_status rotary_model_resolve_gguf(const rotary_byte_source* source,
                                                   const rotary_resolve_options* options,
                                                   rotary_model** out);
ROTARY_API void rotary_model_free(rotary_model* model);
/* ROTARY_PAIRING_… of a GGUF file's checkpoint; 0 for other files or if no layer rotates. */
ROTARY_API int32_t rotary_model_checkpoint_pairing(const rotary_model* model);
/* Number of facts that no key of GGUF states. */
ROTARY_API int64_t rotary_model_unstated_count(const rotary_model* model);
/* Fact number `index` as a sentence; NULL if there is none. Lives as long as the model. */
ROTARY_API const char* rotary_model_unstated(const rotary_model* model, int64_t index);

/* Number of layers; 0 if the config does not state it. */
ROTARY_API int64_t rotary_model_layer_count(const rotary_model* model);
/* Number of rotary embeddings: 1 in most models, 0 if no layer rotates. */
ROTARY_API int64_t rotary_model_rotary_count(const rotary_model* model);
/* The index of the rotary embedding of layer 0, 1, …; -1 if there is no such layer. Layers without
 * rotary embedding: -2 no positions (NoPE), -3 ALiBi, -4 T5's biases, -5 learned vectors, -6
 * sinusoidal vectors, -7 no attention. */
ROTARY_API int64_t rotary_model_rotary_of_layer(const rotary_model* model, int64_t layer);
/* "rotary", "none", "alibi", …; NULL if there is no such layer. */
ROTARY_API const char* rotary_model_layer_encoding(const rotary_model* model, int64_t layer);
/* The factor on a query at this position in this layer, 1 in most models; NaN, with an error, if
 * there is no such layer or position < 0. */
ROTARY_API double rotary_model_query_factor(const rotary_model* model, int64_t layer,
                                            int64_t position);
/* The config's name for the layers with rotary embedding 0, 1, …; NULL if all layers have it. Lives
 * as long as the model. */
ROTARY_API const char* rotary_model_layer_type(const rotary_model* model, int64_t rotary);
/* A factor on the softmax scale, besides the attention factor; NaN, with an error, if there is no
 * such rotary embedding. */
ROTARY_API double rotary_model_softmax_factor(const rotary_model* model, int64_t rotary);
/* Number of warnings: legal but suspicious facts in the config. */
ROTARY_API int64_t rotary_model_warning_count(const rotary_model* model);
/* A warning; NULL for other indices. Lives as long as the model. */
ROTARY_API const char* rotary_model_warning(const rotary_model* model, int64_t index);

#endif /* ROTARY_CORE_ONLY */

/* ---- Frequencies -------------------------------------------------------------------------- */

typedef struct rotary_frequencies rotary_frequencies;

#ifndef ROTARY_CORE_ONLY

/* The frequencies of rotary embedding 0, 1, … of the model, for the context_tokens of its
 * rotary_resolve_options, which must be given if frequencies depend on the context. */
ROTARY_API rotary_status rotary_frequencies_of_model(const rotary_model* model, int64_t rotary,
                                                     rotary_frequencies** out);

/* The frequencies of a spec as JSON text: {"head_dim": 128, "base": 500000, "pairing": "half",
 * "scaling": {…}}; docs/schema/rotary-spec.schema.json has the keys. */
ROTARY_API rotary_status rotary_frequencies_of_spec(const char* spec_json, size_t spec_bytes,
                                                    rotary_frequencies** out);

/* rotary_frequencies_of_spec for frequencies that depend on the context. context_tokens: >= 1. */
ROTARY_API rotary_status rotary_frequencies_of_spec_in_context(const char* spec_json,
                                                               size_t spec_bytes,
                                                               int64_t context_tokens,
                                                               rotary_frequencies** out);

#endif /* ROTARY_CORE_ONLY */

/* The features of a head that a rotation changes: [first_feature, first_feature + rotary_dim). */
typedef struct rotary_window {
  size_t struct_size;
  int64_t head_dim;
  int64_t rotary_dim;
  int64_t first_feature;
  int32_t pairing; /* ROTARY_PAIRING_…; no default */
  int32_t reserved;
  int64_t blocks; /* equal parts, each with pairing half; 0 and 1: one */
} rotary_window;
#define ROTARY_WINDOW_INIT \
  { sizeof(rotary_window), 0, 0, 0, 0, 0, 1 }

/* Frequencies from a list, one for each pair of the window: count = rotary_dim / 2, radians per
 * position, |inv_freq| < 2^40. attention_factor: A, the factor on cos and sin, mostly 1. */
ROTARY_API rotary_status rotary_frequencies_of_inv_freq(const rotary_window* window,
                                                        const double* inv_freq, size_t count,
                                                        double attention_factor,
                                                        rotary_frequencies** out);

/* Frequencies of positions with several axes. */
typedef struct rotary_axis_frequencies {
  size_t struct_size;
  int64_t axes;             /* coordinates of a position, 1 to 8 */
  const int32_t* pair_axes; /* [rotary_dim / 2], the axis of each pair; NULL: dense, each pair turns
                               by the sum over the axes of coordinate * frequency */
  const double* inv_freq;   /* [rotary_dim / 2], or [axes][rotary_dim / 2] if dense */
  size_t count;             /* entries of inv_freq */
  double attention_factor;
} rotary_axis_frequencies;
#define ROTARY_AXIS_FREQUENCIES_INIT \
  { sizeof(rotary_axis_frequencies), 1, NULL, NULL, 0, 1.0 }

/* rotary_frequencies_of_inv_freq for positions with several axes. */
ROTARY_API rotary_status rotary_frequencies_of_axes(const rotary_window* window,
                                                    const rotary_axis_frequencies* from,
                                                    rotary_frequencies** out);
ROTARY_API void rotary_frequencies_free(rotary_frequencies* frequencies);

/* The context lengths with these frequencies: *first to *last, INT64_MAX without a limit. */
ROTARY_API rotary_status rotary_frequencies_contexts(const rotary_frequencies* frequencies,
                                                     int64_t* first, int64_t* last);
/* 1 if keys rotated with one match queries rotated with the other; else 0, and the cache must be
 * shifted or made again; -1, with an error, for a NULL handle. */
ROTARY_API int32_t rotary_frequencies_alike(const rotary_frequencies* one,
                                            const rotary_frequencies* other);

/* Fills *window, whose struct_size the caller has set. */
ROTARY_API rotary_status rotary_frequencies_window(const rotary_frequencies* frequencies,
                                                   rotary_window* window);
/* A, the factor on cos and sin. */
ROTARY_API double rotary_frequencies_attention_factor(const rotary_frequencies* frequencies);
/* Radians per position: [rotary_dim / 2], or [axes][rotary_dim / 2] for dense axes. Lives as long
 * as the frequencies. */
ROTARY_API const double* rotary_frequencies_inv_freq(const rotary_frequencies* frequencies);
/* Number of coordinates of a position, 1 for most models; 0, with an error, for a NULL handle. */
ROTARY_API int64_t rotary_frequencies_axes(const rotary_frequencies* frequencies);
/* The axis of each pair, [rotary_dim / 2]; NULL for one axis or dense axes. Lives as long as the
 * frequencies. */
ROTARY_API const int32_t* rotary_frequencies_pair_axes(const rotary_frequencies* frequencies);

/* ---- Rotations ---------------------------------------------------------------------------- */

typedef struct rotary_rotations rotary_rotations;

/* Options of rotations. */
typedef struct rotary_rotations_options {
  size_t struct_size;
  int32_t rows; /* ROTARY_F32, or ROTARY_F64 for f64 tensors */
  int32_t role; /* ROTARY_ROLE_QUERY or _KEY for a spec with xpos, else 0 */
  /* Aligned to the rows' element. Must outlive the rotations and not overlap what the call reads.
   * NULL: the rotations own their memory. */
  void* memory;
  size_t memory_bytes; /* 0 if and only if memory is NULL */
  /* dtype of q and k, ROTARY_F32 …; 0: any that fits the rows. Required if numerics are
   * "transformers" and rounding is not "result". */
  int32_t tensors;
  int32_t reserved_end;
} rotary_rotations_options;
#define ROTARY_ROTATIONS_OPTIONS_INIT \
  { sizeof(rotary_rotations_options), ROTARY_F32, 0, NULL, 0, 0, 0 }

/* Rows of cos and sin: element (b, t, i), with i a pair, is at cos or sin + b*batch_stride +
 * t*token_stride + i*pair_stride elements. */
typedef struct rotary_cos_sin {
  size_t struct_size;
  const void* cos;
  const void* sin;
  int32_t dtype;
  int32_t reserved;
  int64_t batch;
  int64_t tokens;
  int64_t batch_stride;
  int64_t token_stride;
  int64_t pair_stride;
  double attention_factor; /* A: cos^2 + sin^2 = A^2 */
} rotary_cos_sin;
#define ROTARY_COS_SIN_INIT \
  { sizeof(rotary_cos_sin), NULL, NULL, 0, 0, 1, 0, 0, 0, 1, 1.0 }

/* Bytes for rotary_rotations_options.memory. */
ROTARY_API rotary_status rotary_row_bytes(const rotary_window* window, int64_t batch,
                                          int64_t tokens, int32_t rows, size_t* bytes);

/* Makes the rows of these positions, for q and k of all layers. options may be NULL. */
ROTARY_API rotary_status rotary_rotations_make(const rotary_frequencies* frequencies,
                                               const rotary_positions* positions,
                                               const rotary_rotations_options* options,
                                               rotary_rotations** out);

/* Makes rows in existing rotations. Allocates nothing unless it needs more rows than before. */
ROTARY_API rotary_status rotary_rotations_remake(rotary_rotations* rotations,
                                                 const rotary_frequencies* frequencies,
                                                 const rotary_positions* positions);

/* Makes rotations from existing cos and sin, which it copies. options may be NULL. */
ROTARY_API rotary_status rotary_rotations_of_cos_sin(const rotary_window* window,
                                                     const rotary_cos_sin* rows,
                                                     const rotary_rotations_options* options,
                                                     rotary_rotations** out);

/* rotary_rotations_of_cos_sin for any finite numbers, with an attention_factor of 1. Refuses
 * ROTARY_INVERSE. */
ROTARY_API rotary_status rotary_rotations_of_unchecked_cos_sin(
    const rotary_window* window, const rotary_cos_sin* rows,
    const rotary_rotations_options* options, rotary_rotations** out);
ROTARY_API void rotary_rotations_free(rotary_rotations* rotations);

/* Fills *rows, whose struct_size the caller has set, with pointers to the rows. cos and sin are
 * NULL if there are no tokens; pointers live until the rotations are remade or freed. */
ROTARY_API rotary_status rotary_rotations_rows(const rotary_rotations* rotations,
                                               rotary_cos_sin* rows);

/* ---- Rotate ------------------------------------------------------------------------------- */

typedef void (*rotary_task)(void* state, int64_t index);
/* The caller's thread pool. run calls task(state, index) exactly once for each index in [0, count),
 * on any threads. It returns when all tasks have returned and the calling thread sees their writes.
 * run is not called if it is NULL, if concurrency is below 2, or for fewer than 64 tokens. An
 * exception from run ends the program. */
typedef struct rotary_executor {
  size_t struct_size;
  void* context;
  void (*run)(void* context, int64_t count, rotary_task task, void* state);
  int64_t concurrency; /* most tasks of a call */
} rotary_executor;
#define ROTARY_EXECUTOR_INIT \
  { sizeof(rotary_executor), NULL, NULL, 1 }

/* Options of a rotation. */
typedef struct rotary_rotate_options {
  size_t struct_size;
  int32_t direction; /* ROTARY_FORWARD, ROTARY_INVERSE, ROTARY_TRANSPOSE */
  int32_t reserved;
  const rotary_executor* executor; /* NULL: the calling thread */
} rotary_rotate_options;
#define ROTARY_ROTATE_OPTIONS_INIT \
  { sizeof(rotary_rotate_options), ROTARY_FORWARD, 0, NULL }

/* Rotates src into dst. To work in place, pass the same view twice; otherwise dst and src share no
 * element. options may be NULL. */
ROTARY_API rotary_status rotary_rotate(const rotary_heads_view* dst, const rotary_heads_view* src,
                                       const rotary_rotations* rotations,
                                       const rotary_rotate_options* options);

/* Rotates q and k in place, in one call. options may be NULL. */
ROTARY_API rotary_status rotary_rotate_qk(const rotary_heads_view* q, const rotary_heads_view* k,
                                          const rotary_rotations* rotations,
                                          const rotary_rotate_options* options);

/* ---- Instruction set ---------------------------------------------------------------------- */

/* The set in use, "AVX3", "AVX2", …; NULL, with an error, if the environment variable
 * ROTARY_INSTRUCTION_SET names one that cannot run here. */
ROTARY_API const char* rotary_instruction_set(void);
/* Uses the set with this name from now on, in every thread. */
ROTARY_API rotary_status rotary_force_instruction_set(const char* name);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers, modernize-use-using, readability-identifier-naming) */

#endif /* ROTARY_ROTARY_H */

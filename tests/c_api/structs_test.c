/* SPDX-License-Identifier: Apache-2.0 */
/* Older and newer callers pass other values of struct_size. For each struct, a function here passes
 * it to the library. Structs with reserved members get more tests. */
#include <string.h>

#include "check.h"
#include "fixtures.h"

static rotary_frequencies* frequencies;
static rotary_rotations* rotations;
static float q[2];

static rotary_status use_view(const void* view) {
  return rotary_rotate(view, view, rotations, NULL);
}

static rotary_status use_positions(const void* positions) {
  return rotary_rotations_remake(rotations, frequencies, positions);
}

static rotary_status use_resolve_options(const void* options) {
  static const char config[] = "{\"model_type\": \"llama\", \"head_dim\": 2, \"rope_theta\": 1e4}";
  rotary_model* model;
  const rotary_status status = rotary_model_resolve(config, sizeof config - 1, options, &model);
  rotary_model_free(model);
  return status;
}

/* A GGUF file of a model that has no positions at all. */
static unsigned char gguf[] =
    "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"
    "\24\0\0\0\0\0\0\0general.architecture\10\0\0\0\5\0\0\0\0\0\0\0mamba"
    "\21\0\0\0\0\0\0\0mamba.block_count\4\0\0\0\1\0\0\0";

static rotary_status use_byte_source(const void* source) {
  rotary_model* model;
  const rotary_status status = rotary_model_resolve_gguf(source, NULL, &model);
  rotary_model_free(model);
  return status;
}

static rotary_status use_window(const void* window) {
  size_t bytes;
  return rotary_row_bytes(window, 1, 1, ROTARY_F32, &bytes);
}

static rotary_status use_axis_frequencies(const void* from) {
  rotary_window window = ROTARY_WINDOW_INIT;
  rotary_frequencies* made;
  rotary_status status = rotary_frequencies_window(frequencies, &window);
  if (status != ROTARY_OK) return status;
  status = rotary_frequencies_of_axes(&window, from, &made);
  rotary_frequencies_free(made);
  return status;
}

static rotary_status fill_window(const void* window) {
  return rotary_frequencies_window(frequencies, (rotary_window*)window);
}

static rotary_status use_rotations_options(const void* options) {
  const rotary_positions positions = consecutive(0, 1);
  rotary_rotations* made;
  const rotary_status status = rotary_rotations_make(frequencies, &positions, options, &made);
  rotary_rotations_free(made);
  return status;
}

static rotary_status use_cos_sin(const void* rows) {
  rotary_window window = ROTARY_WINDOW_INIT;
  rotary_rotations* made;
  rotary_status status = rotary_frequencies_window(frequencies, &window);
  if (status != ROTARY_OK) return status;
  status = rotary_rotations_of_cos_sin(&window, rows, NULL, &made);
  rotary_rotations_free(made);
  return status;
}

static rotary_status fill_cos_sin(const void* rows) {
  return rotary_rotations_rows(rotations, (rotary_cos_sin*)rows);
}

static rotary_status use_rotate_options(const void* options) {
  const int64_t extents[3] = {1, 1, 2};
  const rotary_heads_view view = view_of(q, ROTARY_F32, extents);
  return rotary_rotate(&view, &view, rotations, options);
}

static rotary_status use_executor(const void* executor) {
  rotary_rotate_options options = ROTARY_ROTATE_OPTIONS_INIT;
  options.executor = executor;
  return use_rotate_options(&options);
}

/* Appends one token to a cache of one slot. */
static rotary_status append_with(const rotary_kv* cache, const rotary_slots* slots,
                                 const rotary_append_options* options) {
  static float k[2];
  const int64_t extents[3] = {1, 1, 2};
  const rotary_heads_view view = view_of(k, ROTARY_F32, extents);
  rotary_kv heads = ROTARY_KV_INIT;
  heads.k = &view;
  return rotary_append(cache, &heads, slots, rotations, options);
}

static rotary_status use_kv(const void* cache) {
  const rotary_slots slots = ROTARY_SLOTS_INIT;
  return append_with(cache, &slots, NULL);
}

static rotary_status append_to_q(const rotary_slots* slots, const rotary_append_options* options) {
  const int64_t extents[3] = {1, 1, 2};
  const rotary_heads_view view = view_of(q, ROTARY_F32, extents);
  rotary_kv cache = ROTARY_KV_INIT;
  cache.k = &view;
  return append_with(&cache, slots, options);
}

static rotary_status use_slots(const void* slots) { return append_to_q(slots, NULL); }

static rotary_status use_append_options(const void* options) {
  const rotary_slots slots = ROTARY_SLOTS_INIT;
  return append_to_q(&slots, options);
}

static rotary_status use_head_norm(const void* norm) {
  const int64_t extents[3] = {1, 1, 2};
  const rotary_heads_view view = view_of(q, ROTARY_F32, extents);
  return rotary_normalize_heads(&view, &view, norm, NULL);
}

typedef struct versioned {
  const char* name;
  const void* valid;
  size_t size;
  size_t first_size; /* of version 1 */
  rotary_status (*use)(const void* value);
} versioned;

enum { later_bytes = 24, most_bytes = 256 };

static rotary_status use_with(const versioned* each, const char* bytes, size_t struct_size) {
  static union {
    char bytes[most_bytes];
    int64_t aligned;
  } copy;
  memcpy(copy.bytes, bytes, most_bytes);
  memcpy(copy.bytes, &struct_size, sizeof struct_size);
  return each->use(copy.bytes);
}

static void test_sizes(const versioned* each) {
  char bytes[most_bytes];
  memset(bytes, 0, sizeof bytes);
  memcpy(bytes, each->valid, each->size);
  if (!CHECK_OK(use_with(each, bytes, each->size))) return;
  CHECK_FAILS(use_with(each, bytes, 0), ROTARY_INVALID_ARGUMENT, each->name);
  CHECK_OK(use_with(each, bytes, each->first_size));
  CHECK_FAILS(use_with(each, bytes, each->first_size - 1), ROTARY_INVALID_ARGUMENT, each->name);
  CHECK_FAILS(use_with(each, bytes, SIZE_MAX), ROTARY_INVALID_ARGUMENT, "struct_size");
}

/* Zero bytes of a later version's members are accepted. A nonzero first or last byte is refused. */
static void test_later_members(const versioned* each) {
  char bytes[most_bytes];
  memset(bytes, 0, sizeof bytes);
  memcpy(bytes, each->valid, each->size);
  CHECK_OK(use_with(each, bytes, each->size + later_bytes));
  bytes[each->size + later_bytes] = 1; /* beyond struct_size: not read */
  CHECK_OK(use_with(each, bytes, each->size + later_bytes));
  bytes[each->size + later_bytes - 1] = 1;
  CHECK_FAILS(use_with(each, bytes, each->size + later_bytes), ROTARY_UNSUPPORTED, each->name);
  bytes[each->size + later_bytes - 1] = 0;
  bytes[each->size] = 1;
  CHECK_FAILS(use_with(each, bytes, each->size + 1), ROTARY_UNSUPPORTED, each->name);
}

static void test_refused(const versioned* each, size_t offset, const char* message) {
  char bytes[most_bytes];
  memset(bytes, 0, sizeof bytes);
  memcpy(bytes, each->valid, each->size);
  bytes[offset] = 1;
  CHECK_FAILS(use_with(each, bytes, each->size), ROTARY_INVALID_ARGUMENT, message);
}

/* For structs with a member called reserved. */
static void test_reserved(const versioned* each, size_t offset) {
  test_refused(each, offset, "reserved must be 0");
}

/* For structs that end with a reserved member. Without it, a new member could take the place of
 * padding, which callers leave unset. */
static void test_reserved_end(const versioned* each, size_t offset) {
  test_refused(each, offset, "reserved_end must be 0");
}

/* A function that fills a struct reads only struct_size. Members of a later version keep the
 * caller's values. */
static void test_filled_as_far_as_known(void) {
  struct {
    rotary_window window;
    int64_t later;
  } longer;
  memset(&longer, 0xA5, sizeof longer);
  const int64_t before = longer.later;
  longer.window.struct_size = sizeof longer;
  CHECK_OK(rotary_frequencies_window(frequencies, &longer.window));
  CHECK(longer.window.struct_size == sizeof longer && longer.later == before);
  CHECK(longer.window.reserved == 0);
  CHECK(longer.window.head_dim == 2 && longer.window.pairing == ROTARY_PAIRING_HALF);
}

#define VERSIONED_SINCE(type, value, first_size, use) \
  { #type, &(value), sizeof(type), first_size, use }
#define VERSIONED(type, value, use) VERSIONED_SINCE(type, value, sizeof(type), use)

static void test_structs_of_append(void) {
  const int64_t extents[3] = {1, 1, 2};
  const rotary_heads_view view = view_of(q, ROTARY_F32, extents);
  const rotary_slots slots = ROTARY_SLOTS_INIT;
  const rotary_append_options appending = ROTARY_APPEND_OPTIONS_INIT;
  rotary_kv cache = ROTARY_KV_INIT;
  rotary_head_norm norm = ROTARY_HEAD_NORM_INIT;
  cache.k = &view;
  norm.epsilon = 1;
  norm.over = ROTARY_NORM_OVER_EACH_HEAD;
  const versioned all[] = {
      VERSIONED(rotary_kv, cache, use_kv),
      VERSIONED(rotary_slots, slots, use_slots),
      VERSIONED(rotary_head_norm, norm, use_head_norm),
      VERSIONED(rotary_append_options, appending, use_append_options),
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    test_sizes(&all[i]);
    test_later_members(&all[i]);
  }
  test_reserved(&all[1], offsetof(rotary_slots, reserved));
  test_reserved(&all[2], offsetof(rotary_head_norm, reserved));
  test_reserved(&all[3], offsetof(rotary_append_options, reserved));
}

void test_structs(void) {
  const int64_t extents[3] = {1, 1, 2};
  const rotary_heads_view view = view_of(q, ROTARY_F32, extents);
  const rotary_positions positions = consecutive(0, 1);
  const rotary_resolve_options resolving = ROTARY_RESOLVE_OPTIONS_INIT;
  const rotary_rotations_options making = ROTARY_ROTATIONS_OPTIONS_INIT;
  const rotary_executor executor = ROTARY_EXECUTOR_INIT;
  const rotary_rotate_options rotating = ROTARY_ROTATE_OPTIONS_INIT;
  rotary_window window = ROTARY_WINDOW_INIT;
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  const double inv_freq = 1;
  rotary_axis_frequencies of_axes = ROTARY_AXIS_FREQUENCIES_INIT;
  rotary_byte_source source = ROTARY_BYTE_SOURCE_INIT;
  source.context = gguf;
  source.size_bytes = sizeof gguf - 1;
  of_axes.inv_freq = &inv_freq;
  of_axes.count = 1;
  frequencies = frequencies_of("{\"head_dim\": 2, \"base\": 10000, \"pairing\": \"half\"}");
  rotations = rotations_of(frequencies, 0, 1, ROTARY_F32);
  CHECK_OK(rotary_frequencies_window(frequencies, &window));
  CHECK_OK(rotary_rotations_rows(rotations, &rows));
  const versioned all[] = {
      VERSIONED(rotary_heads_view, view, use_view),
      VERSIONED_SINCE(rotary_positions, positions, offsetof(rotary_positions, axes), use_positions),
      VERSIONED_SINCE(rotary_resolve_options, resolving, offsetof(rotary_resolve_options, numerics),
                      use_resolve_options),
      VERSIONED_SINCE(rotary_window, window, offsetof(rotary_window, blocks), use_window),
      VERSIONED_SINCE(rotary_rotations_options, making, offsetof(rotary_rotations_options, tensors),
                      use_rotations_options),
      VERSIONED(rotary_cos_sin, rows, use_cos_sin),
      VERSIONED(rotary_executor, executor, use_executor),
      VERSIONED(rotary_rotate_options, rotating, use_rotate_options),
      VERSIONED(rotary_axis_frequencies, of_axes, use_axis_frequencies),
      VERSIONED(rotary_byte_source, source, use_byte_source),
  };
  const versioned filled[] = {
      VERSIONED_SINCE(rotary_window, window, offsetof(rotary_window, blocks), fill_window),
      VERSIONED(rotary_cos_sin, rows, fill_cos_sin),
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    test_sizes(&all[i]);
    test_later_members(&all[i]);
  }
  for (size_t i = 0; i < sizeof filled / sizeof *filled; ++i) test_sizes(&filled[i]);
  test_reserved(&all[0], offsetof(rotary_heads_view, reserved));
  test_reserved(&all[1], offsetof(rotary_positions, reserved));
  test_reserved(&all[2], offsetof(rotary_resolve_options, reserved));
  test_reserved(&all[3], offsetof(rotary_window, reserved));
  test_reserved_end(&all[4], offsetof(rotary_rotations_options, reserved_end));
  test_reserved(&all[5], offsetof(rotary_cos_sin, reserved));
  test_reserved(&all[7], offsetof(rotary_rotate_options, reserved));
  test_structs_of_append();
  test_filled_as_far_as_known();
  rotary_rotations_free(rotations);
  rotary_frequencies_free(frequencies);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The error names the NULL argument. A new handle becomes NULL; nothing else is written. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "fixtures.h"

#define CHECK_NULL(call, name) CHECK_FAILS(call, ROTARY_INVALID_ARGUMENT, name " must not be NULL")

static const char spec[] = "{\"head_dim\": 2, \"base\": 10000, \"pairing\": \"half\"}";
static const char config[] = "{\"model_type\": \"llama\", \"head_dim\": 2}";

static void test_models(void) {
  rotary_model* model = (rotary_model*)config; /* anything that is not NULL */
  rotary_frequencies* frequencies = (rotary_frequencies*)config;
  CHECK_NULL(rotary_model_resolve(NULL, 0, NULL, &model), "config_json");
  CHECK(model == NULL);
  CHECK_NULL(rotary_model_resolve(config, sizeof config - 1, NULL, NULL), "out");
  rotary_byte_source source = ROTARY_BYTE_SOURCE_INIT;
  CHECK_NULL(rotary_model_resolve_gguf(NULL, NULL, &model), "source");
  CHECK_NULL(rotary_model_resolve_gguf(&source, NULL, &model), "source.context");
  CHECK_NULL(rotary_model_resolve_gguf(&source, NULL, NULL), "out");
  CHECK_NULL(rotary_frequencies_of_model(NULL, 0, &frequencies), "model");
  CHECK(frequencies == NULL);
  CHECK_NULL(rotary_frequencies_of_spec(NULL, 3, &frequencies), "spec_json");
  CHECK_NULL(rotary_frequencies_of_spec(spec, sizeof spec - 1, NULL), "out");
  CHECK_NULL(rotary_frequencies_of_spec_in_context(NULL, 3, 1, &frequencies), "spec_json");
  CHECK_NULL(rotary_frequencies_of_spec_in_context(spec, sizeof spec - 1, 1, NULL), "out");
}

/* The condition must hold, and the last error must contain `name`. Then another call fails, so that
   the next check sees a new text. */
#define CHECK_VALUE(condition, name)                        \
  do {                                                      \
    CHECK(condition);                                       \
    CHECK(strstr(rotary_last_error(), (name)) != NULL);     \
    CHECK_NULL(rotary_force_instruction_set(NULL), "name"); \
  } while (0)

static void test_accessors(void) {
  CHECK_VALUE(rotary_model_layer_count(NULL) == 0, "model");
  CHECK_VALUE(rotary_model_rotary_count(NULL) == 0, "model");
  CHECK_VALUE(rotary_model_rotary_of_layer(NULL, 0) == -1, "model");
  CHECK_VALUE(rotary_model_layer_encoding(NULL, 0) == NULL, "model");
  CHECK_VALUE(isnan(rotary_model_query_factor(NULL, 0, 0)), "model");
  CHECK_VALUE(rotary_model_layer_type(NULL, 0) == NULL, "model");
  CHECK_VALUE(isnan(rotary_model_softmax_factor(NULL, 0)), "model");
  CHECK_VALUE(rotary_model_warning_count(NULL) == 0, "model");
  CHECK_VALUE(rotary_model_warning(NULL, 0) == NULL, "model");
  CHECK_VALUE(isnan(rotary_frequencies_attention_factor(NULL)), "frequencies");
  CHECK_VALUE(rotary_frequencies_inv_freq(NULL) == NULL, "frequencies");
  CHECK_VALUE(rotary_frequencies_axes(NULL) == 0, "frequencies");
  CHECK_VALUE(rotary_frequencies_pair_axes(NULL) == NULL, "frequencies");
}

static void test_rotation_functions(rotary_frequencies* frequencies, rotary_rotations* rotations) {
  rotary_window window = ROTARY_WINDOW_INIT;
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  const rotary_positions positions = consecutive(0, 1);
  const double inv_freq = 1;
  const rotary_axis_frequencies of_axes = ROTARY_AXIS_FREQUENCIES_INIT;
  rotary_frequencies* made = frequencies;
  rotary_rotations* out = rotations;
  size_t bytes = 77;
  int64_t first = 7;
  CHECK_NULL(rotary_frequencies_contexts(NULL, &first, &first), "frequencies");
  CHECK_NULL(rotary_frequencies_contexts(frequencies, NULL, &first), "first");
  CHECK_NULL(rotary_frequencies_contexts(frequencies, &first, NULL), "last");
  CHECK(first == 7);
  CHECK_VALUE(rotary_frequencies_alike(NULL, frequencies) == -1, "one");
  CHECK_VALUE(rotary_frequencies_alike(frequencies, NULL) == -1, "other");
  CHECK_NULL(rotary_frequencies_window(NULL, &window), "frequencies");
  CHECK_NULL(rotary_frequencies_window(frequencies, NULL), "window");
  CHECK_NULL(rotary_row_bytes(NULL, 1, 1, ROTARY_F32, &bytes), "window");
  CHECK(bytes == 77);
  CHECK_OK(rotary_frequencies_window(frequencies, &window));
  CHECK_NULL(rotary_row_bytes(&window, 1, 1, ROTARY_F32, NULL), "bytes");
  CHECK_NULL(rotary_frequencies_of_inv_freq(NULL, &inv_freq, 1, 1, &made), "window");
  CHECK_NULL(rotary_frequencies_of_inv_freq(&window, NULL, 1, 1, &made), "inv_freq");
  CHECK_NULL(rotary_frequencies_of_inv_freq(&window, &inv_freq, 1, 1, NULL), "out");
  CHECK_NULL(rotary_frequencies_of_axes(NULL, &of_axes, &made), "window");
  CHECK_NULL(rotary_frequencies_of_axes(&window, NULL, &made), "from");
  CHECK_NULL(rotary_frequencies_of_axes(&window, &of_axes, &made), "from.inv_freq");
  CHECK_NULL(rotary_frequencies_of_axes(&window, &of_axes, NULL), "out");
  CHECK_NULL(rotary_rotations_make(NULL, &positions, NULL, &out), "frequencies");
  CHECK(out == NULL);
  CHECK_NULL(rotary_rotations_make(frequencies, NULL, NULL, &out), "positions");
  CHECK_NULL(rotary_rotations_make(frequencies, &positions, NULL, NULL), "out");
  CHECK_NULL(rotary_rotations_remake(NULL, frequencies, &positions), "rotations");
  CHECK_NULL(rotary_rotations_remake(rotations, NULL, &positions), "frequencies");
  CHECK_NULL(rotary_rotations_remake(rotations, frequencies, NULL), "positions");
  CHECK_NULL(rotary_rotations_of_cos_sin(NULL, &rows, NULL, &out), "window");
  CHECK_NULL(rotary_rotations_of_cos_sin(&window, NULL, NULL, &out), "rows");
  CHECK_NULL(rotary_rotations_of_cos_sin(&window, &rows, NULL, NULL), "out");
  CHECK_NULL(rotary_rotations_of_unchecked_cos_sin(NULL, &rows, NULL, &out), "window");
  CHECK_NULL(rotary_rotations_of_unchecked_cos_sin(&window, NULL, NULL, &out), "rows");
  CHECK_NULL(rotary_rotations_of_unchecked_cos_sin(&window, &rows, NULL, NULL), "out");
  CHECK_NULL(rotary_rotations_rows(NULL, &rows), "rotations");
  CHECK_NULL(rotary_rotations_rows(rotations, NULL), "rows");
}

static void test_rotate_functions(const rotary_rotations* rotations) {
  float q[2] = {1, 2};
  const int64_t extents[3] = {1, 1, 2};
  const rotary_heads_view view = view_of(q, ROTARY_F32, extents);
  rotary_heads_view without_data = view;
  without_data.data = NULL;
  CHECK_NULL(rotary_rotate(NULL, &view, rotations, NULL), "dst");
  CHECK_NULL(rotary_rotate(&view, NULL, rotations, NULL), "src");
  CHECK_NULL(rotary_rotate(&view, &view, NULL, NULL), "rotations");
  CHECK_NULL(rotary_rotate_qk(NULL, &view, rotations, NULL), "q");
  CHECK_NULL(rotary_rotate_qk(&view, NULL, rotations, NULL), "k");
  CHECK_NULL(rotary_rotate_qk(&view, &view, NULL, NULL), "rotations");
  CHECK_FAILS(rotary_rotate(&without_data, &view, rotations, NULL), ROTARY_INVALID_ARGUMENT,
              "dst: data must not be null");
  CHECK(q[0] == 1 && q[1] == 2);
}

static void test_cache_functions(const rotary_rotations* rotations) {
  float q[2] = {1, 2};
  const int64_t extents[3] = {1, 1, 2};
  const rotary_heads_view view = view_of(q, ROTARY_F32, extents);
  const rotary_slots slots = ROTARY_SLOTS_INIT;
  const rotary_head_norm norm = ROTARY_HEAD_NORM_INIT;
  const rotary_int8_view int8_view = ROTARY_INT8_VIEW_INIT;
  rotary_int8_kv int8_kv = ROTARY_INT8_KV_INIT;
  rotary_kv kv = ROTARY_KV_INIT;
  CHECK_NULL(rotary_append(&kv, &kv, &slots, rotations, NULL), "cache.k");
  kv.k = &view;
  CHECK_NULL(rotary_append(NULL, &kv, &slots, rotations, NULL), "cache");
  CHECK_NULL(rotary_append(&kv, NULL, &slots, rotations, NULL), "heads");
  CHECK_NULL(rotary_append(&kv, &kv, NULL, rotations, NULL), "slots");
  CHECK_NULL(rotary_append(&kv, &kv, &slots, NULL, NULL), "rotations");
  CHECK_NULL(rotary_append_unrotated(&kv, &kv, NULL, NULL), "slots");
  CHECK_NULL(rotary_append_int8(NULL, &kv, &slots, rotations, NULL), "cache");
  CHECK_NULL(rotary_append_int8(&int8_kv, &kv, &slots, rotations, NULL), "cache.k");
  int8_kv.k = &int8_view;
  CHECK_NULL(rotary_append_int8(&int8_kv, NULL, &slots, rotations, NULL), "heads");
  CHECK_NULL(rotary_append_int8(&int8_kv, &kv, NULL, rotations, NULL), "slots");
  CHECK_NULL(rotary_append_int8(&int8_kv, &kv, &slots, NULL, NULL), "rotations");
  CHECK_NULL(rotary_append_int8_unrotated(&int8_kv, &kv, NULL, NULL), "slots");
  CHECK_NULL(rotary_normalize_heads(NULL, &view, &norm, NULL), "dst");
  CHECK_NULL(rotary_normalize_heads(&view, NULL, &norm, NULL), "src");
  CHECK_NULL(rotary_normalize_heads(&view, &view, NULL, NULL), "norm");
  CHECK(q[0] == 1 && q[1] == 2);
}

static void test_shift_functions(const rotary_frequencies* frequencies, rotary_rotations* by) {
  const rotary_positions positions = consecutive(0, 1);
  const rotary_int8_view int8_view = ROTARY_INT8_VIEW_INIT;
  rotary_rotated_at at = ROTARY_ROTATED_AT_INIT;
  rotary_rotations* made = by;
  CHECK_NULL(rotary_shift_make(&at, &at, NULL, &made), "from.frequencies");
  at.frequencies = frequencies;
  CHECK_NULL(rotary_shift_make(&at, &at, NULL, &made), "from.positions");
  at.positions = &positions;
  CHECK_NULL(rotary_shift_make(NULL, &at, NULL, &made), "from");
  CHECK(made == NULL);
  CHECK_NULL(rotary_shift_make(&at, NULL, NULL, &made), "to");
  CHECK_NULL(rotary_shift_make(&at, &at, NULL, NULL), "out");
  CHECK_NULL(rotary_shift_remake(NULL, &at, &at), "rotations");
  CHECK_NULL(rotary_shift_remake(by, NULL, &at), "from");
  CHECK_NULL(rotary_shift_remake(by, &at, NULL), "to");
  CHECK_NULL(rotary_shift(NULL, by, NULL), "keys");
  CHECK_NULL(rotary_shift_int8(NULL, by, NULL), "keys");
  CHECK_NULL(rotary_shift_int8(&int8_view, NULL, NULL), "by");
}

void test_null_arguments(void) {
  rotary_frequencies* const frequencies = frequencies_of(spec);
  const rotary_positions positions = consecutive(1, 1);
  rotary_rotations* rotations = NULL;
  CHECK_OK(rotary_rotations_make(frequencies, &positions, NULL, &rotations));
  test_models();
  test_accessors();
  test_rotation_functions(frequencies, rotations);
  test_rotate_functions(rotations);
  test_cache_functions(rotations);
  test_shift_functions(frequencies, rotations);
  CHECK_NULL(rotary_force_instruction_set(NULL), "name");
  rotary_rotations_free(rotations);
  rotary_frequencies_free(frequencies);
}

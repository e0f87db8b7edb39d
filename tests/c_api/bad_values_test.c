/* SPDX-License-Identifier: Apache-2.0 */
/* Values that no enumerator has, text that is not JSON, views that do not fit. */
#include <string.h>

#include "check.h"
#include "fixtures.h"

#define CHECK_INVALID(call, part) CHECK_FAILS(call, ROTARY_INVALID_ARGUMENT, part)

static const char spec[] = "{\"head_dim\": 4, \"base\": 10000, \"pairing\": \"half\"}";

static void test_text(void) {
  static const char mistyped[] = "{\"head_dim\": \"4\", \"base\": 10000, \"pairing\": \"half\"}";
  static const char rule[] =
      "{\"head_dim\": 4, \"base\": 10000, \"pairing\": \"half\", \"scaling\": {\"rope_type\":"
      " \"no_rule\"}}";
  static const char odd[] = "{\"head_dim\": 5, \"base\": 10000, \"pairing\": \"half\"}";
  rotary_model* model = NULL;
  rotary_frequencies* frequencies = NULL;
  CHECK_FAILS(rotary_model_resolve("{", 1, NULL, &model), ROTARY_MALFORMED_INPUT, "JSON");
  CHECK_FAILS(rotary_model_resolve("", 0, NULL, &model), ROTARY_MALFORMED_INPUT, "JSON");
  CHECK_FAILS(rotary_frequencies_of_spec(spec, sizeof spec - 2, &frequencies),
              ROTARY_MALFORMED_INPUT, "JSON");
  CHECK_FAILS(rotary_frequencies_of_spec(mistyped, sizeof mistyped - 1, &frequencies),
              ROTARY_MALFORMED_INPUT, "head_dim");
  CHECK_FAILS(rotary_frequencies_of_spec(rule, sizeof rule - 1, &frequencies), ROTARY_UNSUPPORTED,
              "no_rule");
  CHECK_INVALID(rotary_frequencies_of_spec(odd, sizeof odd - 1, &frequencies), "rotary_dim");
  CHECK(model == NULL && frequencies == NULL);
}

static void test_gguf_values(void) {
  static char bytes[] = "GGUF\4\0\0\0";
  rotary_byte_source source = ROTARY_BYTE_SOURCE_INIT;
  rotary_resolve_options options = ROTARY_RESOLVE_OPTIONS_INIT;
  rotary_model* model = NULL;
  source.context = bytes;
  CHECK_FAILS(rotary_model_resolve_gguf(&source, NULL, &model), ROTARY_MALFORMED_INPUT, "GGUF");
  source.size_bytes = 8;
  CHECK_FAILS(rotary_model_resolve_gguf(&source, NULL, &model), ROTARY_UNSUPPORTED, "got 4");
  options.pairing = ROTARY_PAIRING_HALF;
  CHECK_INVALID(rotary_model_resolve_gguf(&source, &options, &model), "options.pairing");
  CHECK(model == NULL);
}

static void test_model_values(void) {
  static const char config[] =
      "{\"model_type\": \"llama\", \"head_dim\": 4, \"rope_theta\": 10000.0}";
  rotary_resolve_options options = ROTARY_RESOLVE_OPTIONS_INIT;
  rotary_model* model = NULL;
  rotary_frequencies* frequencies = NULL;
  options.pairing = 4;
  CHECK_INVALID(rotary_model_resolve(config, sizeof config - 1, &options, &model), "pairing");
  options.pairing = 0;
  options.context_tokens = -1;
  CHECK_INVALID(rotary_model_resolve(config, sizeof config - 1, &options, &model),
                "context_tokens");
  options.context_tokens = 0;
  options.part = 4;
  CHECK_INVALID(rotary_model_resolve(config, sizeof config - 1, &options, &model),
                "part must be text, vision or audio, got value 4");
  options.part = ROTARY_PART_AUDIO;
  CHECK_INVALID(rotary_model_resolve(config, sizeof config - 1, &options, &model),
                "must be one that the config has, text");
  CHECK(model == NULL);
  CHECK_OK(rotary_model_resolve(config, sizeof config - 1, NULL, &model));
  CHECK_INVALID(rotary_frequencies_of_model(model, 1, &frequencies), "rotary must be in 0..0");
  CHECK_INVALID(rotary_frequencies_of_model(model, -1, &frequencies), "got -1");
  rotary_model_free(model);
}

static void test_positions(const rotary_frequencies* frequencies) {
  static const int64_t data[1] = {5};
  rotary_rotations* rotations = NULL;
  rotary_positions positions = consecutive(0, 1);
  positions.kind = 5;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, NULL, &rotations), "got value 5");
  positions.kind = ROTARY_POSITIONS_INT64;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, NULL, &rotations), "got null");
  positions.data = data;
  positions.first = 1;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, NULL, &rotations),
                "positions.first must be 0");
  positions = consecutive(0, 1);
  positions.data = data; /* and the kind forgotten */
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, NULL, &rotations),
                "positions.data must be NULL");
  positions = consecutive(0, 1);
  positions.batch = 2;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, NULL, &rotations),
                "positions.batch must be 1");
  positions = consecutive(INT64_MAX, 2);
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, NULL, &rotations), "int64");
  positions = consecutive(0, -1);
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, NULL, &rotations), "tokens");
  CHECK(rotations == NULL);
}

static void test_rows(const rotary_frequencies* frequencies) {
  static float memory[1];
  const rotary_positions positions = consecutive(0, 1);
  rotary_window window = ROTARY_WINDOW_INIT;
  rotary_rotations_options options = ROTARY_ROTATIONS_OPTIONS_INIT;
  rotary_rotations* rotations = NULL;
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  size_t bytes = 0;
  options.rows = ROTARY_BF16;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, &options, &rotations),
                "rows must be f32 or f64");
  options.rows = ROTARY_F32;
  options.role = 3;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, &options, &rotations),
                "role must be query or key, got value 3");
  options.role = ROTARY_ROLE_KEY;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, &options, &rotations),
                "role must be left out");
  options.role = 0;
  options.memory = memory;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, &options, &rotations),
                "memory and memory_bytes");
  options.memory = NULL;
  options.memory_bytes = 64;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, &options, &rotations),
                "memory and memory_bytes");
  window.head_dim = 4;
  window.rotary_dim = 4;
  CHECK_INVALID(rotary_row_bytes(&window, 1, 1, ROTARY_F32, &bytes), "pairing");
  window.pairing = ROTARY_PAIRING_HALF;
  CHECK_INVALID(rotary_row_bytes(&window, 1, 1, 0, &bytes), "rows must be f32 or f64");
  CHECK_INVALID(rotary_row_bytes(&window, 1, INT64_MAX, ROTARY_F32, &bytes), "memory");
  rows.dtype = 9;
  rows.tokens = 1;
  CHECK_INVALID(rotary_rotations_of_cos_sin(&window, &rows, NULL, &rotations), "got value 9");
  rows.dtype = ROTARY_F32;
  CHECK_INVALID(rotary_rotations_of_cos_sin(&window, &rows, NULL, &rotations), "cos");
  CHECK(rotations == NULL && bytes == 0);
}

static void test_views(const rotary_frequencies* frequencies) {
  float q[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float before[8];
  const int64_t extents[3] = {1, 2, 4};
  rotary_heads_view view = view_of(q, ROTARY_F32, extents);
  const rotary_heads_view good = view;
  rotary_rotate_options options = ROTARY_ROTATE_OPTIONS_INIT;
  rotary_rotations* const rotations = rotations_of(frequencies, 3, 1, ROTARY_F32);
  memcpy(before, q, sizeof q);
  options.direction = 4;
  CHECK_INVALID(rotary_rotate(&good, &good, rotations, &options), "direction");
  CHECK_INVALID(rotary_rotate_qk(&good, &good, rotations, &options), "direction");
  view.dtype = 0;
  CHECK_INVALID(rotary_rotate(&view, &view, rotations, NULL), "got value 0");
  view.dtype = ROTARY_F64;
  CHECK_INVALID(rotary_rotate(&view, &view, rotations, NULL), "f64");
  view = good;
  view.extents[3] = 3;
  CHECK_INVALID(rotary_rotate(&view, &view, rotations, NULL), "head_dim");
  view = good;
  view.strides[2] = 0;
  CHECK_INVALID(rotary_rotate(&view, &good, rotations, NULL), "dst");
  view = good;
  view.data = q + 1;
  view.extents[2] = 1;
  CHECK_INVALID(rotary_rotate_qk(&good, &view, rotations, NULL), "share no element");
  CHECK(memcmp(before, q, sizeof q) == 0);
  rotary_rotations_free(rotations);
}

void test_bad_values(void) {
  rotary_frequencies* const frequencies = frequencies_of(spec);
  test_text();
  test_gguf_values();
  test_model_values();
  test_positions(frequencies);
  test_rows(frequencies);
  test_views(frequencies);
  rotary_frequencies_free(frequencies);
}

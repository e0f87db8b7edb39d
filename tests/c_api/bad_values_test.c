/* SPDX-License-Identifier: Apache-2.0 */
/* Errors that only the C functions report. The fuzz target c_abi compares other errors with C++. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "fixtures.h"

#define CHECK_INVALID(call, part) CHECK_FAILS(call, ROTARY_INVALID_ARGUMENT, part)

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
  source.struct_size = 0;
  CHECK_INVALID(rotary_model_resolve_gguf(&source, NULL, &model), "source.struct_size");
  CHECK(model == NULL);
}

static void test_model_values(void) {
  static const char config[] =
      "{\"model_type\": \"llama\", \"head_dim\": 4, \"num_hidden_layers\": 3}";
  rotary_model* model = NULL;
  rotary_frequencies* frequencies = NULL;
  if (!CHECK_OK(rotary_model_resolve(config, sizeof config - 1, NULL, &model))) return;
  CHECK_INVALID(rotary_frequencies_of_model(model, 1, &frequencies), "rotary must be in 0..0");
  CHECK_INVALID(rotary_frequencies_of_model(model, -1, &frequencies), "got -1");
  CHECK(isnan(rotary_model_query_factor(model, 3, 0)));
  CHECK(strstr(rotary_last_error(), "layer must be in 0..2, got 3") != NULL);
  CHECK(isnan(rotary_model_query_factor(model, 0, -1)));
  CHECK(strstr(rotary_last_error(), "position must be >= 0, got -1") != NULL);
  CHECK(isnan(rotary_model_softmax_factor(model, 1)));
  CHECK(strstr(rotary_last_error(), "rotary must be in 0..0, got 1") != NULL);
  rotary_model_free(model);
}

static void test_positions(const rotary_frequencies* frequencies) {
  static const int64_t data[1] = {5};
  rotary_rotations* rotations = NULL;
  rotary_positions positions = consecutive(0, 1);
  positions.kind = 5;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, NULL, &rotations), "got value 5");
  positions.kind = ROTARY_POSITIONS_INT64;
  positions.data = data;
  positions.first = 1;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, NULL, &rotations),
                "positions.first must be 0");
  positions = consecutive(0, 1);
  positions.data = data; /* without its kind */
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, NULL, &rotations),
                "positions.data must be NULL");
  positions = consecutive(0, 1);
  positions.batch = 2;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, NULL, &rotations),
                "positions.batch must be 1");
  CHECK(rotations == NULL);
}

static void test_memory(const rotary_frequencies* frequencies) {
  static float memory[1];
  const rotary_positions positions = consecutive(0, 1);
  rotary_rotations_options options = ROTARY_ROTATIONS_OPTIONS_INIT;
  rotary_rotations* rotations = NULL;
  options.memory = memory;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, &options, &rotations),
                "memory and memory_bytes");
  options.memory = NULL;
  options.memory_bytes = 64;
  CHECK_INVALID(rotary_rotations_make(frequencies, &positions, &options, &rotations),
                "memory and memory_bytes");
}

#define CHECK_REFUSED(part) \
  CHECK_INVALID(rotary_append_unrotated(&cache, &cache, &slots, &options), part)

static void test_append(void) {
  static float k[4];
  static int32_t number;
  const int64_t extents[3] = {1, 1, 4};
  const rotary_heads_view view = view_of(k, ROTARY_F32, extents);
  rotary_kv cache = ROTARY_KV_INIT;
  rotary_slots slots = ROTARY_SLOTS_INIT;
  rotary_head_norm norm = ROTARY_HEAD_NORM_INIT;
  rotary_append_options options = ROTARY_APPEND_OPTIONS_INIT;
  cache.k = &view;
  slots.data = &number;
  CHECK_REFUSED("slots.data must be NULL");
  slots.kind = 4;
  CHECK_REFUSED("slots.kind must be one of");
  slots.kind = ROTARY_SLOTS_INT32;
  slots.first = 1;
  CHECK_REFUSED("slots.first must be 0");
  slots.first = 0;
  options.k_norm_order = ROTARY_NORM_BEFORE_ROTATION;
  CHECK_REFUSED("k_norm_order must be 0 without k_norm");
  options.k_norm = &norm;
  norm.weight_count = 4;
  CHECK_REFUSED("options.k_norm must have both weight and weight_count");
}

void test_bad_values(void) {
  rotary_frequencies* const frequencies =
      frequencies_of("{\"head_dim\": 4, \"base\": 10000, \"pairing\": \"half\"}");
  test_gguf_values();
  test_model_values();
  test_positions(frequencies);
  test_memory(frequencies);
  test_append();
  rotary_frequencies_free(frequencies);
}

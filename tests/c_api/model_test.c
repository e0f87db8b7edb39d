/* SPDX-License-Identifier: Apache-2.0 */
/* From the text of a config or a spec to frequencies. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "fixtures.h"

static const char config[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_attention_heads\": 4,"
    " \"num_hidden_layers\": 3, \"max_position_embeddings\": 2048, \"rope_theta\": 20000.0,"
    " \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2.0}}";

/* base^(-2i/d) / factor. */
static void check_inv_freq(const rotary_frequencies* frequencies, double base, double factor) {
  rotary_window window = ROTARY_WINDOW_INIT;
  const double* const inv_freq = rotary_frequencies_inv_freq(frequencies);
  if (!CHECK_OK(rotary_frequencies_window(frequencies, &window))) return;
  for (int64_t i = 0; i < window.rotary_dim / 2; ++i) {
    const double wanted = pow(base, -2.0 * (double)i / (double)window.rotary_dim) / factor;
    CHECK(fabs(inv_freq[i] - wanted) <= 1e-15 * wanted);
  }
}

static void test_config(void) {
  rotary_resolve_options options = ROTARY_RESOLVE_OPTIONS_INIT;
  rotary_model* model = NULL;
  rotary_frequencies* frequencies = NULL;
  rotary_window window = ROTARY_WINDOW_INIT;
  options.context_tokens = 4096;
  /* Not terminated: only the bytes that were named are read. */
  char text[sizeof config + 1];
  memcpy(text, config, sizeof config);
  text[sizeof config - 1] = 'x';
  if (!CHECK_OK(rotary_model_resolve(text, sizeof config - 1, &options, &model))) return;
  CHECK(rotary_model_layer_count(model) == 3);
  CHECK(rotary_model_rotary_count(model) == 1);
  CHECK(rotary_model_rotary_of_layer(model, 0) == 0);
  CHECK(rotary_model_rotary_of_layer(model, 2) == 0);
  CHECK(rotary_model_rotary_of_layer(model, 3) == -1);
  CHECK(rotary_model_rotary_of_layer(model, -1) == -1);
  CHECK(rotary_model_warning_count(model) == 1);
  CHECK(strstr(rotary_model_warning(model, 0), "4096") != NULL);
  CHECK(rotary_model_warning(model, 1) == NULL);
  CHECK(rotary_model_warning(model, -1) == NULL);

  CHECK_OK(rotary_frequencies_of_model(model, 0, &frequencies));
  rotary_model_free(model); /* the frequencies live on */
  CHECK_OK(rotary_frequencies_window(frequencies, &window));
  CHECK(window.head_dim == 16 && window.rotary_dim == 16 && window.first_feature == 0);
  CHECK(window.pairing == ROTARY_PAIRING_HALF);
  CHECK(rotary_frequencies_attention_factor(frequencies) == 1);
  check_inv_freq(frequencies, 20000, 2);
  rotary_frequencies_free(frequencies);
}

static void test_layers_without_rotary_embedding(void) {
  static const char nope[] =
      "{\"model_type\": \"smollm3\", \"head_dim\": 16, \"num_hidden_layers\": 4}";
  static const char alibi[] = "{\"model_type\": \"bloom\", \"n_layer\": 1}";
  rotary_model* model = NULL;
  rotary_frequencies* frequencies = NULL;
  if (!CHECK_OK(rotary_model_resolve(nope, sizeof nope - 1, NULL, &model))) return;
  CHECK(rotary_model_rotary_of_layer(model, 2) == 0);
  CHECK(rotary_model_rotary_of_layer(model, 3) == -2);
  rotary_model_free(model);
  if (!CHECK_OK(rotary_model_resolve(alibi, sizeof alibi - 1, NULL, &model))) return;
  CHECK(rotary_model_rotary_count(model) == 0);
  CHECK(rotary_model_rotary_of_layer(model, 0) == -3);
  CHECK(rotary_frequencies_of_model(model, 0, &frequencies) == ROTARY_UNSUPPORTED);
  rotary_model_free(model);
}

static void test_unknown_family(void) {
  static const char unknown[] = "{\"model_type\": \"new\", \"head_dim\": 8, \"rope_theta\": 1e4}";
  rotary_resolve_options options = ROTARY_RESOLVE_OPTIONS_INIT;
  rotary_model* model = NULL;
  rotary_frequencies* frequencies = NULL;
  rotary_window window = ROTARY_WINDOW_INIT;
  CHECK_FAILS(rotary_model_resolve(unknown, sizeof unknown - 1, &options, &model),
              ROTARY_UNSUPPORTED, "new");
  options.pairing = ROTARY_PAIRING_INTERLEAVED;
  CHECK_OK(rotary_model_resolve(unknown, sizeof unknown - 1, &options, &model));
  CHECK(rotary_model_layer_count(model) == 0);
  CHECK_OK(rotary_frequencies_of_model(model, 0, &frequencies));
  CHECK_OK(rotary_frequencies_window(frequencies, &window));
  CHECK(window.pairing == ROTARY_PAIRING_INTERLEAVED);
  rotary_frequencies_free(frequencies);
  rotary_model_free(model);
}

/* The frequencies of the two halves of a head of 16: 4 pairs for rows, 4 for columns. */
static void test_vision_part(void) {
  static const char vision[] =
      "{\"model_type\": \"qwen2_vl\", \"hidden_size\": 64, \"num_attention_heads\": 4,"
      " \"num_hidden_layers\": 3, \"rope_theta\": 1e6, \"rope_scaling\":"
      " {\"type\": \"mrope\", \"mrope_section\": [2, 3, 3]},"
      " \"vision_config\": {\"depth\": 5, \"embed_dim\": 32, \"num_heads\": 2}}";
  rotary_resolve_options options = ROTARY_RESOLVE_OPTIONS_INIT;
  const int32_t parts[] = {0, ROTARY_PART_TEXT, ROTARY_PART_VISION};
  const int64_t layers[] = {3, 3, 5};
  for (size_t i = 0; i < 3; ++i) {
    rotary_model* model = NULL;
    rotary_frequencies* frequencies = NULL;
    options.part = parts[i];
    if (!CHECK_OK(rotary_model_resolve(vision, sizeof vision - 1, &options, &model))) return;
    CHECK(rotary_model_layer_count(model) == layers[i]);
    CHECK_OK(rotary_frequencies_of_model(model, 0, &frequencies));
    const double* const inv_freq = rotary_frequencies_inv_freq(frequencies);
    const double wanted = parts[i] == ROTARY_PART_VISION ? 1 : pow(1e6, -4.0 / 8);
    CHECK(fabs(inv_freq[4] - wanted) <= 1e-15);
    rotary_frequencies_free(frequencies);
    rotary_model_free(model);
  }
}

static void test_spec(void) {
  rotary_window window = ROTARY_WINDOW_INIT;
  rotary_frequencies* frequencies = frequencies_of(
      "{\"head_dim\": 80, \"rotary_dim\": 32, \"first_feature\": 8, \"base\": 1e4,"
      " \"pairing\": \"interleaved\", \"scaling\": {\"rope_type\": \"linear\", \"factor\": 4}}");
  CHECK_OK(rotary_frequencies_window(frequencies, &window));
  CHECK(window.struct_size == sizeof window && window.reserved == 0);
  CHECK(window.head_dim == 80 && window.rotary_dim == 32 && window.first_feature == 8);
  CHECK(window.pairing == ROTARY_PAIRING_INTERLEAVED);
  check_inv_freq(frequencies, 10000, 4);
  rotary_frequencies_free(frequencies);

  frequencies = frequencies_of(
      "{\"head_dim\": 8, \"base\": 1e4, \"pairing\": \"half\", \"scaling\": {\"rope_type\":"
      " \"yarn\", \"factor\": 4, \"original_max_position_embeddings\": 512,"
      " \"attention_factor\": 1.5}}");
  CHECK(rotary_frequencies_attention_factor(frequencies) == 1.5);
  rotary_frequencies_free(frequencies);
}

/* Llama 4 as Meta writes it: every second layer here is without positions. */
static void test_layers(void) {
  static const char params[] =
      "{\"dim\": 64, \"n_heads\": 4, \"n_layers\": 3, \"multiple_of\": 8, \"rope_theta\": 5e5,"
      " \"nope_layer_interval\": 2, \"attn_temperature_tuning\": true}";
  rotary_model* model = NULL;
  if (!CHECK_OK(rotary_model_resolve(params, sizeof params - 1, NULL, &model))) return;
  CHECK(rotary_model_rotary_of_layer(model, 0) == 0);
  CHECK(rotary_model_rotary_of_layer(model, 1) == -2);
  CHECK(strcmp(rotary_model_layer_encoding(model, 0), "rotary") == 0);
  CHECK(strcmp(rotary_model_layer_encoding(model, 1), "none") == 0);
  CHECK(rotary_model_layer_encoding(model, 3) == NULL);
  CHECK(rotary_model_query_factor(model, 0, 1000000) == 1);
  CHECK(rotary_model_query_factor(model, 1, 8190) == 1);
  CHECK(fabs(rotary_model_query_factor(model, 1, 8191) - (1 + 0.1 * log(2))) < 1e-15);
  CHECK(isnan(rotary_model_query_factor(model, 3, 0)));
  CHECK(strstr(rotary_last_error(), "layer must be in 0..2, got 3") != NULL);
  CHECK(isnan(rotary_model_query_factor(model, 0, -1)));
  CHECK(strstr(rotary_last_error(), "position must be >= 0, got -1") != NULL);
  CHECK(rotary_model_layer_type(model, 0) == NULL);
  CHECK(rotary_model_softmax_factor(model, 0) == 1);
  CHECK(isnan(rotary_model_softmax_factor(model, 1)));
  CHECK(strstr(rotary_last_error(), "rotary must be in 0..0, got 1") != NULL);
  rotary_model_free(model);
}

static void test_contexts(void) {
  static const char spec[] = "{\"head_dim\": 8, \"base\": 1e4, \"pairing\": \"half\"}";
  rotary_frequencies* one = frequencies_of(spec);
  rotary_frequencies* other = NULL;
  rotary_frequencies* different =
      frequencies_of("{\"head_dim\": 8, \"base\": 2e4, \"pairing\": \"half\"}");
  int64_t first = 0;
  int64_t last = 0;
  CHECK_OK(rotary_frequencies_of_spec_in_context(spec, sizeof spec - 1, 77, &other));
  CHECK_OK(rotary_frequencies_contexts(other, &first, &last));
  CHECK(first == 1 && last == INT64_MAX);
  CHECK(rotary_frequencies_alike(one, other) == 1);
  CHECK(rotary_frequencies_alike(one, different) == 0);
  rotary_frequencies_free(other);
  CHECK_FAILS(rotary_frequencies_of_spec_in_context(spec, sizeof spec - 1, 0, &other),
              ROTARY_INVALID_ARGUMENT, "context_tokens must be >= 1, got 0");
  rotary_frequencies_free(different);
  rotary_frequencies_free(one);
}

static void test_list(void) {
  static const double inv_freq[] = {1, 0.25, -1e-3};
  rotary_window window = ROTARY_WINDOW_INIT;
  rotary_window got = ROTARY_WINDOW_INIT;
  rotary_frequencies* frequencies = NULL;
  window.head_dim = 10;
  window.rotary_dim = 6;
  window.first_feature = 2;
  window.pairing = ROTARY_PAIRING_HALF;
  if (!CHECK_OK(rotary_frequencies_of_inv_freq(&window, inv_freq, 3, 1.5, &frequencies))) return;
  CHECK(memcmp(rotary_frequencies_inv_freq(frequencies), inv_freq, sizeof inv_freq) == 0);
  CHECK(rotary_frequencies_attention_factor(frequencies) == 1.5);
  CHECK_OK(rotary_frequencies_window(frequencies, &got));
  CHECK(memcmp(&got, &window, sizeof window) == 0);
  rotary_frequencies_free(frequencies);

  CHECK_FAILS(rotary_frequencies_of_inv_freq(&window, inv_freq, 2, 1, &frequencies),
              ROTARY_INVALID_ARGUMENT, "count must be rotary_dim / 2, 3; got 2");
  CHECK_FAILS(rotary_frequencies_of_inv_freq(&window, inv_freq, 3, 0, &frequencies),
              ROTARY_INVALID_ARGUMENT, "attention_factor");
  window.rotary_dim = -2;
  CHECK_FAILS(rotary_frequencies_of_inv_freq(&window, inv_freq, (size_t)-1, 1, &frequencies),
              ROTARY_INVALID_ARGUMENT, "count must be rotary_dim / 2, -1");
}

/* Little-endian: a llama of one layer and a head of 8 features, with base 20000. */
static size_t write_gguf(unsigned char* to) {
  static const struct {
    const char* name;
    uint32_t type;
    uint32_t value;
  } numbers[] = {{"llama.block_count", 4, 1},
                 {"llama.attention.key_length", 4, 8},
                 {"llama.rope.freq_base", 6, 0x469C4000}};
  static const unsigned char start[] =
      "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0"
      "\24\0\0\0\0\0\0\0general.architecture\10\0\0\0"
      "\5\0\0\0\0\0\0\0llama";
  size_t size = sizeof start - 1;
  memcpy(to, start, size);
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t length = strlen(numbers[i].name);
    memcpy(to + size, &length, 8);
    memcpy(to + size + 8, numbers[i].name, length);
    memcpy(to + size + 8 + length, &numbers[i].type, 4);
    memcpy(to + size + 12 + length, &numbers[i].value, 4);
    size += 16 + length;
  }
  return size;
}

static size_t read_from(void* context, uint64_t offset, void* bytes, size_t count) {
  memcpy(bytes, (const unsigned char*)context + offset, count);
  return count;
}

static size_t read_nothing(void* context, uint64_t offset, void* bytes, size_t count) {
  (void)context, (void)offset, (void)bytes, (void)count;
  return 0;
}

static void test_gguf(void) {
  unsigned char bytes[512];
  rotary_byte_source source = ROTARY_BYTE_SOURCE_INIT;
  rotary_model* model = NULL;
  source.context = bytes;
  source.size_bytes = write_gguf(bytes);
  for (int pass = 0; pass < 2; ++pass) {
    rotary_frequencies* frequencies = NULL;
    rotary_window window = ROTARY_WINDOW_INIT;
    source.read_at = pass == 0 ? NULL : read_from;
    if (!CHECK_OK(rotary_model_resolve_gguf(&source, NULL, &model))) return;
    CHECK(rotary_model_layer_count(model) == 1);
    CHECK(rotary_model_checkpoint_pairing(model) == ROTARY_PAIRING_HALF);
    CHECK(rotary_model_unstated_count(model) == 1);
    CHECK(strstr(rotary_model_unstated(model, 0), "dynamic") != NULL);
    CHECK(rotary_model_unstated(model, 1) == NULL);
    CHECK_OK(rotary_frequencies_of_model(model, 0, &frequencies));
    CHECK_OK(rotary_frequencies_window(frequencies, &window));
    CHECK(window.pairing == ROTARY_PAIRING_INTERLEAVED);
    check_inv_freq(frequencies, 20000, 1);
    rotary_frequencies_free(frequencies);
    rotary_model_free(model);
  }
  source.read_at = read_nothing;
  CHECK_FAILS(rotary_model_resolve_gguf(&source, NULL, &model), ROTARY_MALFORMED_INPUT,
              "must not change while it is read");
  /* A config says neither. */
  CHECK_OK(rotary_model_resolve(config, sizeof config - 1, NULL, &model));
  CHECK(rotary_model_checkpoint_pairing(model) == 0);
  CHECK(rotary_model_unstated_count(model) == 0);
  CHECK(rotary_model_unstated(model, 0) == NULL);
  rotary_model_free(model);
}

void test_model(void) {
  test_gguf();
  test_config();
  test_layers();
  test_contexts();
  test_unknown_family();
  test_vision_part();
  test_layers_without_rotary_embedding();
  test_spec();
  test_list();
}

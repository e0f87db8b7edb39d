/* SPDX-License-Identifier: Apache-2.0 */
/* Models of GGUF files, and frequencies from a list. The fuzz target c_abi compares models of
 * configs with those of the C++ API. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "fixtures.h"

static const char config[] =
    "{\"model_type\": \"llama\", \"head_dim\": 16, \"rope_theta\": 20000.0}";

/* inv_freq must be base^(-2i/d). */
static void check_inv_freq(const rotary_frequencies* frequencies, double base) {
  rotary_window window = ROTARY_WINDOW_INIT;
  const double* const inv_freq = rotary_frequencies_inv_freq(frequencies);
  if (!CHECK_OK(rotary_frequencies_window(frequencies, &window))) return;
  for (int64_t i = 0; i < window.rotary_dim / 2; ++i) {
    const double wanted = pow(base, -2.0 * (double)i / (double)window.rotary_dim);
    CHECK(fabs(inv_freq[i] - wanted) <= 1e-15 * wanted);
  }
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

/* Writes a little-endian llama of one layer, 8 features a head and base 20000. Returns the size. */
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
    check_inv_freq(frequencies, 20000);
    rotary_frequencies_free(frequencies);
    rotary_model_free(model);
  }
  source.read_at = read_nothing;
  CHECK_FAILS(rotary_model_resolve_gguf(&source, NULL, &model), ROTARY_MALFORMED_INPUT,
              "must not change while it is read");
  /* A config has neither a checkpoint pairing nor unstated facts. */
  CHECK_OK(rotary_model_resolve(config, sizeof config - 1, NULL, &model));
  CHECK(rotary_model_checkpoint_pairing(model) == 0);
  CHECK(rotary_model_unstated_count(model) == 0);
  CHECK(rotary_model_unstated(model, 0) == NULL);
  rotary_model_free(model);
}

void test_model(void) {
  test_gguf();
  test_list();
}

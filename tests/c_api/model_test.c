/* SPDX-License-Identifier: Apache-2.0 */
/* Models of GGUF files, and frequencies from a list. The fuzz target c_abi compares models of
 * configs with those of the C++ API. */
#include <math.h>
#include <string.h>

#include "check.h"

static const char config[] =
    "{\"model_type\": \"llama\", \"head_dim\": 16, \"rope_theta\": 20000.0}";

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

/* A little-endian llama of one layer, with 8 features in each head and base 20000. */
static unsigned char gguf[] =
    "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0"
    "\24\0\0\0\0\0\0\0general.architecture\10\0\0\0\5\0\0\0\0\0\0\0llama"
    "\21\0\0\0\0\0\0\0llama.block_count\4\0\0\0\1\0\0\0"
    "\32\0\0\0\0\0\0\0llama.attention.key_length\4\0\0\0\10\0\0\0"
    "\24\0\0\0\0\0\0\0llama.rope.freq_base\6\0\0\0\0\100\234\106";

static size_t read_from(void* context, uint64_t offset, void* bytes, size_t count) {
  memcpy(bytes, (const unsigned char*)context + offset, count);
  return count;
}

static size_t read_nothing(void* context, uint64_t offset, void* bytes, size_t count) {
  (void)context, (void)offset, (void)bytes, (void)count;
  return 0;
}

static void test_gguf(void) {
  rotary_byte_source source = ROTARY_BYTE_SOURCE_INIT;
  rotary_model* model = NULL;
  source.context = gguf;
  source.size_bytes = sizeof gguf - 1;
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
    for (int i = 0; i < 4; ++i) { /* base^(-2i/d) */
      const double wanted = pow(20000, -2.0 * i / 8);
      CHECK(fabs(rotary_frequencies_inv_freq(frequencies)[i] - wanted) <= 1e-15 * wanted);
    }
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

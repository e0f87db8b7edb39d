/* SPDX-License-Identifier: Apache-2.0 */
/* append and normalize_heads from C: the same bits as rotate, in the given slots; in 8 bits within
 * half a step. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "fixtures.h"

enum { tokens = 3, heads = 2, features = 4, elements = tokens * heads * features };
enum { blocks = 2, page_size = 4, slot_count = blocks * page_size, token_size = heads * features };

static const char spec[] = "{\"head_dim\": 4, \"base\": 10000, \"pairing\": \"half\"}";

typedef struct call {
  float k[elements], v[elements];
  float k_pages[slot_count * token_size], v_pages[slot_count * token_size];
  rotary_heads_view k_view, v_view, k_cache_view, v_cache_view;
  rotary_kv heads, cache;
  int32_t numbers[tokens];
  rotary_slots slots;
  rotary_head_norm norm;
  rotary_append_options options;
  rotary_frequencies* frequencies;
  rotary_rotations* rotations;
} call;

static void begin(call* c) {
  const int64_t extents[3] = {tokens, heads, features};
  const int64_t page[3] = {page_size, heads, features};
  const rotary_kv empty = ROTARY_KV_INIT;
  const rotary_slots slots = ROTARY_SLOTS_INIT;
  const rotary_head_norm norm = ROTARY_HEAD_NORM_INIT;
  const rotary_append_options options = ROTARY_APPEND_OPTIONS_INIT;
  memset(c, 0, sizeof *c);
  c->k_view = view_of(c->k, ROTARY_F32, extents);
  c->v_view = view_of(c->v, ROTARY_F32, extents);
  fill(&c->k_view, 1);
  fill(&c->v_view, 100);
  c->k_cache_view = view_of(c->k_pages, ROTARY_F32, page);
  c->v_cache_view = view_of(c->v_pages, ROTARY_F32, page);
  c->k_cache_view.extents[0] = c->v_cache_view.extents[0] = blocks;
  c->heads = c->cache = empty;
  c->heads.k = &c->k_view;
  c->heads.v = &c->v_view;
  c->cache.k = &c->k_cache_view;
  c->cache.v = &c->v_cache_view;
  c->numbers[0] = 6;
  c->numbers[1] = -1;
  c->numbers[2] = 3;
  c->slots = slots;
  c->slots.kind = ROTARY_SLOTS_INT32;
  c->slots.data = c->numbers;
  c->slots.tokens = tokens;
  c->norm = norm;
  c->norm.epsilon = 1e-6;
  c->norm.over = ROTARY_NORM_OVER_EACH_HEAD;
  c->options = options;
  c->frequencies = frequencies_of(spec);
  c->rotations = rotations_of(c->frequencies, 40, tokens, ROTARY_F32);
}

static void end(call* c) {
  rotary_rotations_free(c->rotations);
  rotary_frequencies_free(c->frequencies);
}

/* Slot of the pages against token of expected; bytes, since bits are promised. */
static int same(const float* pages, int32_t slot, const float* expected, int32_t token) {
  return memcmp(pages + slot * token_size, expected + token * token_size,
                token_size * sizeof *pages) == 0;
}

static void test_append(void) {
  call c;
  begin(&c);
  CHECK_OK(rotary_append(&c.cache, &c.heads, &c.slots, c.rotations, NULL));
  CHECK(same(c.v_pages, 6, c.v, 0) && same(c.v_pages, 3, c.v, 2));
  CHECK_OK(rotary_rotate(&c.k_view, &c.k_view, c.rotations, NULL));
  CHECK(same(c.k_pages, 6, c.k, 0) && same(c.k_pages, 3, c.k, 2));
  for (int i = 0; i < token_size; ++i) CHECK(c.k_pages[5 * token_size + i] == 0);

  /* As they are now, one batch row of consecutive slots. */
  c.slots.kind = ROTARY_SLOTS_CONSECUTIVE;
  c.slots.first = 1;
  c.slots.data = NULL;
  CHECK_OK(rotary_append_unrotated(&c.cache, &c.heads, &c.slots, NULL));
  for (int t = 0; t < tokens; ++t) CHECK(same(c.k_pages, t + 1, c.k, t));
  end(&c);
}

static void test_norms(void) {
  call c;
  begin(&c);
  c.heads.v = c.cache.v = NULL;
  c.options.k_norm = &c.norm;
  c.options.k_norm_order = ROTARY_NORM_AFTER_ROTATION;
  CHECK_OK(rotary_append(&c.cache, &c.heads, &c.slots, c.rotations, &c.options));
  CHECK_OK(rotary_rotate(&c.k_view, &c.k_view, c.rotations, NULL));
  CHECK_OK(rotary_normalize_heads(&c.k_view, &c.k_view, &c.norm, NULL));
  CHECK(same(c.k_pages, 6, c.k, 0) && same(c.k_pages, 3, c.k, 2));
  const double square = c.k[0] * c.k[0] + c.k[1] * c.k[1] + c.k[2] * c.k[2] + c.k[3] * c.k[3];
  CHECK(fabs(square - features) < 1e-4);
  end(&c);
}

/* data: [blocks, page_size, heads, features]; scales: [blocks, page_size, heads]. */
static rotary_int8_view int8_pages(int8_t* data, float* scales) {
  const int64_t extents[4] = {blocks, page_size, heads, features};
  const int64_t strides[4] = {page_size * token_size, token_size, features, 1};
  const int64_t scale_strides[3] = {page_size * heads, heads, 1};
  rotary_int8_view view = ROTARY_INT8_VIEW_INIT;
  view.data = data;
  view.scales = scales;
  memcpy(view.extents, extents, sizeof extents);
  memcpy(view.strides, strides, sizeof strides);
  memcpy(view.scale_strides, scale_strides, sizeof scale_strides);
  return view;
}

/* A token in 8 bits: within half a step of its numbers, the largest of a head 127 steps. */
static void check_int8(const rotary_int8_view* pages, int32_t slot, const float* token) {
  for (int h = 0; h < heads; ++h) {
    const float scale = pages->scales[slot * heads + h];
    float largest = 0;
    for (int f = 0; f < features; ++f) {
      const float wanted = token[h * features + f];
      const float got = scale * (float)pages->data[slot * token_size + h * features + f];
      largest = fmaxf(largest, fabsf(wanted));
      CHECK(fabsf(got - wanted) <= 0.501F * scale);
    }
    CHECK(fabsf(127 * scale - largest) <= 1e-6F * largest);
  }
}

static void test_int8(void) {
  call c;
  int8_t k_elements[slot_count * token_size] = {0};
  int8_t v_elements[slot_count * token_size] = {0};
  float k_scales[slot_count * heads] = {0};
  float v_scales[slot_count * heads] = {0};
  rotary_int8_kv cache = ROTARY_INT8_KV_INIT;
  begin(&c);
  const rotary_int8_view k_cache = int8_pages(k_elements, k_scales);
  const rotary_int8_view v_cache = int8_pages(v_elements, v_scales);
  cache.k = &k_cache;
  cache.v = &v_cache;
  CHECK_OK(rotary_append_int8(&cache, &c.heads, &c.slots, c.rotations, NULL));
  CHECK_OK(rotary_rotate(&c.k_view, &c.k_view, c.rotations, NULL));
  check_int8(&k_cache, 6, c.k);
  check_int8(&k_cache, 3, c.k + 2 * token_size);
  check_int8(&v_cache, 6, c.v);
  check_int8(&v_cache, 3, c.v + 2 * token_size);
  for (int i = 0; i < token_size; ++i) CHECK(k_elements[5 * token_size + i] == 0);

  c.numbers[1] = 0;
  CHECK_OK(rotary_append_int8_unrotated(&cache, &c.heads, &c.slots, NULL));
  check_int8(&k_cache, 0, c.k + token_size);

  cache.v = NULL;
  CHECK_FAILS(rotary_append_int8(&cache, &c.heads, &c.slots, c.rotations, NULL),
              ROTARY_INVALID_ARGUMENT, "v");
  cache.struct_size = 8;
  CHECK_FAILS(rotary_append_int8(&cache, &c.heads, &c.slots, c.rotations, NULL),
              ROTARY_INVALID_ARGUMENT, "cache.struct_size");
  end(&c);
}

#define CHECK_REFUSED(part)                                                         \
  CHECK_FAILS(rotary_append(&c.cache, &c.heads, &c.slots, c.rotations, &c.options), \
              ROTARY_INVALID_ARGUMENT, part)

static void test_bad_values_of_slots(void) {
  call c;
  begin(&c);
  c.slots.first = 1;
  CHECK_REFUSED("slots.first must be 0");
  c.slots.kind = ROTARY_SLOTS_CONSECUTIVE;
  CHECK_REFUSED("slots.data must be NULL");
  c.slots.kind = 4;
  CHECK_REFUSED("slots.kind must be one of");
  c.slots.kind = ROTARY_SLOTS_INT32;
  c.slots.first = 0;
  c.numbers[0] = c.numbers[2];
  CHECK_REFUSED("distinct, got 3 twice");
  CHECK(c.k_pages[3 * token_size] == 0);
  end(&c);
}

static void test_bad_values_of_norms(void) {
  call c;
  begin(&c);
  c.options.k_norm_order = ROTARY_NORM_BEFORE_ROTATION;
  CHECK_REFUSED("k_norm_order must be 0 without k_norm");
  c.options.k_norm = &c.norm;
  c.norm.weight_count = 4;
  CHECK_REFUSED("options.k_norm must have both weight and weight_count");
  c.norm.weight_count = 0;
  c.norm.over = 3;
  CHECK_REFUSED("over must be each_head or all_heads, got value 3");
  c.norm.over = ROTARY_NORM_OVER_ALL_HEADS;
  c.options.k_norm_order = 3;
  CHECK_REFUSED("order must be before_rotation or after_rotation, got value 3");
  CHECK(c.k_pages[3 * token_size] == 0);
  end(&c);
}

void test_kv_cache(void) {
  test_append();
  test_norms();
  test_int8();
  test_bad_values_of_slots();
  test_bad_values_of_norms();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Runs ggml's flash_attn_ext, after ggml's rope of q and k if the encoding is rope. The graph is
 * made once. Tensors have llama.cpp's layout, [tokens, heads, head_dim]. Permuted views give the
 * operation [heads, tokens, head_dim]. */
#include <ggml-cpu.h>
#include <ggml.h>
#include <math.h>
#include <stdlib.h>

#include "conformance/peers/native/attention.h"
#include "conformance/peers/native/ggml_run.h"

typedef struct ggml_attention {
  ggml_run run;
  float* turned_q;
  float* turned_k;
  void* k_8_bits;
} ggml_attention;

static struct ggml_tensor* queries_of(const ggml_attention* made, const attention_job* job) {
  struct ggml_tensor* q =
      ggml_new_tensor_3d(made->run.context, GGML_TYPE_F32, job->head_dim, job->heads, job->queries);
  q->data = job->q;
  return q;
}

static struct ggml_tensor* keys_of(const ggml_attention* made, const attention_job* job, void* data,
                                   enum ggml_type type) {
  struct ggml_tensor* x =
      ggml_new_tensor_3d(made->run.context, type, job->head_dim, job->key_heads, job->keys);
  x->data = data;
  return x;
}

/* k in the type of the job's cache; NULL if memory runs out. */
static struct ggml_tensor* stored_keys(ggml_attention* made, const attention_job* job) {
  if (job->dtype == ATTENTION_F32) return keys_of(made, job, job->k, GGML_TYPE_F32);
  if (job->dtype == ATTENTION_F16) return keys_of(made, job, job->k, GGML_TYPE_F16);
  struct ggml_tensor* k = keys_of(made, job, NULL, GGML_TYPE_Q8_0);
  made->k_8_bits = malloc(ggml_nbytes(k));
  if (made->k_8_bits == NULL) return NULL;
  ggml_quantize_chunk(GGML_TYPE_Q8_0, job->k, made->k_8_bits, 0, job->keys * job->key_heads,
                      job->head_dim, NULL);
  k->data = made->k_8_bits;
  return k;
}

static struct ggml_tensor* mask_of(const ggml_attention* made, const attention_job* job) {
  if (job->mask == NULL) return NULL;
  struct ggml_tensor* mask = ggml_new_tensor_3d(made->run.context, GGML_TYPE_F16, job->keys,
                                                job->queries, job->mask_heads);
  mask->data = job->mask;
  return mask;
}

static struct ggml_tensor* turned(const ggml_attention* made, const attention_job* job,
                                  struct ggml_tensor* x, struct ggml_tensor* positions) {
  const int original_context = 8192; /* read only by YaRN, which ext_factor 0 turns off */
  return ggml_rope_ext(made->run.context, x, positions, NULL, (int)job->head_dim,
                       GGML_ROPE_TYPE_NEOX, original_context, (float)job->base, 1, 0, 1, 32, 1);
}

static int add_rope(ggml_attention* made, const attention_job* job, struct ggml_tensor** q,
                    struct ggml_tensor** k) {
  if (job->encoding != ATTENTION_ROPE) return 1;
  /* Other dtypes, and fewer queries than keys, would need another operation. */
  if (job->dtype != ATTENTION_F32 || job->queries != job->keys || job->heads != job->key_heads) {
    return 0;
  }
  const size_t bytes = (size_t)(job->keys * job->heads * job->head_dim) * sizeof(float);
  struct ggml_tensor* positions = ggml_run_positions(&made->run, 0, job->keys);
  made->turned_q = malloc(bytes);
  made->turned_k = malloc(bytes);
  if (positions == NULL || made->turned_q == NULL || made->turned_k == NULL) return 0;
  *q = turned(made, job, *q, positions);
  *k = turned(made, job, *k, positions);
  (*q)->data = made->turned_q;
  (*k)->data = made->turned_k;
  return 1;
}

static int make_graph(ggml_attention* made, const attention_job* job) {
  /* q, k, v, mask, positions, intermediate tensors, the result */
  if (!ggml_run_begin(&made->run, 16)) return 0;
  struct ggml_tensor* q = queries_of(made, job);
  struct ggml_tensor* k = stored_keys(made, job);
  struct ggml_tensor* v =
      keys_of(made, job, job->v, job->dtype == ATTENTION_F32 ? GGML_TYPE_F32 : GGML_TYPE_F16);
  if (k == NULL || !add_rope(made, job, &q, &k)) return 0;
  struct ggml_tensor* out = ggml_flash_attn_ext(
      made->run.context, ggml_permute(made->run.context, q, 0, 2, 1, 3),
      ggml_permute(made->run.context, k, 0, 2, 1, 3),
      ggml_permute(made->run.context, v, 0, 2, 1, 3), mask_of(made, job),
      1.0F / sqrtf((float)job->head_dim), job->encoding == ATTENTION_ALIBI ? 8.0F : 0.0F, 0.0F);
  out->data = job->out;
  for (struct ggml_tensor* each = ggml_get_first_tensor(made->run.context); each != NULL;
       each = ggml_get_next_tensor(made->run.context, each)) {
    if (each->view_src != NULL) each->data = each->view_src->data;
  }
  ggml_build_forward_expand(made->run.graph, out);
  return 1;
}

void* attention_ggml_make(const attention_job* job) {
  ggml_attention* made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  if (make_graph(made, job) && ggml_run_make(&made->run, job->threads)) return made;
  attention_ggml_free(made);
  return NULL;
}

int32_t attention_ggml_run(void* made) {
  return ggml_run_compute(&((ggml_attention*)made)->run) ? 0 : -1;
}

int64_t attention_ggml_bytes(void* made) {
  return (int64_t)((const ggml_attention*)made)->run.plan.work_size;
}

void attention_ggml_free(void* made) {
  ggml_attention* each = made;
  if (each == NULL) return;
  ggml_run_free(&each->run);
  free(each->turned_q);
  free(each->turned_k);
  free(each->k_8_bits);
  free(each);
}

// SPDX-License-Identifier: Apache-2.0
// Refusals that only the GPU's functions have. Kernels also read positions and slots in device
// memory, and count in 32 bits. called.cpp runs the CPU's tests of refused calls.
#include "cases.hpp"

namespace rotary::cuda_tests {
namespace {

constexpr std::int64_t huge = std::int64_t{1} << 32;

class CudaRefusals : public Cuda {
 protected:
  void refused(rotary_status status, rotary_status wanted, std::string_view words) {
    const std::string message = rotary_last_error();
    EXPECT_EQ(status, wanted) << message;
    EXPECT_NE(message.find(words), std::string::npos) << message;
    expect_success(cudaDeviceSynchronize());
    for (Tensor* tensor : {&q, &k, &cache}) EXPECT_TRUE(tensor->agree()) << words;
  }
  // Prepares attention for q and k, with or without norms.
  rotary_status prepare(const rotary_heads_view& q_out, const rotary_heads_view& cache_view,
                        const rotary_slots& slots, const rotary_cuda_norms* norms) {
    const auto q_view = q.device(), k_view = k.device();
    const rotary_kv heads = kv_of(k_view, nullptr), to = kv_of(cache_view, nullptr);
    rotary_cuda_step step = ROTARY_CUDA_STEP_INIT;
    step.q = &q_view;
    step.q_out = &q_out;
    step.heads = &heads;
    step.cache = &to;
    step.slots = &slots;
    step.norms = norms;
    return rotary_cuda_prepare_attention(&step, &at, nullptr);
  }

  static constexpr std::int64_t many = 7000;  // heads: too many sums for a norm over all heads
  Random random{12};
  BothFrequencies frequencies{window_of({2, 2, 0}, Pairing::half), powers(1, 1e4), 1};
  Tensor q{random, DType::f32, {1, 4, 2, 2}, Layout::bthd};
  Tensor k{random, DType::f32, {1, 4, many, 2}, Layout::bthd};
  Tensor cache{random, DType::f16, {1, 4, many, 2}, Layout::bthd};
  rotary_positions four = consecutive(0, 4);
  rotary_cuda_at at = at_of(frequencies, four);
  rotary_slots first = ROTARY_SLOTS_INIT;
};

// q and k have different dtypes, so each has a kernel. The kernel of k is refused.
TEST_F(CudaRefusals, NoKernelRunsIfAnotherIsRefused) {
  rotary_head_norm norm = ROTARY_HEAD_NORM_INIT;
  norm.epsilon = 1e-6;
  norm.over = ROTARY_NORM_OVER_ALL_HEADS;
  rotary_cuda_norms norms = ROTARY_CUDA_NORMS_INIT;
  norms.k = &norm;
  norms.order = ROTARY_NORM_BEFORE_ROTATION;
  refused(prepare(q.device(), cache.device(), first, &norms), ROTARY_UNSUPPORTED, "7000 heads");
  norms.k = nullptr;
  refused(prepare(q.device(), cache.device(), first, &norms), ROTARY_INVALID_ARGUMENT,
          "norms.order must be 0 without norms, got 1");
}

// q_out is q's memory as bf16. Its elements have other addresses, so the call is not in place.
TEST_F(CudaRefusals, RefusesQOutOfAnotherDtypeInQsMemory) {
  rotary_heads_view narrow = q.device();
  narrow.dtype = ROTARY_BF16;
  refused(prepare(narrow, cache.device(), first, nullptr), ROTARY_INVALID_ARGUMENT,
          "q_out and q must share no element");
}

TEST_F(CudaRefusals, RefusesHeadsOverlappingPositionsOrSlots) {
  const rotary_heads_view view = q.device();
  rotary_slots slots = ROTARY_SLOTS_INIT;
  slots.kind = ROTARY_SLOTS_INT32;
  slots.data = view.data;
  slots.tokens = slots.batch_stride = 4;
  refused(prepare(view, cache.device(), slots, nullptr), ROTARY_INVALID_ARGUMENT,
          "q_out and slots must share no element");
  rotary_positions over = four;
  over.kind = ROTARY_POSITIONS_INT32;
  over.data = view.data;
  const rotary_cuda_at at_over = at_of(frequencies, over);
  refused(rotary_cuda_rotate(&view, &view, &at_over, nullptr), ROTARY_INVALID_ARGUMENT,
          "dst and positions must share no element");
  refused(rotary_cuda_shift(&view, &at_over, &at, nullptr), ROTARY_INVALID_ARGUMENT,
          "keys and positions of from must share no element");
  refused(rotary_cuda_shift(&view, &at, &at_over, nullptr), ROTARY_INVALID_ARGUMENT,
          "keys and positions of to must share no element");
}

TEST_F(CudaRefusals, RefusesOverlappingRows) {
  const rotary_heads_view view = q.device();
  auto* const memory = static_cast<float*>(view.data);
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  rows.dtype = ROTARY_F32;
  rows.tokens = 4;
  rows.token_stride = 1;
  rows.cos = memory;
  rows.sin = memory + 3;
  refused(rotary_cuda_rows(&rows, &at, nullptr), ROTARY_INVALID_ARGUMENT,
          "cos and sin must share no element");
  rows.sin = memory + 8;
  rotary_positions over = four;
  over.kind = ROTARY_POSITIONS_INT32;
  over.data = memory + 12;
  over.batch = rows.batch = 2;
  over.batch_stride = rows.batch_stride = 1;  // rows of two sequences overlap
  const rotary_cuda_at at_two = at_of(frequencies, over);
  refused(rotary_cuda_rows(&rows, &at_two, nullptr), ROTARY_INVALID_ARGUMENT,
          "rows: elements of a destination must be distinct");
  over.batch = rows.batch = 1;
  for (const float* data : {memory + 3, memory + 8}) {
    over.data = data;
    const rotary_cuda_at at_over = at_of(frequencies, over);
    refused(rotary_cuda_rows(&rows, &at_over, nullptr), ROTARY_INVALID_ARGUMENT,
            "and positions must share no element");
  }
  const rotary_window window = struct_of(frequencies.host().window);
  refused(rotary_cuda_rotate_by_rows(&view, &view, &window, &rows, nullptr),
          ROTARY_INVALID_ARGUMENT, "dst and cos must share no element");
  rows.cos = cache.device().data;
  refused(rotary_cuda_rotate_by_rows(&view, &view, &window, &rows, nullptr),
          ROTARY_INVALID_ARGUMENT, "dst and sin must share no element");
}

TEST_F(CudaRefusals, RefusesDoublesAndMissingViews) {
  const rotary_heads_view view = q.device();
  rotary_heads_view doubles = view;
  doubles.dtype = ROTARY_F64;
  refused(rotary_cuda_rotate(&doubles, &doubles, &at, nullptr), ROTARY_UNSUPPORTED, "got f64");
  rotary_positions between = four;
  between.kind = ROTARY_POSITIONS_F64;
  between.data = view.data;
  const rotary_cuda_at at_between = at_of(frequencies, between);
  refused(rotary_cuda_rotate(&view, &view, &at_between, nullptr), ROTARY_UNSUPPORTED,
          "at: positions must be integers");
  refused(rotary_cuda_rotate(&view, nullptr, &at, nullptr), ROTARY_INVALID_ARGUMENT,
          "src must not be NULL");
}

TEST_F(CudaRefusals, RefusesCountsBeyond32Bits) {
  const rotary_positions tokens = consecutive(0, huge);
  const rotary_cuda_at at_many = at_of(frequencies, tokens);
  rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
  rows.cos = q.device().data;
  rows.sin = reinterpret_cast<const float*>(rows.cos) + (std::int64_t{1} << 50);
  rows.dtype = ROTARY_F32;
  rows.tokens = huge;
  rows.token_stride = 1;
  refused(rotary_cuda_rows(&rows, &at_many, nullptr), ROTARY_UNSUPPORTED, "fewer than 2^31 tokens");
  rotary_heads_view view = q.device();
  view.extents[1] = huge;
  refused(rotary_cuda_rotate(&view, &view, &at_many, nullptr), ROTARY_UNSUPPORTED, "below 2^31");
  rotary_heads_view blocks = cache.device();
  blocks.extents[0] = huge;
  refused(prepare(q.device(), blocks, first, nullptr), ROTARY_UNSUPPORTED, "below 2^31");
}

TEST_F(CudaRefusals, AcceptsAnEmptyTensorWithHugeExtents) {
  rotary_heads_view none = q.device();
  none.extents[0] = std::int64_t{1} << 40;
  none.extents[2] = std::int64_t{1} << 62;
  none.extents[1] = 0;
  const rotary_positions nowhere = consecutive(0, 0);
  const rotary_cuda_at at_none = at_of(frequencies, nowhere);
  expect_ok(rotary_cuda_rotate(&none, &none, &at_none, nullptr));
  expect_ok(rotary_cuda_shift(&none, &at_none, &at_none, nullptr));
  rotary_heads_view no_heads = q.device();
  no_heads.extents[2] = 0;
  no_heads.extents[1] = std::int64_t{1} << 62;
  const rotary_positions tokens = consecutive(0, std::int64_t{1} << 62);
  const rotary_cuda_at at_many = at_of(frequencies, tokens);
  expect_ok(rotary_cuda_rotate(&no_heads, &no_heads, &at_many, nullptr));
}

}  // namespace
}  // namespace rotary::cuda_tests

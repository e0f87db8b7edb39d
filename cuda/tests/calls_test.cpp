// SPDX-License-Identifier: Apache-2.0
// Tests 64-bit offsets in rotate, and capture of append in a graph.
#include <cstring>

#include "cases.hpp"

namespace rotary::cuda_tests {
namespace {

// Tokens are more than 2^31 elements apart.
TEST_F(Cuda, RotateUses64BitOffsets) {
  constexpr std::int64_t apart = (std::int64_t{1} << 31) + 8;
  constexpr std::int64_t tokens = 3;
  void* memory = nullptr;
  if (cudaMalloc(&memory, static_cast<std::size_t>((tokens - 1) * apart + 1024) * 2) != cudaSuccess)
    GTEST_SKIP() << "the device has no 8.6 GB to spare";
  Random random(8);
  Tensor near(random, DType::bf16, {1, tokens, 8, 128}, Layout::bthd);
  const HeadWindow window = window_of({128, 128, 0}, Pairing::half);
  const BothFrequencies frequencies(window, powers(64, 1e4), 1);
  const auto rotations = make_rotations(frequencies.host(), ConsecutivePositions{.tokens = tokens});
  const auto far_at = [&](std::int64_t token) {
    return static_cast<std::byte*>(memory) + token * apart * 2;
  };
  const auto near_at = [&](std::int64_t token) {
    return static_cast<std::byte*>(near.host().data) + token * 2048;
  };
  for (std::int64_t t = 0; t < tokens; ++t)
    expect_success(cudaMemcpy(far_at(t), near_at(t), 2048, cudaMemcpyHostToDevice));
  ASSERT_TRUE(rotate(near.host(), near.host(), *rotations));
  rotary_heads_view view = near.device();
  view.data = memory;
  view.strides[1] = apart;
  const auto positions = consecutive(0, tokens);
  const auto at = at_of(frequencies, positions);
  expect_ok(rotary_cuda_rotate(&view, &view, &at, nullptr));
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::byte token[2048];
    expect_success(cudaMemcpy(token, far_at(t), 2048, cudaMemcpyDeviceToHost));
    EXPECT_EQ(std::memcmp(token, near_at(t), 2048), 0) << t;
  }
  expect_success(cudaFree(memory));
}

TEST_F(Cuda, ACapturedAppendReadsPositionsAndSlotsAtEachReplay) {
  Random random(9);
  const HeadWindow window = window_of({64, 64, 0}, Pairing::half);
  const BothFrequencies frequencies(window, powers(32, 1e4), 1);
  Tensor k(random, DType::f16, {2, 1, 4, 64}, Layout::bthd);
  Tensor cache(random, DType::f16, {2, 16, 4, 64}, Layout::bhtd);
  Numbers positions_memory(std::vector<std::int64_t>{0, 0}, 2);
  Numbers slots_memory(std::vector<std::int64_t>{-1, -1}, 2);
  const auto positions = positions_memory.device();
  const auto slots = slots_memory.device_slots();
  const auto at = at_of(frequencies, positions);
  const auto k_view = k.device(), cache_view = cache.device();
  const rotary_kv heads = kv_of(k_view, nullptr), to = kv_of(cache_view, nullptr);
  cudaStream_t stream = nullptr;
  if (cudaStreamCreate(&stream) != cudaSuccess) GTEST_SKIP() << "the emulation has no streams";
  rotary_cuda_options options = ROTARY_CUDA_OPTIONS_INIT;
  options.stream = stream;
  expect_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  expect_ok(rotary_cuda_append(&to, &heads, &slots, &at, nullptr, &options));
  cudaGraph_t graph = nullptr;
  expect_success(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t replayed = nullptr;
  expect_success(cudaGraphInstantiate(&replayed, graph, 0));
  for (std::int64_t step = 0; step < 5; ++step) {
    const std::vector<std::int64_t> at_step = {1000 + step, 5 * step};
    const std::vector<std::int64_t> to_slots = {3 + step, 16 + 2 * step};
    expect_success(
        cudaMemcpy(positions_memory.bytes().device(), at_step.data(), 16, cudaMemcpyHostToDevice));
    expect_success(
        cudaMemcpy(slots_memory.bytes().device(), to_slots.data(), 16, cudaMemcpyHostToDevice));
    const auto rotations = make_rotations(frequencies.host(), positions_of(at_step, 2));
    ASSERT_TRUE(append({.k = cache.host()}, {.k = k.host()}, slots_of(to_slots, 2),
                       {.rotations = &*rotations}));
    expect_success(cudaGraphLaunch(replayed, stream));
    expect_success(cudaStreamSynchronize(stream));
    ASSERT_TRUE(cache.agree()) << step;
  }
  expect_success(cudaGraphExecDestroy(replayed));
  expect_success(cudaGraphDestroy(graph));
  expect_success(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace rotary::cuda_tests

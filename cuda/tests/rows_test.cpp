// SPDX-License-Identifier: Apache-2.0
// cos/sin rows in device memory: written, and used to rotate.
#include <cstring>
#include <limits>

#include "cases.hpp"

namespace rotary::cuda_tests {
namespace {

struct DeviceRows {
  DeviceRows(std::int64_t batch, std::int64_t tokens, std::int64_t pairs)
      : cos(std::vector<float>(static_cast<std::size_t>(batch * tokens * pairs), 7)),
        sin(std::vector<float>(static_cast<std::size_t>(batch * tokens * pairs), 7)) {
    view.cos = cos.device();
    view.sin = sin.device();
    view.dtype = ROTARY_F32;
    view.batch = batch;
    view.tokens = tokens;
    view.batch_stride = tokens * pairs;
    view.token_stride = pairs;
  }
  Bytes cos;
  Bytes sin;
  rotary_cos_sin view = ROTARY_COS_SIN_INIT;
};

TEST_F(Cuda, RowsAreBitIdenticalToTheCpuAtNearAndFarPositions) {
  const HeadWindow window = window_of({128, 128, 0}, Pairing::half);
  for (const double factor : {1.0, 1.25}) {
    const BothFrequencies frequencies(window, powers(64, 1e4), factor);
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1000}, std::int64_t{1} << 20,
                                     (std::int64_t{1} << 31) - 2000, std::int64_t{1} << 62,
                                     std::numeric_limits<std::int64_t>::min()}) {
      constexpr std::int64_t tokens = 4096;
      const auto rotations = make_rotations(frequencies.host(),
                                            ConsecutivePositions{.first = first, .tokens = tokens});
      DeviceRows rows(1, tokens, 64);
      rows.view.attention_factor = factor;
      const auto positions = consecutive(first, tokens);
      const auto at = at_of(frequencies, positions);
      expect_ok(rotary_cuda_rows(&rows.view, &at, nullptr));
      std::vector<float> cos(tokens * 64), sin(tokens * 64);
      rows.cos.copy_to(cos.data());
      rows.sin.copy_to(sin.data());
      for (std::int64_t t = 0; t < tokens; ++t) {
        ASSERT_EQ(std::memcmp(cos.data() + t * 64, rotations->cos(0, t).data(), 256), 0)
            << "cos at " << first << " + " << t;
        ASSERT_EQ(std::memcmp(sin.data() + t * 64, rotations->sin(0, t).data(), 256), 0)
            << "sin at " << first << " + " << t;
      }
    }
  }
}

TEST_F(Cuda, RotateByRowsIsBitIdenticalToTheCpu) {
  Random random(4);
  for (const std::int64_t batch : {1, 2}) {
    for (const Direction direction : all_directions) {
      const HeadWindow window = window_of({80, 64, 16}, Pairing::interleaved);
      const BothFrequencies frequencies(window, powers(32, 1e4), 1.25);
      const Numbers numbers = random_positions(random, frequencies, batch, 11);
      const auto positions = numbers.device();
      const auto at = at_of(frequencies, positions);
      DeviceRows rows(batch, 11, 32);
      rows.view.attention_factor = 1.25;
      expect_ok(rotary_cuda_rows(&rows.view, &at, nullptr));
      Tensor src(random, DType::bf16, {batch, 11, 3, 80}, Layout::bhtd);
      Tensor other(random, DType::bf16, {batch, 11, 3, 80}, Layout::bthd);
      Tensor& dst = direction == Direction::forward ? src : other;  // in place, or not
      const auto rotations = make_rotations(frequencies.host(), numbers.host());
      ASSERT_TRUE(rotate(dst.host(), src.host(), *rotations, {.direction = direction}));
      const auto to = dst.device();
      const auto from = src.device();
      const auto within = struct_of(window);
      const auto options = options_of(direction);
      expect_ok(rotary_cuda_rotate_by_rows(&to, &from, &within, &rows.view, &options));
      ASSERT_TRUE(dst.agree()) << batch << ", " << static_cast<int>(direction);
    }
  }
}

}  // namespace
}  // namespace rotary::cuda_tests

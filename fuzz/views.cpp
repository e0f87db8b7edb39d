// SPDX-License-Identifier: Apache-2.0
// rotate and rotate_qk with views of any strides, shared or apart. Accepted calls must be right.
// Refused calls must give a reason and change nothing.
#include <array>
#include <cstddef>
#include <cstdint>

#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/frequencies_cache.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/target.hpp"
#include "fuzz/views_case.hpp"

namespace rotary::fuzz {
namespace {

using Buffer = std::array<std::byte, buffer_bytes>;

alignas(64) Buffer buffer;
alignas(64) Buffer before;
alignas(64) std::array<std::byte, std::size_t{1} << 14> row_memory;

// Batch row b is at positions 1000 b higher, modulo 2^64.
Rotations rotations_of(const ViewsCase& views) {
  std::array<std::int64_t, most_batch * most_tokens> positions{};
  const auto tokens = static_cast<std::size_t>(views.rotations_tokens);
  const auto batch = static_cast<std::size_t>(views.rotations_batch);
  for (std::size_t i = 0; i < tokens * batch; ++i) {
    const std::uint64_t step = i / tokens * 1000 + i % tokens;
    positions[i] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(views.first_position) + step);
  }
  const TokenArray<std::int64_t> array{.data = positions.data(),
                                       .batch = views.rotations_batch,
                                       .tokens = views.rotations_tokens,
                                       .batch_stride = views.rotations_tokens};
  auto rotations = make_rotations(frequencies_of(views.window, views.spec_kind), array,
                                  {.rows = views.rows, .memory = row_memory});
  if (!rotations) fail("rotations must be made", rotations.error().message);
  return *std::move(rotations);
}

Status run(const ViewsCase& views, const Rotations& rotations) {
  const RotateOptions options{.direction = views.direction};
  if (views.operation == Operation::rotate) {
    return rotate(views.dst, views.src, rotations, options);
  }
  return rotate_qk(views.dst, views.src, rotations, options);
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  Bytes input(data, size);
  const auto views = decode_views(input, buffer);
  if (!views) return 0;
  fill(buffer, views->dst.dtype, views->noise, views->seed);
  before = buffer;
  const auto rotations = rotations_of(*views);
  const Memory memory{.before = before, .after = buffer};
  const Answer expected = expected_answer(*views, rotations, buffer.data());
  const auto status = run(*views, rotations);
  if (!is_accepted(status, expected, memory)) return 0;
  check_written(*views, rotations, memory);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// append with caches of any strides, shared or apart, and slots in any order. Accepted calls must
// be right. Refused calls must give a reason and change nothing.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fuzz/append/append_answer.hpp"
#include "fuzz/append/append_case.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/executor.hpp"
#include "fuzz/frequencies_cache.hpp"
#include "fuzz/heap.hpp"
#include "fuzz/strided.hpp"
#include "fuzz/target.hpp"
#include "rotary/shift.hpp"

namespace rotary::fuzz {
namespace {

Buffers buffers;
alignas(64) std::array<std::byte, std::size_t{1} << 17> row_memory;

// Each batch row is 1000 positions away from the previous one.
Rotations rows_of(const AppendRotations& made) {
  RotationsOptions options = made.options;
  options.memory = row_memory;
  const Frequencies& frequencies = frequencies_of(made.window, made.spec_kind);
  const std::int64_t far = made.first_position > 0 ? -1000 : 1000;
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < made.batch * made.tokens; ++i) {
    positions.push_back(made.first_position + i / made.tokens * far + i % made.tokens);
  }
  auto rotations =
      made.moved
          ? make_shift({frequencies, ConsecutivePositions{.first = 5, .tokens = made.tokens}},
                       {frequencies,
                        ConsecutivePositions{.first = made.first_position, .tokens = made.tokens}},
                       options)
          : make_rotations(frequencies,
                           TokenArray<std::int64_t>{.data = positions.data(),
                                                    .batch = made.batch,
                                                    .tokens = made.tokens,
                                                    .batch_stride = made.tokens},
                           options);
  if (!rotations) fail("rotations must be made", rotations.error().message);
  return *std::move(rotations);
}

Status run(const AppendCase& append, const Rotations* rotations) {
  Backwards backwards;
  const AppendOptions options{.rotations = rotations,
                              .executor = append.has_executor ? backwards.executor() : Executor{},
                              .k_norm = append.k_norm};
  const Slots slots = slots_of(append.slots);
  const std::size_t allocated = allocated_bytes();
  auto status = append.quantized ? rotary::append(*append.quantized, append.heads, slots, options)
                                 : rotary::append(append.cache, append.heads, slots, options);
  if (status && allocated_bytes() != allocated) fail("success must allocate nothing");
  const Extents& n = append.heads.k.extents;
  const bool is_cut = status && static_cast<int128>(n.batch) * n.tokens >= 64;
  if (backwards.calls() > (is_cut ? 1 : 0)) {
    fail("the executor must be called once at most, and not for fewer than 64 tokens");
  }
  return status;
}

void run_case(const AppendCase& append, const Memory& memory) {
  const auto rotations =
      append.rotations ? std::optional(rows_of(*append.rotations)) : std::nullopt;
  const Rotations* const by = rotations ? &*rotations : nullptr;
  const Answer expected = expected_answer(append, by, memory.after.data());
  const auto status = run(append, by);
  if (!is_accepted(status, expected, memory)) return;
  check_written(append, by, memory);
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  Bytes input(data, size);
  use_instruction_set(input);
  const auto append = decode_append(input, buffers.buffer());
  if (!append) return 0;
  fill(buffers.buffer(), append->heads.k.dtype, append->noise, append->seed);
  write_numbers(append->slots, append->slot_numbers);
  run_case(*append, buffers.keep());
  return 0;
}

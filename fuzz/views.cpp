// SPDX-License-Identifier: Apache-2.0
// Fuzzes rotate and rotate_qk with every instruction set and views of any strides, overlapping or
// separate. Accepted calls must be right, with the same bits in parts. Refused calls must give a
// reason and change nothing.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "fuzz/frequencies_cache.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/shapes.hpp"
#include "fuzz/strided.hpp"
#include "fuzz/target.hpp"
#include "fuzz/turned.hpp"
#include "rotary/rotate.hpp"

namespace rotary::fuzz {
namespace {

constexpr std::int64_t most_batch = 4;  // of the rotations
constexpr std::int64_t most_tokens = 80;
constexpr std::int64_t longest_head = 160;

enum class Operation { rotate, rotate_qk };

struct ViewsCase {
  Operation operation = Operation::rotate;
  Direction direction = Direction::forward;
  HeadWindow window;
  std::int64_t spec_kind = 0;  // for frequencies_of
  RowDType rows = RowDType::f32;
  std::int64_t rotations_batch = 1;
  std::int64_t rotations_tokens = 0;
  std::int64_t first_position = 0;
  HeadsView dst = {};  // q of rotate_qk
  HeadsView src = {};  // k of rotate_qk
  std::uint64_t seed = 0;
  Noise noise = Noise::activations;
};

// Sometimes gives enough tokens for an executor.
Extents decode_extents(Bytes& input, std::int64_t head_dim) {
  Extents extents{.batch = input.number(1, 3),
                  .tokens = input.number(1, 4),
                  .heads = input.number(1, 3),
                  .features = head_dim};
  if (input.once_in(8)) extents.tokens = input.number(30, 70);
  disturb(input, extents);
  return extents;
}

Strides decode_strides(Bytes& input, const Extents& extents) {
  const std::int64_t kind = input.number(0, 15);
  Axes strides;
  if (kind == 0) {
    strides = decode_wild_strides(input);
  } else if (kind < 6) {
    strides = decode_small_strides(input);
  } else {
    const Axes counts = {extents.batch, extents.tokens, extents.heads, extents.features};
    strides = decode_ordered_strides(input, counts, Features::anywhere);
  }
  return {.batch = strides[0], .token = strides[1], .head = strides[2], .feature = strides[3]};
}

bool place(Bytes& input, std::span<std::byte> buffer, HeadsView& view) {
  const auto data = fuzz::place(input, buffer, strided(view));
  if (data) view.data = *data;
  return data.has_value();
}

// The second view: the first view, the first view at another address, or a different view.
bool decode_second(Bytes& input, std::span<std::byte> buffer, ViewsCase& views) {
  const std::int64_t kind = input.number(0, 7);
  views.src = views.dst;
  if (kind <= 2) return true;
  if (kind <= 4) return place(input, buffer, views.src);
  if (input.once_in(16)) views.src.dtype = decode_dtype(input);
  if (views.operation == Operation::rotate_qk) views.src.extents.heads = input.number(0, 3);
  if (input.once_in(16)) views.src.extents = decode_extents(input, views.window.head_dim);
  views.src.strides = decode_strides(input, views.src.extents);
  return place(input, buffer, views.src);
}

// Returns nullopt if a view that rotate may accept would leave the buffer.
std::optional<ViewsCase> decode_views(Bytes& input, std::span<std::byte> buffer) {
  const std::int64_t head_dim =
      input.once_in(8) ? input.number(10, longest_head) : input.number(2, 9);
  ViewsCase views{.window = decode_window(input, head_dim)};
  views.operation = input.once_in(4) ? Operation::rotate_qk : Operation::rotate;
  views.direction = static_cast<Direction>(input.once_in(64) ? 7 : input.number(1, 3));
  views.spec_kind = input.number(0, spec_kinds - 1);
  views.first_position = input.integer();
  views.seed = input.bits();
  views.noise = decode_noise(input);
  views.dst.dtype = decode_dtype(input);
  views.dst.extents = decode_extents(input, views.window.head_dim);
  views.dst.strides = decode_strides(input, views.dst.extents);
  views.rows = views.dst.dtype == DType::f64 ? RowDType::f64 : RowDType::f32;
  if (input.once_in(64)) views.rows = RowDType::f64;
  const auto& n = views.dst.extents;
  const bool rows_for_each_batch = input.once_in(3) && n.batch >= 1 && n.batch <= most_batch;
  views.rotations_batch = rows_for_each_batch ? n.batch : 1;
  views.rotations_tokens = n.tokens >= 0 && n.tokens <= most_tokens ? n.tokens : 1;
  if (!place(input, buffer, views.dst) || !decode_second(input, buffer, views)) return {};
  return views;
}

// Two views must share no element, except in place. A destination must not repeat an element.
Answer expected_of_elements(const ViewsCase& views, const std::byte* buffer) {
  const std::array both = {strided(views.dst), strided(views.src)};
  const std::span all(both);
  const bool in_place = views.operation == Operation::rotate &&
                        views.dst.dtype == views.src.dtype && are_same(both[0], both[1]);
  if (views.operation == Operation::rotate_qk) return expected_of_sharing(all, {}, buffer);
  return expected_of_sharing(all.first(1), in_place ? all.first(0) : all.last(1), buffer);
}

bool are_bad_together(const ViewsCase& views) {
  if (views.operation == Operation::rotate) {
    return views.src.dtype != views.dst.dtype || views.src.extents != views.dst.extents;
  }
  return views.src.extents.batch != views.dst.extents.batch;
}

// The answer that the comments of the public headers require. Checks every element.
Answer expected_answer(const ViewsCase& views, const Rotations& rotations,
                       const std::byte* buffer) {
  const auto direction = static_cast<std::int32_t>(views.direction);
  if (direction < 1 || direction > 3) return Answer::refuse;
  for (const ConstHeadsView& view : {ConstHeadsView(views.dst), ConstHeadsView(views.src)}) {
    if (!is_well_formed(strided(view)) || !fits(view, rotations)) return Answer::refuse;
  }
  if (are_bad_together(views)) return Answer::refuse;
  return expected_of_elements(views, buffer);
}

Buffers buffers;
alignas(64) std::array<std::byte, largest_buffer> results;
alignas(64) std::array<std::byte, std::size_t{1} << 19> row_memory;

Status run(const ViewsCase& views, const Rotations& rotations, const Executor& executor) {
  const RotateOptions options{.direction = views.direction, .executor = executor};
  return views.operation == Operation::rotate ? rotate(views.dst, views.src, rotations, options)
                                              : rotate_qk(views.dst, views.src, rotations, options);
}

// Restores the operands and repeats the call in parts, if it has enough tokens.
void check_parts(const ViewsCase& views, const Rotations& rotations, const Memory& memory) {
  if (views.dst.extents.batch * views.dst.extents.tokens < 64) return;
  const auto after = buffers.buffer();
  std::ranges::copy(after, results.begin());
  std::ranges::copy(memory.before, after.begin());
  test::CountingExecutor backwards(test::run_backwards, 3);
  if (!run(views, rotations, backwards.executor())) fail("an executor must change no answer");
  check_executor(backwards, 1);
  for (const HeadsView& view : {views.dst, views.src}) {
    for_each_element(strided(view), [&](const Axes& index) {
      const double whole = number_before(view, index, {.before = results, .after = after});
      if (!is_rounded(DType::f64, number_after(view, index, memory), whole))
        fail("parts must not change a bit");
    });
  }
}

// Every element of a destination must have the value that the contract requires for the original
// source. Every other byte must be unchanged.
void check_written(const ViewsCase& views, const Rotations& rotations, const Memory& memory) {
  const bool both = views.operation == Operation::rotate_qk;
  const ConstHeadsView first_source = both ? views.dst : views.src;
  const TurnedBy by{.rotations = rotations, .direction = views.direction};
  check_turned(first_source, views.dst, by, memory);
  if (both) {
    check_turned(views.src, views.src, by, memory);
    put_back(strided(views.src), memory);
  }
  put_back(strided(views.dst), memory);
  check_unchanged(memory, "bytes that belong to no destination must stay");
}

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

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  Bytes input(data, size);
  use_instruction_set(input);
  const auto views = decode_views(input, buffers.buffer());
  if (!views) return 0;
  fill(buffers.buffer(), views->dst.dtype, views->noise, views->seed);
  const Memory memory = buffers.keep();
  const auto rotations = rotations_of(*views);
  const Answer expected = expected_answer(*views, rotations, memory.after.data());
  const auto status = run(*views, rotations, {});
  if (!is_accepted(status, expected, memory)) return 0;
  check_parts(*views, rotations, memory);
  check_written(*views, rotations, memory);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Arguments of C calls and their C++ values.
#include <algorithm>
#include <array>

#include "fuzz/c_abi/memory.hpp"
#include "fuzz/c_abi/session.hpp"
#include "fuzz/check.hpp"

namespace rotary::fuzz {
namespace {

std::span<std::byte> half_for_views() { return CMemory::buffer().first(largest_buffer / 2); }
std::span<std::byte> half_for_rows() { return CMemory::buffer().last(largest_buffer / 2); }

// Serves as the caller's thread pool and runs tasks in reverse.
void run_backwards(void* /*context*/, int64_t count, rotary_task task, void* state) {
  for (int64_t i = count; i > 0; --i) task(state, i - 1);
}

}  // namespace

std::optional<rotary_heads_view> Session::decode_heads(const Rotations* rotations,
                                                       Features features) {
  rotary_heads_view view = ROTARY_HEADS_VIEW_INIT;
  DType dtype = decode_dtype(input_);
  Extents n{.batch = input_.number(1, 2),
            .tokens = input_.number(1, 3),
            .heads = input_.number(1, 2),
            .features = input_.number(1, 6)};
  if (rotations != nullptr && !input_.once_in(32)) {
    const bool is_wide = rotations->row_dtype() == RowDType::f64;
    if (is_wide || dtype == DType::f64) dtype = is_wide ? DType::f64 : DType::f32;
    if (rotations->tensors()) dtype = *rotations->tensors();
    n.tokens = std::min<std::int64_t>(rotations->tokens(), 80);
    n.features = std::min<std::int64_t>(rotations->window().head_dim, 64);
    if (rotations->batch() != 1) n.batch = std::min<std::int64_t>(rotations->batch(), 4);
  }
  disturb(input_, n);
  const Axes counts = {n.batch, n.tokens, n.heads, n.features};
  const Axes strides = decode_strides(input_, counts, features);
  const Strided all{.element_bytes = size_in_bytes(dtype), .counts = counts, .strides = strides};
  if (!is_empty(all) && !is_small(all)) return {};
  const auto data = place(input_, half_for_views(), all);
  if (!data) return {};
  view.data = *data;
  view.dtype = static_cast<int32_t>(dtype);
  if (input_.once_in(64)) view.reserved = 1;
  std::copy(counts.begin(), counts.end(), view.extents);
  std::copy(strides.begin(), strides.end(), view.strides);
  return view;
}

std::optional<rotary_int8_view> Session::decode_int8(const rotary_heads_view& view) {
  // A view of an unknown dtype has room for elements of 0 bytes. Int8 elements need 1 byte each.
  if (size_in_bytes(static_cast<DType>(view.dtype)) == 0) return {};
  rotary_int8_view int8 = ROTARY_INT8_VIEW_INIT;
  int8.data = static_cast<int8_t*>(view.data);
  std::copy(std::begin(view.extents), std::end(view.extents), int8.extents);
  std::copy(std::begin(view.strides), std::end(view.strides), int8.strides);
  const Axes counts = {view.extents[0], view.extents[1], view.extents[2], 1};
  const Axes strides = decode_strides(input_, counts, Features::adjacent);
  const auto data =
      place(input_, half_for_views(), {.element_bytes = 4, .counts = counts, .strides = strides});
  if (!data) return {};
  int8.scales = reinterpret_cast<float*>(*data);
  std::copy_n(strides.begin(), 3, int8.scale_strides);
  return int8;
}

// Arrays use the buffer's contents, to which a few numbers are written first.
std::optional<rotary_positions> Session::decode_positions(std::optional<std::int64_t> tokens) {
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  positions.kind =
      static_cast<int32_t>(input_.once_in(32) ? input_.number(0, 7) : input_.number(1, 4));
  positions.tokens = input_.once_in(16) ? input_.integer() : input_.number(0, 3);
  // Skips token counts whose rows no memory holds, although int64 can count their bytes: the
  // sanitizer would end the process.
  if (positions.tokens > 100 && positions.tokens < std::int64_t{1} << 61) return {};
  if (input_.once_in(16)) positions.tokens = input_.number(64, 70);
  if (tokens) positions.tokens = *tokens;
  positions.batch = 1;
  const bool is_array = positions.kind >= ROTARY_POSITIONS_INT32;
  if (is_array != input_.once_in(64)) {
    positions.batch = input_.number(1, 2);
    positions.batch_stride = input_.once_in(8) ? input_.number(-2, 2) : positions.tokens;
    positions.token_stride = input_.once_in(8) ? input_.number(-2, 2) : 1;
    const Strided array{.element_bytes = positions.kind == ROTARY_POSITIONS_INT32 ? 4 : 8,
                        .counts = {positions.batch, positions.tokens, 1, 1},
                        .strides = {positions.batch_stride, positions.token_stride, 0, 0}};
    if (!is_empty(array) && !is_small(array)) return {};
    const auto data = place(input_, half_for_rows(), array);
    if (!data) return {};
    positions.data = *data;
  } else {
    positions.first = input_.once_in(4) ? input_.integer() : input_.number(0, 127);
  }
  if (input_.once_in(64)) positions.first = 1;
  if (input_.once_in(64)) positions.reserved = 1;
  return positions;
}

rotary_rotations_options Session::decode_rotations_options() {
  rotary_rotations_options options = ROTARY_ROTATIONS_OPTIONS_INIT;
  options.rows = input_.once_in(4) ? ROTARY_F64 : ROTARY_F32;
  if (input_.once_in(64)) options.rows = static_cast<int32_t>(input_.number(-1, 5));
  if (input_.once_in(3)) options.role = static_cast<int32_t>(input_.number(0, 3));
  if (input_.once_in(3)) options.tensors = static_cast<int32_t>(input_.number(0, 5));
  if (input_.once_in(3)) {
    const auto half = half_for_rows();
    const std::size_t at = input_.byte() * std::size_t{8};
    options.memory = half.data() + at + (input_.once_in(32) ? 2 : 0);
    options.memory_bytes =
        std::min<std::size_t>(input_.byte() * std::size_t{32}, half.size() - at - 8);
  }
  if (input_.once_in(64)) options.memory_bytes = 64;
  if (input_.once_in(64)) options.memory = nullptr;
  if (input_.once_in(64)) options.reserved_end = 1;
  return options;
}

rotary_executor Session::decode_executor() {
  rotary_executor executor = ROTARY_EXECUTOR_INIT;
  if (!input_.once_in(4)) executor.run = run_backwards;
  executor.concurrency = input_.once_in(16) ? input_.integer() : input_.number(0, 4);
  if (threads_ != nullptr && input_.once_in(2)) {
    if (rotary_threads_executor(threads_.get(), &executor) != ROTARY_OK)
      fail("threads must have an executor");
  }
  return executor;
}

rotary_window Session::decode_c_window() {
  rotary_window window = ROTARY_WINDOW_INIT;
  window.head_dim = input_.number(2, 8);
  window.rotary_dim = 2 * input_.number(1, 3);
  window.first_feature = input_.number(0, 2);
  window.pairing = static_cast<int32_t>(input_.number(1, 3));
  if (input_.once_in(16)) window.head_dim = input_.integer();
  if (input_.once_in(16)) window.rotary_dim = input_.integer();
  if (input_.once_in(16)) window.first_feature = input_.integer();
  if (input_.once_in(16)) window.pairing = static_cast<int32_t>(input_.number(-1, 4));
  if (input_.once_in(64)) window.reserved = 1;
  return window;
}

std::optional<HeadsView> Session::value_of(const Passed<rotary_heads_view>& view) {
  const auto given = view.value(ROTARY_HEADS_VIEW_INIT);
  if (!given) return {};
  const auto& [n, s] = std::pair(given->extents, given->strides);
  return HeadsView{.data = in_shadow(given->data),
                   .dtype = static_cast<DType>(given->dtype),
                   .extents = {.batch = n[0], .tokens = n[1], .heads = n[2], .features = n[3]},
                   .strides = {.batch = s[0], .token = s[1], .head = s[2], .feature = s[3]}};
}

std::optional<QuantizedHeadsView> Session::value_of(const Passed<rotary_int8_view>& view) {
  const auto given = view.value(ROTARY_INT8_VIEW_INIT);
  if (!given) return {};
  const auto& [n, s] = std::pair(given->extents, given->strides);
  const auto& f = given->scale_strides;
  return QuantizedHeadsView{
      .data = in_shadow(given->data),
      .scales = in_shadow(given->scales),
      .extents = {.batch = n[0], .tokens = n[1], .heads = n[2], .features = n[3]},
      .strides = {.batch = s[0], .token = s[1], .head = s[2], .feature = s[3]},
      .scale_strides = {.batch = f[0], .token = f[1], .head = f[2]}};
}

std::optional<Positions> Session::value_of(const Passed<rotary_positions>& positions) {
  const auto given = positions.value(ROTARY_POSITIONS_INIT);
  if (!given) return {};
  if (given->kind == ROTARY_POSITIONS_CONSECUTIVE) {
    if (given->data != nullptr || given->batch != 1) return {};
    if (given->axes != 0 && given->axes != 1) return {};
    return ConsecutivePositions{.first = given->first, .tokens = given->tokens};
  }
  if (given->first != 0) return {};
  const auto array = [&]<class Number>(Number /*like*/) -> Positions {
    return TokenArray<Number>{.data = in_shadow(static_cast<const Number*>(given->data)),
                              .batch = given->batch,
                              .tokens = given->tokens,
                              .batch_stride = given->batch_stride,
                              .token_stride = given->token_stride,
                              .axes = given->axes == 0 ? 1 : given->axes,
                              .axis_stride = given->axis_stride};
  };
  switch (given->kind) {
    case ROTARY_POSITIONS_INT32:
      return array(std::int32_t{});
    case ROTARY_POSITIONS_INT64:
      return array(std::int64_t{});
    case ROTARY_POSITIONS_F64:
      return array(double{});
    default:
      return {};
  }
}

std::optional<RotationsOptions> Session::value_of(const Passed<rotary_rotations_options>& options) {
  const auto given = options.value_or_defaults(ROTARY_ROTATIONS_OPTIONS_INIT);
  if (!given || given->reserved_end != 0) return {};
  if ((given->memory == nullptr) != (given->memory_bytes == 0)) return {};
  RotationsOptions value{.rows = static_cast<RowDType>(given->rows)};
  if (given->role != 0) value.role = static_cast<Role>(given->role);
  if (given->tensors != 0) value.tensors = static_cast<DType>(given->tensors);
  value.memory = {in_shadow(static_cast<std::byte*>(given->memory)), given->memory_bytes};
  return value;
}

std::optional<Executor> Session::value_of(const Passed<rotary_executor>& executor) {
  const auto given = executor.value_or_defaults(ROTARY_EXECUTOR_INIT);
  if (!given) return {};
  return Executor{.context = given->context, .run = given->run, .concurrency = given->concurrency};
}

std::optional<HeadWindow> Session::value_of(const Passed<rotary_window>& window) {
  const auto given = window.value(ROTARY_WINDOW_INIT);
  if (!given) return {};
  return HeadWindow{.head_dim = given->head_dim,
                    .rotary_dim = given->rotary_dim,
                    .first_feature = given->first_feature,
                    .pairing = static_cast<Pairing>(given->pairing),
                    .blocks = given->blocks == 0 ? 1 : given->blocks};
}

}  // namespace rotary::fuzz

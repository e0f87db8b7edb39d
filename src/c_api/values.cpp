// SPDX-License-Identifier: Apache-2.0
#include "c_api/values.hpp"

#include <cstddef>
#include <optional>

#include "base/message.hpp"
#include "c_api/structs.hpp"

namespace rotary::c_api {
namespace {

// Refuses members that consecutive positions do not use: the caller probably meant another kind.
Status check_consecutive(const rotary_positions& from) {
  if (from.data != nullptr) {
    return invalid_argument(
        "positions.data must be NULL for kind ROTARY_POSITIONS_CONSECUTIVE, got a pointer");
  }
  if (from.batch != 1) {
    return invalid_argument("positions.batch must be 1 for kind ROTARY_POSITIONS_CONSECUTIVE, ",
                            "which serves every batch row; got ", from.batch);
  }
  if (from.axes != 0 && from.axes != 1) {
    return invalid_argument("positions.axes must be 1 for kind ROTARY_POSITIONS_CONSECUTIVE, ",
                            "which serves every axis; got ", from.axes);
  }
  return {};
}

Result<Positions> consecutive(const rotary_positions& from) {
  if (auto status = check_consecutive(from); !status) return std::move(status).error();
  return Positions(ConsecutivePositions{.first = from.first, .tokens = from.tokens});
}

template <class Number>
Result<Positions> array_of(const rotary_positions& from) {
  if (from.first != 0) {
    return invalid_argument(
        "positions.first must be 0 unless kind is ROTARY_POSITIONS_CONSECUTIVE, got ", from.first);
  }
  auto array = token_array<Number>(from);
  array.axes = from.axes == 0 ? 1 : from.axes;
  array.axis_stride = from.axis_stride;
  return Positions(array);
}

}  // namespace

Result<HeadsView> heads_view(std::string_view argument, const rotary_heads_view* from) {
  const auto view = read_struct(argument, from);
  if (!view) return view.error();
  return HeadsView{.data = view->data,
                   .dtype = static_cast<DType>(view->dtype),
                   .extents = extents_of(view->extents),
                   .strides = strides_of(view->strides)};
}

Result<Positions> positions(const rotary_positions* from) {
  const auto given = read_struct("positions", from);
  if (!given) return given.error();
  switch (given->kind) {
    case ROTARY_POSITIONS_CONSECUTIVE:
      return consecutive(*given);
    case ROTARY_POSITIONS_INT32:
      return array_of<std::int32_t>(*given);
    case ROTARY_POSITIONS_INT64:
      return array_of<std::int64_t>(*given);
    case ROTARY_POSITIONS_F64:
      return array_of<double>(*given);
    default:
      return invalid_argument("positions.kind must be one of ROTARY_POSITIONS_…, got value ",
                              given->kind);
  }
}

Result<HeadWindow> window(const rotary_window* from) {
  const auto given = read_struct("window", from);
  if (!given) return given.error();
  return HeadWindow{.head_dim = given->head_dim,
                    .rotary_dim = given->rotary_dim,
                    .first_feature = given->first_feature,
                    .pairing = static_cast<Pairing>(given->pairing),
                    .blocks = given->blocks == 0 ? 1 : given->blocks};
}

Result<CosSinView> cos_sin(const rotary_cos_sin* from) {
  const auto given = read_struct("rows", from);
  if (!given) return given.error();
  return CosSinView{.cos = given->cos,
                    .sin = given->sin,
                    .dtype = static_cast<DType>(given->dtype),
                    .batch = given->batch,
                    .tokens = given->tokens,
                    .batch_stride = given->batch_stride,
                    .token_stride = given->token_stride,
                    .pair_stride = given->pair_stride,
                    .attention_factor = given->attention_factor};
}

Result<RotationsOptions> rotations_options(const rotary_rotations_options* from) {
  const auto options = read_options("options", from);
  if (!options) return options.error();
  if ((options->memory == nullptr) != (options->memory_bytes == 0)) {
    return invalid_argument("options must have both memory and memory_bytes or neither, got ",
                            options->memory == nullptr ? "NULL" : "a pointer", " and ",
                            options->memory_bytes);
  }
  if (options->reserved_end != 0) {
    return invalid_argument("options.reserved_end must be 0, got ", options->reserved_end);
  }
  const auto tensors = static_cast<DType>(options->tensors);
  std::optional<Role> role;
  if (options->role != 0) role = static_cast<Role>(options->role);
  return RotationsOptions{
      .rows = static_cast<RowDType>(options->rows),
      .role = role,
      .tensors = options->tensors == 0 ? std::nullopt : std::optional(tensors),
      .memory = {static_cast<std::byte*>(options->memory), options->memory_bytes}};
}

Result<Executor> executor(std::string_view argument, const rotary_executor* from) {
  const auto given = read_options(argument, from);
  if (!given) return given.error();
  return Executor{.context = given->context, .run = given->run, .concurrency = given->concurrency};
}

Result<RotateOptions> rotate_options(const rotary_rotate_options* from) {
  const auto options = read_options("options", from);
  if (!options) return options.error();
  const auto running = executor("options.executor", options->executor);
  if (!running) return running.error();
  return RotateOptions{.direction = static_cast<Direction>(options->direction),
                       .executor = *running};
}

}  // namespace rotary::c_api

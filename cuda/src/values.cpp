// SPDX-License-Identifier: Apache-2.0
#include "values.hpp"

#include <string>

#include "base/message.hpp"
#include "c_api/status.hpp"
#include "c_api/structs.hpp"
#include "c_api/values.hpp"
#include "tensor/position_access.hpp"
#include "tensor/view_checks.hpp"

namespace rotary::c_api {

ROTARY_VERSIONED(rotary_cuda_at, positions, ROTARY_CUDA_AT_INIT);
ROTARY_VERSIONED(rotary_cuda_options, reserved, ROTARY_CUDA_OPTIONS_INIT);

}  // namespace rotary::c_api

namespace rotary::cuda {

Result<HeadsView> view_of(std::string_view name, const rotary_heads_view* from) {
  const auto view = c_api::heads_view(name, from);
  if (!view) return view.error();
  return without_unused_strides(*view);
}

Result<At> at_of(std::string_view name, const rotary_cuda_at* from) {
  const auto given = c_api::read_struct(name, from);
  if (!given) return given.error();
  if (given->frequencies == nullptr)
    return c_api::null_argument(std::string(name) + ".frequencies");
  if (given->positions == nullptr) return c_api::null_argument(std::string(name) + ".positions");
  const auto positions = c_api::positions(given->positions);
  if (!positions) return positions.error();
  const At at{*given->frequencies, *positions};
  const auto status = check(at);
  if (!status) return blamed(status.error().code, message(name, ": "), status.error());
  return at;
}

Result<Options> options_of(const rotary_cuda_options* from) {
  const auto given = c_api::read_options("options", from);
  if (!given) return given.error();
  const auto direction = static_cast<Direction>(given->direction);
  if (direction == Direction::forward || direction == Direction::inverse ||
      direction == Direction::transpose) {
    return Options{given->stream, direction};
  }
  return invalid_argument("options.direction must be forward, inverse or transpose, got value ",
                          given->direction);
}

Status check_forward(const Options& options) {
  if (options.direction == Direction::forward) return {};
  return invalid_argument("options.direction must be forward here, got value ",
                          static_cast<std::int32_t>(options.direction));
}

Tokens tokens_of(const At& at) { return {batch_of(at.positions), rotary::tokens_of(at.positions)}; }

Launching launching(const At& at, const Options& options) {
  Launching how{.rows = rows_at(at),
                .window = window_of(at.frequencies.window, options.direction),
                .reads = {read_of("positions", at.positions)},
                .stream = options.stream};
  set_scales(how.rows, options.direction, at.frequencies.attention_factor);
  return how;
}

Transfer in_place(std::string_view name, const HeadsView& view) {
  return {.src_name = name, .src = view, .dst_name = name, .dst = view};
}

Status checked_launch(std::span<const Transfer> transfers, const HeadWindow& window,
                      const Tokens& tokens, const Launching& how) {
  if (auto status = check(transfers, window, tokens, how.reads); !status) return status;
  return launch(transfers, how);
}

}  // namespace rotary::cuda

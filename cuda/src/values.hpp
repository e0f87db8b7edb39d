// SPDX-License-Identifier: Apache-2.0
// Conversions of the structs of rotary_cuda.h, and checks and launches that its functions share.
#pragma once

#include <span>
#include <string_view>

#include "frequencies.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_cuda.h"
#include "rotary/rotate.hpp"
#include "rotary/tensor_view.hpp"
#include "transfers.hpp"

namespace rotary::cuda {

[[nodiscard]] Result<HeadsView> view_of(std::string_view name, const rotary_heads_view* from);

// Checks `from`. Its frequencies must be on the current device.
[[nodiscard]] Result<At> at_of(std::string_view name, const rotary_cuda_at* from);

struct Options {
  void* stream;
  Direction direction;
};
[[nodiscard]] Result<Options> options_of(const rotary_cuda_options* from);

[[nodiscard]] Status check_forward(const Options& options);

[[nodiscard]] Tokens tokens_of(const At& at);
[[nodiscard]] Launching launching(const At& at, const Options& options);
[[nodiscard]] Transfer in_place(std::string_view name, const HeadsView& view);

[[nodiscard]] Status checked_launch(std::span<const Transfer> transfers, const HeadWindow& window,
                                    const Tokens& tokens, const Launching& how);

}  // namespace rotary::cuda

// SPDX-License-Identifier: Apache-2.0
// The rows of architectures.hpp by rope type, one file each.
#pragma once

#include <span>

#include "model/gguf/architectures.hpp"

namespace rotary {

[[nodiscard]] std::span<const GgufArchitecture> interleaved_gguf_architectures();
[[nodiscard]] std::span<const GgufArchitecture> half_gguf_architectures();
[[nodiscard]] std::span<const GgufArchitecture> other_gguf_architectures();

}  // namespace rotary

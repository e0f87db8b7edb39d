// SPDX-License-Identifier: Apache-2.0
// What a rotary embedding of a model means, in the words that inspect and report share.
#pragma once

#include <cstdint>
#include <string>

#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {

// "llama, 32 layers, one rotary embedding"; the config's own text in it may hold anything.
[[nodiscard]] std::string summary_text(const ModelSpec& model);

// Whichever way the pair turns.
[[nodiscard]] double turns_within(double inv_freq, std::int64_t tokens);

// Infinite for a pair that stands still.
[[nodiscard]] double wavelength_tokens(double inv_freq);

[[nodiscard]] std::int64_t pairs_that_turn(const Frequencies& frequencies, std::int64_t tokens);

// Four digits at least, and an exponent only where the digits would be too many to read.
[[nodiscard]] std::string plain(double number);

// "all 128 turn".
[[nodiscard]] std::string window_text(const HeadWindow& window, std::int64_t nope_head_dim);

// "contexts of 1 to 4096 tokens".
[[nodiscard]] std::string contexts_text(const ContextRange& contexts);

// "1: scores keep their size".
[[nodiscard]] std::string attention_text(const ModelRotary& rotary, double attention_factor);

// "6.283 tokens (fastest pair) to 54410 (slowest)".
[[nodiscard]] std::string wavelengths_text(const Frequencies& frequencies);

// "39 of 64 pairs complete a turn within 131072 tokens".
[[nodiscard]] std::string turning_text(const Frequencies& frequencies, std::int64_t tokens);

}  // namespace rotary::cli

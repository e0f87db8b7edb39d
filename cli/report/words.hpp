// SPDX-License-Identifier: Apache-2.0
// What a config means, in whole sentences for a reader who has never seen one.
#pragma once

#include <string>
#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli::page {

// What the layers that use model.rotary[index] do, and how far that reaches.
[[nodiscard]] std::vector<std::string> rotary_sentences(const ModelSpec& model, std::size_t index,
                                                        const Frequencies& frequencies);

// What an encoding that does not rotate does; "" for rotary.
[[nodiscard]] std::string encoding_sentence(LayerEncoding encoding);

// What the rule does to the frequencies.
[[nodiscard]] std::string rule_sentence(const Scaling& scaling);

}  // namespace rotary::cli::page

// SPDX-License-Identifier: Apache-2.0
// What a config says, value by value, and what each value does: the rows of the page's table.
#pragma once

#include <string>
#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli::page {

struct Field {
  std::string label;    // the same in every config that has the field
  std::string value;    // what this one says
  std::string meaning;  // what the value does
};

// Of the layers that use model.rotary[index].
[[nodiscard]] std::vector<Field> rotary_fields(const ModelSpec& model, std::size_t index,
                                               const Frequencies& frequencies);

// Of the layers with an encoding that does not rotate.
[[nodiscard]] std::vector<Field> encoding_fields(const ModelSpec& model, LayerEncoding encoding);

}  // namespace rotary::cli::page

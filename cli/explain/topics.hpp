// SPDX-License-Identifier: Apache-2.0
// What `rotary explain` can explain: a file for each, which computes and then tells it as text or
// as JSON (docs/schema/explain.schema.json).
#pragma once

#include <string>

#include "cli/explain/numbers.hpp"
#include "cli/output_form.hpp"

namespace rotary::cli::explain {

// One head's rotation in five steps.
[[nodiscard]] std::string explain_rotation(const Numbers& numbers, OutputForm form);
// Matrix, complex numbers, element by element, rotate_half: the same, and when not.
[[nodiscard]] std::string explain_forms(const Numbers& numbers, OutputForm form);
// From what is asked of a position encoding to the rotation, each step with its numbers.
[[nodiscard]] std::string explain_derivation(const Numbers& numbers, OutputForm form);
// Same distance, same score; the norm stays.
[[nodiscard]] std::string explain_relative(const Numbers& numbers, OutputForm form);
// Usual mistakes, and which checks find them.
[[nodiscard]] std::string explain_mistakes(const Numbers& numbers, OutputForm form);
// The example that is printed in many places, as printed and right.
[[nodiscard]] std::string explain_example(OutputForm form);

}  // namespace rotary::cli::explain

// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/learner.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <memory>

#include "cli/failure.hpp"
#include "lab/torch/choice.hpp"
#include "lab/torch/language_model.hpp"
#include "lab/torch/sequences.hpp"
#include "lab/torch/translation.hpp"

namespace rotary::lab {

std::unique_ptr<Learner> make_learner(const Cell& cell, const Dataset& data) {
  switch (cell.model.task) {
    case Task::causal_lm:
    case Task::masked_lm:
      return make_language_model(cell, data);
    case Task::translation:
      return make_translation(cell, data);
    case Task::triplets:
    case Task::sections:
    case Task::same_document:
    case Task::similarity:
      return make_choice(cell, data);
    case Task::copy:
    case Task::reverse:
    case Task::addition:
      return make_sequences(cell);
  }
  throw cli::Failure(cli::ExitCode::unsupported,
                     fmt::format("{} is not a task of this version", to_string(cell.model.task)));
}

}  // namespace rotary::lab

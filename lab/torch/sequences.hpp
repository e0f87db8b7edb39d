// SPDX-License-Identifier: Apache-2.0
// The learner of copy, reverse and addition: a decoder that answers short questions in training,
// and is asked for 1, 1.5 and 2 times as many symbols. Metrics of length generalisation, of 1.5x:
//   loss@1.5x      nats for each byte of the answers
//   accuracy@1.5x  bytes of the answers that are the likeliest one after what comes before them
//   exact@1.5x     questions whose answer is wholly right; as all before each byte is right then,
//                  these are the answers that taking the likeliest byte generates
#pragma once

#include <torch/torch.h>

#include <memory>

#include "lab/experiment/cell.hpp"
#include "lab/torch/learner.hpp"

namespace rotary::lab {

[[nodiscard]] std::unique_ptr<Learner> make_sequences(const Cell& cell);

}  // namespace rotary::lab

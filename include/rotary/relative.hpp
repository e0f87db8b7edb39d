// SPDX-License-Identifier: Apache-2.0
// Includes all relative position encodings, which enter the scores.
#pragma once

#include "rotary/alibi.hpp"
#include "rotary/cope.hpp"
#include "rotary/fire.hpp"
#include "rotary/kerple.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/sandwich.hpp"
#include "rotary/scores_view.hpp"
#include "rotary/shaw.hpp"
#include "rotary/t5_bias.hpp"

// SPDX-License-Identifier: Apache-2.0
// The whole C++ API: config -> RotarySpec -> Frequencies -> Rotations -> rotate, append; absolute
// and relative encodings.
#pragma once

#include "rotary/absolute.hpp"
#include "rotary/executor.hpp"
#include "rotary/families.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/ggml_angles.hpp"
#include "rotary/head_norm.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/numeric_contract.hpp"
#include "rotary/numerics.hpp"
#include "rotary/positions.hpp"
#include "rotary/query_temperature.hpp"
#include "rotary/relative.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "rotary/scaling.hpp"
#include "rotary/shift.hpp"
#include "rotary/spec_json.hpp"
#include "rotary/tensor_view.hpp"
#include "rotary/version.hpp"

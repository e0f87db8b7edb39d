// SPDX-License-Identifier: Apache-2.0
// The C++ API without threads.hpp and numeric_contract.hpp: config -> RotarySpec -> Frequencies ->
// Rotations -> rotate, append, attend; absolute and relative encodings, linear attention. A library
// built with ROTARY_CORE_ONLY has only RotarySpec -> Frequencies -> Rotations -> rotate.
//
//   const auto model = resolve(config_json);
//   const auto frequencies = make_frequencies(model->only_rotary()->spec);
//   const auto rotations = make_rotations(*frequencies, ConsecutivePositions{.tokens = 5});
//   rotate_qk(q, k, *rotations);
#ifndef ROTARY_ROTARY_HPP
#define ROTARY_ROTARY_HPP

// The core.
#include "rotary/axes.hpp"
#include "rotary/describe.hpp"
#include "rotary/executor.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "rotary/scaling.hpp"
#include "rotary/tensor_view.hpp"
#include "rotary/version.hpp"

#ifndef ROTARY_CORE_ONLY
// Positions, other encodings, KV caches and attention.
#include "rotary/absolute.hpp"
#include "rotary/attention.hpp"
#include "rotary/axis_positions.hpp"
#include "rotary/cope.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/linear_attention.hpp"
#include "rotary/m_rope.hpp"
#include "rotary/position_ids.hpp"
#include "rotary/position_maps.hpp"
#include "rotary/query_temperature.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"
#include "rotary/shift.hpp"

// Models: configs and GGUF files, how engines read them, and what a program computed.
#include "rotary/dialect.hpp"
#include "rotary/gguf.hpp"
#include "rotary/identify.hpp"
#include "rotary/model_difference.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/spec_json.hpp"
#endif

#endif  // ROTARY_ROTARY_HPP

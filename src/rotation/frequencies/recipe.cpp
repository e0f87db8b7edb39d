// SPDX-License-Identifier: Apache-2.0
#include "rotation/frequencies/recipe.hpp"

#include <cstdint>

#include "base/enumerators.hpp"
#include "base/message.hpp"
#include "rotation/frequencies/frequency_checks.hpp"
#include "tensor/position_checks.hpp"

namespace rotary {
namespace {

Status check_ggml(const Frequencies& frequencies, const Positions& positions) {
  if (!frequencies.ggml) {
    return invalid_argument(
        "frequencies.ggml must be set, as make_frequencies does for numerics ggml, got none");
  }
  if (frequencies.axes.count != 1) {
    return unsupported("numerics ggml needs positions of one axis, got ", frequencies.axes.count,
                       " axes");
  }
  const auto factors = static_cast<std::int64_t>(frequencies.ggml->freq_factors.size());
  if (factors != 0 && factors != frequencies.window.pairs()) {
    return invalid_argument("frequencies.ggml.freq_factors must have one entry for each pair, ",
                            frequencies.window.pairs(), ", or none; got ", factors);
  }
  return check_int32(positions);
}

}  // namespace

Status validate(Numerics numerics, Rounding rounding) {
  if (!is_enumerator(numerics)) return no_enumerator("numerics", numerics);
  if (!is_enumerator(rounding)) return no_enumerator("rounding", rounding);
  return {};
}

Status check_recipe(const Frequencies& frequencies, const Positions& positions,
                    const Rotations& rotations) {
  const Numerics numerics = frequencies.numerics;
  if (auto status = validate(numerics, frequencies.rounding); !status) return status;
  if (numerics == Numerics::exact) return {};
  if (rotations.row_dtype() != RowDType::f32) {
    return invalid_argument("rows must be f32 for numerics ", to_string(numerics), ", got f64");
  }
  if (numerics == Numerics::ggml) return check_ggml(frequencies, positions);
  if (frequencies.axes.is_dense()) {
    return unsupported("dense axes need numerics exact, got ", to_string(numerics));
  }
  auto status = validate_inv_freq(frequencies.window, frequencies.axes, frequencies.inv_freq);
  if (!status) return status;
  if (rounds_table(numerics, frequencies.rounding) && !rotations.tensors()) {
    return invalid_argument(
        "tensors, the dtype of q and k, must be given in RotationsOptions for numerics "
        "transformers with rounding ",
        to_string(frequencies.rounding), ", which rounds cos and sin to it; got none");
  }
  return {};
}

}  // namespace rotary

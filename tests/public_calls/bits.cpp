// SPDX-License-Identifier: Apache-2.0
#include "public_calls/bits.hpp"

#include <algorithm>

#include "rotary/query_temperature.hpp"
#include "support/result.hpp"

namespace rotary::test {

std::string bits_of(const Frequencies& frequencies) {
  std::string bits = bits_of(frequencies.inv_freq) + bits_of(frequencies.turns) +
                     bits_of(frequencies.steps) + bits_of(frequencies.attention_factor);
  if (!frequencies.ggml) return bits;
  const GgmlAngles& angles = *frequencies.ggml;
  for (const float number : {angles.theta_scale, angles.freq_scale, angles.ext_factor,
                             angles.ramp_low, angles.ramp_high, angles.mscale}) {
    bits += bits_of(number);
  }
  return bits + bits_of(angles.freq_factors);
}

// One row may serve more tokens than can be gone through: the first ones.
std::string bits_of(const Rotations& rotations) {
  std::string bits;
  for (std::int64_t batch = 0; batch < std::min<std::int64_t>(rotations.batch(), 8); ++batch) {
    for (std::int64_t token = 0; token < std::min<std::int64_t>(rotations.tokens(), 512); ++token) {
      for (const auto& row : {rotations.cos(batch, token), rotations.sin(batch, token)}) {
        bits.append(reinterpret_cast<const char*>(row.data()), row.size_bytes());
      }
      for (const auto& row :
           {rotations.cos<double>(batch, token), rotations.sin<double>(batch, token)}) {
        bits.append(reinterpret_cast<const char*>(row.data()), row.size_bytes());
      }
    }
  }
  return bits;
}

std::string bits_of(const Sinusoidal& sinusoidal) {
  return bits_of(sinusoidal.inv_freq) + bits_of(sinusoidal.turns);
}

// The bits of the frequencies that its rule makes, and of the numbers that no rule has.
std::string bits_of(const RotarySpec& spec) {
  std::string bits = bits_of(spec.base.get());
  if (spec.xpos) bits += bits_of(spec.xpos->scale_base) + bits_of(spec.xpos->center);
  const auto frequencies = make_frequencies(spec, 4096);
  return frequencies ? bits + bits_of(*frequencies) : bits;
}

std::string bits_of(const ModelSpec& model) {
  std::string bits;
  for (const ModelRotary& rotary : model.rotary) {
    bits += bits_of(rotary.spec) + bits_of(rotary.softmax_factor);
  }
  for (const ModelLayer& layer : model.layers) {
    bits += bits_of(query_factor(layer.query_temperature, 100'003));
  }
  for (const std::string& warning : model.warnings) bits += warning;
  if (model.encoder) bits += bits_of(model.encoder->sinusoidal.base.get());
  if (model.sinusoidal) bits += bits_of(model.sinusoidal->base.get());
  if (model.relative_bias) bits += to_string(*model.relative_bias);
  return bits;
}

std::string bits_of(const RowsDifference& rows) {
  return bits_of(rows.at_first) + bits_of(rows.largest_angle_error) +
         bits_of(rows.largest_score_change.value_or(0)) + bits_of(rows.least_correlation) +
         bits_of(rows.pairs);
}

std::string bits_of(const ModelDifference& difference) {
  std::string bits;
  for (const RotaryDifference& pair : difference.rotary) bits += bits_of(pair.rows);
  return bits;
}

std::string bits_of(const DialectReading& reading) { return bits_of(reading.model); }

std::string bits_of(const Identification& found) {
  std::string bits = bits_of(found.turns_per_token) + bits_of(found.tolerance);
  for (const Explanation& each : found.explanations)
    bits += bits_of(each.residual) + bits_of(each.bit_equal);
  return bits;
}

std::string bits_of(const KerpleLog& kerple) { return bits_of(kerple.p) + bits_of(kerple.a); }

std::string bits_of(const KerplePower& kerple) { return bits_of(kerple.a) + bits_of(kerple.p); }

}  // namespace rotary::test

// SPDX-License-Identifier: Apache-2.0
#include "public_calls/bits.hpp"

#include <algorithm>

#include "rotary/query_temperature.hpp"

namespace rotary::test {
namespace {

template <class... Values>
std::string joined(const Values&... values) {
  return (bits_of(values) + ...);
}

}  // namespace

std::string bits_of(const Frequencies& of) {
  const std::string bits = joined(of.inv_freq, of.turns, of.steps, of.attention_factor);
  if (!of.ggml) return bits;
  const GgmlAngles& angles = *of.ggml;
  return bits + joined(angles.theta_scale, angles.freq_scale, angles.ext_factor, angles.ramp_low,
                       angles.ramp_high, angles.mscale, angles.freq_factors);
}

// Reads only the first tokens, because one row may serve more tokens than a loop can visit.
std::string bits_of(const Rotations& rotations) {
  std::string bits;
  const auto append = [&bits](const auto& row) {
    bits.append(reinterpret_cast<const char*>(row.data()), row.size_bytes());
  };
  for (std::int64_t batch = 0; batch < std::min<std::int64_t>(rotations.batch(), 8); ++batch) {
    for (std::int64_t token = 0; token < std::min<std::int64_t>(rotations.tokens(), 512); ++token) {
      append(rotations.cos(batch, token));
      append(rotations.sin(batch, token));
      append(rotations.cos<double>(batch, token));
      append(rotations.sin<double>(batch, token));
    }
  }
  return bits;
}

// The bits of the base and xPos's numbers, and of the frequencies that the spec's rule makes.
std::string bits_of(const RotarySpec& spec) {
  std::string bits = bits_of(spec.base.get());
  if (spec.xpos) bits += joined(spec.xpos->scale_base, spec.xpos->center);
  const auto frequencies = make_frequencies(spec, 4096);
  return frequencies ? bits + bits_of(*frequencies) : bits;
}

std::string bits_of(const ModelSpec& model) {
  std::string bits;
  for (const ModelRotary& rotary : model.rotary) {
    bits += joined(rotary.spec, rotary.softmax_factor);
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

std::string bits_of(const ModelDifference& difference) {
  std::string bits;
  for (const RotaryDifference& pair : difference.rotary) bits += bits_of(pair.rows);
  return bits;
}

std::string bits_of(const Identification& found) {
  std::string bits = joined(found.turns_per_token, found.tolerance);
  for (const Explanation& each : found.explanations) bits += joined(each.residual, each.bit_equal);
  return bits;
}

std::string bits_of(const RowsDifference& rows) {
  return joined(rows.at_first, rows.largest_angle_error, rows.largest_score_change.value_or(0),
                rows.least_correlation, rows.pairs);
}

std::string bits_of(const Sinusoidal& of) { return joined(of.inv_freq, of.turns); }
std::string bits_of(const TwoAngles& angles) { return bits_of(angles.of_features); }
std::string bits_of(const TwoAngleRows& made) { return bits_of(made.rows); }
std::string bits_of(const DialectReading& reading) { return bits_of(reading.model); }
std::string bits_of(const KerpleLog& kerple) { return joined(kerple.p, kerple.a); }
std::string bits_of(const KerplePower& kerple) { return joined(kerple.a, kerple.p); }

}  // namespace rotary::test

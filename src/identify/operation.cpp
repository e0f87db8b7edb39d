// SPDX-License-Identifier: Apache-2.0
#include "identify/operation.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

#include "base/extremes.hpp"
#include "base/pairing.hpp"
#include "rotation/frequencies/frequency_checks.hpp"

namespace rotary::identification {
namespace {

double exponent(const Operation& operation, const HeadWindow& window, std::size_t pair) {
  const auto d = static_cast<double>(window.rotary_dim);
  const auto i = static_cast<double>(pair);
  switch (operation.exponents) {
    case Exponents::of_spec:
      break;
    case Exponents::half_rate:
      return i / d;
    case Exponents::from_1:
      return 2 * (i + 1) / d;
    case Exponents::from_minus_1:
      return 2 * (i - 1) / d;
    case Exponents::head_dim:
      return 2 * i / static_cast<double>(window.head_dim);
    case Exponents::hidden_size:
      return 2 * i / operation.divisor;
  }
  return 2 * i / d;
}

// Scales a frequency by Llama 3's rule. Other rules depend on the pair's index instead.
double llama3_scaled(const Llama3Scaling& rule, double frequency) {
  const double turns =
      static_cast<double>(rule.original_context_tokens) * frequency / (2 * 3.14159265358979323846);
  const double width = rule.high_freq_factor - rule.low_freq_factor;
  const double kept = width > 0 ? std::clamp((turns - rule.low_freq_factor) / width, 0.0, 1.0)
                                : (turns >= rule.low_freq_factor ? 1.0 : 0.0);
  return (1 - kept) * frequency / rule.factor + kept * frequency;
}

void use_other_exponents(const Operation& operation, Turning& turning) {
  const double base = operation.spec.base;
  const double sense = operation.spec.sense == Sense::negative ? -1 : 1;
  const auto d = static_cast<double>(turning.window.rotary_dim);
  const auto* const llama3 = std::get_if<Llama3Scaling>(&operation.spec.scaling);
  for (std::size_t i = 0; i < turning.inv_freq.size(); ++i) {
    const double unscaled = std::pow(base, -exponent(operation, turning.window, i));
    const double plain = std::pow(base, -2 * static_cast<double>(i) / d);
    const double by_pair = turning.inv_freq[i] / plain * unscaled;
    turning.inv_freq[i] = llama3 != nullptr ? sense * llama3_scaled(*llama3, unscaled) : by_pair;
  }
}

void round_frequencies(DType dtype, Turning& turning) {
  for (double& frequency : turning.inv_freq) frequency = rounded_to(dtype, frequency);
}

// The rule that a blending rule applies to its slow pairs. Empty for rules that do not blend.
std::optional<Scaling> slow_end(const Scaling& rule) {
  if (const auto* const yarn = std::get_if<YarnScaling>(&rule)) return LinearScaling{yarn->factor};
  if (const auto* const llama3 = std::get_if<Llama3Scaling>(&rule))
    return LinearScaling{llama3->factor};
  if (const auto* const parts = std::get_if<NtkByPartsScaling>(&rule)) {
    NtkByPartsScaling slow = *parts;
    slow.extrapolation_factor = 0;
    return slow;
  }
  return std::nullopt;
}

bool are_alike(double one, double other) { return std::abs(one - other) <= 1e-9 * std::abs(one); }

// Replaces slow + x (fast - slow) by slow + (1 - x) (fast - slow), which is fast + slow minus the
// right frequency. Computes in double: in float32 this sum would be off by a rounding where x is 0
// or 1.
Status reverse_blend(const Operation& operation, std::optional<std::int64_t> context_tokens,
                     Turning& turning) {
  Operation exact{
      .spec = operation.spec, .exponents = operation.exponents, .divisor = operation.divisor};
  exact.spec.numerics = Numerics::exact;
  const auto right = turning_of(exact, context_tokens);
  exact.spec.scaling = *slow_end(operation.spec.scaling);
  const auto slow = turning_of(exact, context_tokens);
  exact.spec.scaling = NoScaling{};
  const auto fast = turning_of(exact, context_tokens);
  for (const auto* const each : {&right, &slow, &fast})
    if (!*each) return each->error();
  for (std::size_t i = 0; i < turning.inv_freq.size(); ++i) {
    const double one = fast->inv_freq[i];
    const double other = slow->inv_freq[i];
    const double frequency = right->inv_freq[i];
    const bool is_end = are_alike(frequency, one) || are_alike(frequency, other);
    const bool is_kept = operation.blend == Blend::reversed_between && is_end;
    turning.inv_freq[i] = is_kept ? frequency : one + other - frequency;
  }
  if (operation.spec.numerics == Numerics::transformers) round_frequencies(DType::f32, turning);
  return {};
}

double counted_position(const Operation& operation, const Sample& sample, std::size_t token,
                        std::size_t head, std::size_t axis) {
  if (operation.positions) {
    const bool is_shared = operation.positions->size() == sample.tokens;
    return (*operation.positions)[(is_shared ? 0 : axis * sample.tokens) + token];
  }
  double position = 0;
  if (operation.counted == Counted::head) {
    position = sample.head_indices[head];
  } else {
    const std::size_t from =
        axis < operation.coordinate_of_axis.size() ? operation.coordinate_of_axis[axis] : axis;
    const std::size_t at = operation.counted == Counted::first_token ? 0 : token;
    position = sample.positions_on(from)[at];
  }
  position = position * operation.position_factor + operation.position_offset;
  return operation.positions_rounded ? rounded_to(*operation.positions_rounded, position)
                                     : position;
}

struct CosSin {
  double cos = 1;
  double sin = 0;
};

// The cos and sin of each pair for one token and head. If Operation::other_table is set, a pair's
// two features take the cos and sin of different pairs.
class Rows {
 public:
  Rows(const Prediction& prediction, const Sample& sample)
      : operation_(prediction.operation),
        turning_(prediction.turning),
        arithmetic_(prediction.arithmetic),
        sample_(sample),
        pairs_(turning_.inv_freq.size()),
        rows_(pairs_) {}

  void make(std::size_t token, std::size_t head) {
    if (arithmetic_ == FoundArithmetic::exact && !operation_.angles_rounded) {
      make_exactly(token, head);
      return;
    }
    for (std::size_t i = 0; i < pairs_; ++i) rows_[i] = rounded_row(token, head, i);
  }

  [[nodiscard]] const CosSin& first(std::size_t pair) const { return rows_[of_first(pair)]; }
  [[nodiscard]] const CosSin& second(std::size_t pair) const { return rows_[of_second(pair)]; }

 private:
  void make_exactly(std::size_t token, std::size_t head) {
    const double shared = counted_position(operation_, sample_, token, head, 0);
    for (std::size_t i = 0; i < pairs_; ++i) {
      const double position = turning_.axis_of_pair.empty() ? shared : position_of(token, head, i);
      rows_[i] = finished(position * turning_.inv_freq[i] + phase(i));
    }
  }

  [[nodiscard]] double position_of(std::size_t token, std::size_t head, std::size_t pair) const {
    const auto axis =
        turning_.axis_of_pair.empty() ? 0 : static_cast<std::size_t>(turning_.axis_of_pair[pair]);
    return counted_position(operation_, sample_, token, head, axis);
  }

  [[nodiscard]] CosSin rounded_row(std::size_t token, std::size_t head, std::size_t pair) const {
    const double position = position_of(token, head, pair);
    double angle = position * turning_.inv_freq[pair];
    if (arithmetic_ != FoundArithmetic::exact) {
      angle = static_cast<float>(static_cast<float>(position) *
                                 static_cast<float>(turning_.inv_freq[pair]));
    }
    if (operation_.angles_rounded) {
      const DType dtype = *operation_.angles_rounded;
      angle = rounded_to(dtype,
                         rounded_to(dtype, position) * rounded_to(dtype, turning_.inv_freq[pair]));
    }
    CosSin row = finished(angle + phase(pair));
    if (arithmetic_ == FoundArithmetic::exact) return row;
    const bool is_narrow = arithmetic_ != FoundArithmetic::float32_angles;
    const DType dtype = is_narrow ? sample_.dtype : DType::f32;
    return {rounded_to(dtype, row.cos), rounded_to(dtype, row.sin)};
  }

  [[nodiscard]] double phase(std::size_t pair) const {
    return turning_.phases.empty() ? 0 : turning_.phases[pair];
  }

  [[nodiscard]] CosSin finished(double angle) const {
    const double a = turning_.attention_factor;
    const CosSin row{a * std::cos(angle), a * std::sin(angle)};
    return operation_.cos_sin_swapped ? CosSin{row.sin, row.cos} : row;
  }

  // The first feature of `pair` takes the cos and sin of pair of_first(pair), the second those of
  // of_second(pair). Pair i of the window has features 2i and 2i + 1, or i and i + d/2.
  [[nodiscard]] std::size_t of_first(std::size_t pair) const {
    if (!operation_.other_table) return pair;
    return reads_half() ? pair / 2 : 2 * pair % pairs_;
  }
  [[nodiscard]] std::size_t of_second(std::size_t pair) const {
    if (!operation_.other_table) return pair;
    return reads_half() ? (pair + pairs_) / 2 : (2 * pair + 1) % pairs_;
  }
  [[nodiscard]] bool reads_half() const { return reads_halves(turning_.window.pairing); }

  const Operation& operation_;
  const Turning& turning_;
  FoundArithmetic arithmetic_;
  const Sample& sample_;
  std::size_t pairs_;
  std::vector<CosSin> rows_;
};

double rounding_every_step(DType dtype, double x, double cos, double y, double sin) {
  return rounded_to(dtype, x * cos) + rounded_to(dtype, y * sin);
}

class HeadPredictor {
 public:
  HeadPredictor(const Prediction& prediction, const Sample& sample)
      : features_(prediction.turning.features),
        rest_factor_(prediction.turning.rest_factor),
        rotates_(prediction.operation.rotates),
        steps_(prediction.arithmetic == FoundArithmetic::every_step),
        by_head_(prediction.operation.counted == Counted::head),
        sample_(sample),
        rows_(prediction, sample) {}

  // Writes a head's features. Call for heads in order, from 0.
  void predict(std::size_t token, std::size_t head, std::span<double> y) {
    const auto x = sample_.row(sample_.before, token, head);
    std::ranges::transform(x, y.begin(), [&](double each) { return rest_factor_ * each; });
    if (!rotates_) return;
    if (head == 0 || by_head_) rows_.make(token, head);
    for (std::size_t i = 0; i < features_.size(); ++i) {
      const PairFeatures& at = features_[i];
      const double one = x[at.first_in];
      const double other = x[at.second_in];
      const CosSin& first = rows_.first(i);
      const CosSin& second = rows_.second(i);
      if (steps_) {
        const DType dtype = sample_.dtype;
        y[at.first_out] = rounding_every_step(dtype, one, first.cos, other, -first.sin);
        y[at.second_out] = rounding_every_step(dtype, other, second.cos, one, second.sin);
      } else {
        y[at.first_out] = one * first.cos - other * first.sin;
        y[at.second_out] = other * second.cos + one * second.sin;
      }
    }
  }

 private:
  const std::vector<PairFeatures>& features_;
  double rest_factor_;
  bool rotates_;
  bool steps_;
  bool by_head_;
  const Sample& sample_;
  Rows rows_;
};

}  // namespace

std::vector<PairFeatures> pair_features(const HeadWindow& window) {
  const auto [read, written] = pair_order(window.pairing);
  std::vector<PairFeatures> features(static_cast<std::size_t>(window.pairs()));
  for (std::size_t i = 0; i < features.size(); ++i) {
    PairFeatures& at = features[i];
    std::tie(at.first_in, at.second_in) = features_of_pair(window, read, i);
    std::tie(at.first_out, at.second_out) = features_of_pair(window, written, i);
  }
  return features;
}

bool blends(const Scaling& rule) { return slow_end(rule).has_value(); }

Result<Turning> turning_of(const Operation& operation, std::optional<std::int64_t> context_tokens) {
  auto numbers = numbers_of(operation.spec, context_tokens);
  if (!numbers) return std::move(numbers).error();
  Turning turning{.window = numbers->window,
                  .inv_freq = std::move(numbers->scaled.inv_freq),
                  .attention_factor = numbers->scaled.attention_factor,
                  .axis_of_pair = std::move(numbers->axes.of_pair),
                  .features = {}};
  if (operation.exponents != Exponents::of_spec) use_other_exponents(operation, turning);
  if (operation.blend != Blend::right && blends(operation.spec.scaling)) {
    if (auto status = reverse_blend(operation, context_tokens, turning); !status)
      return std::move(status).error();
  }
  if (operation.reversed_frequencies) std::ranges::reverse(turning.inv_freq);
  if (operation.frequencies_rounded) round_frequencies(*operation.frequencies_rounded, turning);
  if (operation.attention_factor) turning.attention_factor = *operation.attention_factor;
  turning.attention_factor = std::pow(turning.attention_factor, operation.attention_power);
  turning.attention_factor *= operation.vector_factor;
  turning.rest_factor = operation.vector_factor;
  turning.roundings = operation.roundings;
  if (operation.phases) turning.phases = *operation.phases;
  turning.features = pair_features(turning.window);
  return turning;
}

void predict(const Prediction& prediction, const Sample& sample, std::vector<double>& predicted) {
  predicted.resize(sample.before.size());
  HeadPredictor heads(prediction, sample);
  for (std::size_t t = 0; t < sample.tokens; ++t) {
    for (std::size_t h = 0; h < sample.heads; ++h) {
      heads.predict(
          t, h,
          std::span(predicted).subspan((t * sample.heads + h) * sample.features, sample.features));
    }
  }
}

double squared_error(const Prediction& prediction, const Sample& sample, double enough) {
  HeadPredictor heads(prediction, sample);
  std::vector<double> predicted(sample.features);
  double sum = 0;
  for (std::size_t t = 0; t < sample.tokens; ++t) {
    for (std::size_t h = 0; h < sample.heads; ++h) {
      const auto after = sample.row(sample.after, t, h);
      heads.predict(t, h, predicted);
      for (std::size_t i = 0; i < predicted.size(); ++i)
        sum += (predicted[i] - after[i]) * (predicted[i] - after[i]);
      if (sum > enough) return sum;
    }
  }
  return sum;
}

void undo(const Turning& turning, Sample& sample) {
  const auto features = pair_features(turning.window);
  const std::vector<double> rotated = sample.before;
  const double square = turning.attention_factor * turning.attention_factor;
  for (std::size_t t = 0; t < sample.tokens; ++t) {
    for (std::size_t i = 0; i < features.size(); ++i) {
      const std::size_t axis =
          turning.axis_of_pair.empty() ? 0 : static_cast<std::size_t>(turning.axis_of_pair[i]);
      const double angle = sample.positions_on(axis)[t] * turning.inv_freq[i];
      const double cos = turning.attention_factor * std::cos(angle) / square;
      const double sin = turning.attention_factor * std::sin(angle) / square;
      for (std::size_t h = 0; h < sample.heads; ++h) {
        const auto y = sample.row(rotated, t, h);
        const auto x = std::span(sample.before).subspan((t * sample.heads + h) * sample.features);
        const double one = y[features[i].first_out];
        const double other = y[features[i].second_out];
        x[features[i].first_in] = one * cos + other * sin;
        x[features[i].second_in] = other * cos - one * sin;
      }
    }
  }
}

double angle_noise(const Operation& operation, const Turning& turning, const Sample& sample) {
  const std::size_t axes = turning.axis_of_pair.empty() ? 1 : sample.axes;
  double sum = 0;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    double positions = 0;
    for (std::size_t t = 0; t < sample.tokens; ++t) {
      const double position = counted_position(operation, sample, t, 0, axis);
      positions += position * position;
    }
    double frequencies = 0;
    for (std::size_t i = 0; i < turning.inv_freq.size(); ++i) {
      const bool is_here = axes == 1 || turning.axis_of_pair[i] == static_cast<std::int32_t>(axis);
      if (is_here) frequencies += turning.inv_freq[i] * turning.inv_freq[i];
    }
    sum += positions * frequencies;
  }
  const auto count = static_cast<double>(turning.inv_freq.size() * sample.tokens);
  // A frequency multiplied by a factor is rounded once more, unless the factor is a power of 2.
  int exponent = 0;
  if (std::abs(std::frexp(operation.position_factor, &exponent)) != 0.5) sum *= 2;
  // Limited, because angles with a larger error tell nothing and would make every candidate
  // acceptable.
  return smaller(std::sqrt(sum / count) * 0x1p-24, 0.02);
}

}  // namespace rotary::identification

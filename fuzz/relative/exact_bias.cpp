// SPDX-License-Identifier: Apache-2.0

#include "fuzz/relative/exact_bias.hpp"

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "reference/relative.hpp"

namespace rotary::fuzz {

namespace {

// Compares with the table's element. At a bucket's edge, float32 decides the bucket.
void check_t5(const T5Bias& bias, const BiasIndex& at, double got, const Memory& memory) {
  const auto exact = reference::t5_bucket(at.key - at.query, bias.buckets);
  const auto bucket = t5_bucket(at.key - at.query, bias.buckets);
  if (!bucket) fail("a bucket must be found", bucket.error().message);
  if (std::abs(*bucket - exact.bucket) > (exact.on_edge ? 1 : 0)) {
    fail("a distance must fall into its bucket");
  }
  const std::size_t place =
      place_of(strided(bias.table), memory.after.data(), {0, *bucket, 0, at.head});
  const double element = value_at(bias.table.dtype, memory.before.data() + place);
  if (got != element && !(std::isnan(got) && std::isnan(element))) {
    fail("a bias of T5 must be the number of its bucket");
  }
}

// The reference computes the slopes of all heads of a model.
bool is_quick(const RelativeBias& bias) {
  const auto* const alibi = std::get_if<Alibi>(&bias);
  return alibi == nullptr || alibi->model_heads.value_or(alibi->heads) <= 64;
}

// True if the bound covers FIRE's x: it is 0 or large enough. Then it is not below c times the
// distance by more than its normaliser, which is below 2^10.
bool is_in_contract(const RelativeBias& bias, const BiasIndex& at) {
  const auto* const fire = std::get_if<Fire>(&bias);
  if (fire == nullptr || at.query == at.key || fire->c == 0) return true;
  return std::abs(fire->c) >= 0x1p-880;
}

}  // namespace

void check_exact(const RelativeBias& bias, const BiasIndex& at, double got, const Memory& memory) {
  if (const auto* const t5 = std::get_if<T5Bias>(&bias)) {
    check_t5(*t5, at, got, memory);
    return;
  }
  if (!is_quick(bias) || !is_in_contract(bias, at)) return;
  const auto exact = reference::relative_bias(bias, at);
  if (exact.magnitude < 0x1p-900L) return;
  if (!(std::abs(got - exact.value) <= bias_error_bound * exact.magnitude)) {
    fail("a bias must be within the bound");
  }
}

namespace {

// The required value of a parameter's gradient, and the sum of the magnitudes of its terms.
struct Sum {
  long double value = 0;
  long double size = 0;

  void add(long double term) {
    value += term;
    size += std::abs(term);
  }
};

// The part of one score: its index, and the gradient of the loss in it.
struct Part {
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::int64_t key = 0;
  long double gradient = 0;

  [[nodiscard]] long double distance() const {
    return std::abs(static_cast<long double>(query) - static_cast<long double>(key));
  }
};

using Sums = std::vector<Sum>;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

long double sign(double number) { return number > 0 ? 1 : number < 0 ? -1 : 0; }

// Each overload adds one score's part to the sums of all parameters. Returns false near a corner of
// the derivative, where a rounding may decide the side.
struct Add {
  Sums& sums;
  const Part& part;

  bool operator()(const T5Bias& bias) const {
    const auto bucket = t5_bucket(part.key - part.query, bias.buckets);  // checked separately
    if (!bucket) fail("a bucket must be found", bucket.error().message);
    sums[at(*bucket * bias.table.features + part.head)].add(part.gradient);
    return true;
  }

  bool operator()(const Alibi& bias) const {
    const auto relative = static_cast<long double>(part.key) - static_cast<long double>(part.query);
    const long double of_form = bias.form == AlibiForm::causal ? relative
                                : bias.form == AlibiForm::symmetric
                                    ? -part.distance()
                                    : static_cast<long double>(part.key);
    sums[at(part.head)].add(part.gradient * of_form);
    return true;
  }

  bool operator()(const KerpleLog& bias) const {
    const long double p = bias.p[at(part.head)];
    const long double a = bias.a[at(part.head)];
    const long double d = part.distance();
    sums[at(part.head)].add(-part.gradient * std::log1p(a * d));
    sums[bias.p.size() + at(part.head)].add(-part.gradient * p * d / (1 + a * d));
    return true;
  }

  bool operator()(const KerplePower& bias) const {
    const long double p = bias.p[at(part.head)];
    const long double a = bias.a[at(part.head)];
    const long double d = part.distance();
    if (d == 0) return true;
    sums[at(part.head)].add(-part.gradient * std::pow(d, p));
    sums[bias.a.size() + at(part.head)].add(-part.gradient * a * std::pow(d, p) * std::log(d));
    return true;
  }

  bool operator()(const Sandwich&) const { return true; }

  // The tests of gradients cover encodings made of lists.
  template <class Lists>
  bool operator()(const Lists&) const {
    return false;
  }

  // Order of the parameters: c, threshold, hidden_weight, hidden_bias, output_weight, output_bias.
  bool operator()(const Fire& fire) const {
    const std::size_t width = fire.hidden_weight.size();
    const long double c = std::abs(static_cast<long double>(fire.c));
    const long double threshold = std::abs(static_cast<long double>(fire.threshold));
    const auto query = static_cast<long double>(part.query);
    const long double reach = std::max(query, threshold);
    const long double d = part.distance();
    const long double denominator = std::log1p(c * reach) + fire.epsilon;
    const long double x = std::log1p(c * d) / denominator;
    long double d_x = 0;
    long double size_of_d_x = 0;
    for (std::size_t k = 0; k < width; ++k) {
      const std::size_t output = at(part.head) * width + k;
      const long double unit = fire.hidden_weight[k] * x + fire.hidden_bias[k];
      const long double size = std::abs(fire.hidden_weight[k] * x) +
                               std::abs(static_cast<long double>(fire.hidden_bias[k]));
      if (size > 0 && std::abs(unit) <= size * 0x1p-40L) return false;
      if (unit <= 0) continue;
      const long double through = part.gradient * fire.output_weight[output];
      sums[2 + k].add(through * x);
      sums[2 + width + k].add(through);
      sums[2 + 2 * width + output].add(part.gradient * fire.hidden_weight[k] * x);
      sums[2 + 2 * width + output].add(part.gradient * fire.hidden_bias[k]);
      d_x += through * fire.hidden_weight[k];
      size_of_d_x += std::abs(through * fire.hidden_weight[k]);
    }
    sums[2 + 2 * width + fire.output_weight.size() + at(part.head)].add(part.gradient);
    const long double sign_of_c = sign(fire.c);
    const long double of_numerator = d / (1 + c * d) / denominator;
    const long double of_denominator = x / denominator;
    sums[0].add(sign_of_c * d_x * of_numerator);
    sums[0].add(-sign_of_c * d_x * of_denominator * reach / (1 + c * reach));
    sums[0].size += size_of_d_x * (of_numerator + of_denominator * reach / (1 + c * reach));
    if (threshold > query) {
      sums[1].add(-sign(fire.threshold) * d_x * of_denominator * c / (1 + c * reach));
      sums[1].size += size_of_d_x * of_denominator * c / (1 + c * reach);
    }
    return true;
  }
};

}  // namespace

void check_gradient(const BiasGradient& of, std::span<const double> gradients,
                    const Memory& memory) {
  Sums sums(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const std::size_t place =
        place_of(strided(gradients), memory.after.data(), {0, 0, 0, static_cast<std::int64_t>(i)});
    sums[i].add(value_at(DType::f64, memory.before.data() + place));
  }
  const Strided scores = strided(of.d_bias);
  bool is_plain = true;  // no corner, and no overflow, from which a factor of 0 makes NaN
  std::int64_t terms = 0;
  for_each_element(scores, [&](const Axes& index) {
    const double gradient = value_at(
        of.d_bias.dtype, memory.before.data() + place_of(scores, memory.after.data(), index));
    const Part part{.head = index[2],
                    .query = of.places.query(index[1]),
                    .key = of.places.key(index[3]),
                    .gradient = gradient};
    is_plain = std::visit(Add{sums, part}, of.bias) && is_plain && std::abs(gradient) < 0x1p400;
    ++terms;
  });
  // Covers the sums and a few roundings of each term.
  const long double bound = static_cast<long double>(terms + 64) * 0x1p-52L;
  for (std::size_t i = 0; i < sums.size() && is_plain; ++i) {
    const auto& [value, size] = sums[i];
    if (!(size < 0x1p1000L) || size < 0x1p-900L) continue;
    if (!(std::abs(gradients[i] - value) <= bound * size)) {
      fail("a gradient must be within the roundings of its sum");
    }
  }
}

}  // namespace rotary::fuzz

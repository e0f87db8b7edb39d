// SPDX-License-Identifier: Apache-2.0
#include "identify/sample.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>

#include "base/message.hpp"
#include "tensor/element_values.hpp"
#include "tensor/position_access.hpp"
#include "tensor/position_checks.hpp"
#include "tensor/view_checks.hpp"

namespace rotary::identification {
namespace {

struct Places {
  std::vector<TokenIndex> tokens;
  std::vector<std::int64_t> heads;
};

// At most most_tokens tokens: neighbours at both ends, whose angles differ by one step, and some
// tokens between.
std::vector<std::int64_t> chosen_tokens(std::int64_t tokens) {
  std::vector<std::int64_t> chosen;
  if (tokens <= most_tokens) {
    for (std::int64_t t = 0; t < tokens; ++t) chosen.push_back(t);
    return chosen;
  }
  constexpr std::int64_t third = most_tokens / 3;
  for (std::int64_t t = 0; t < third; ++t) chosen.push_back(t);
  const std::int64_t between = tokens - 2 * third;
  for (std::int64_t i = 0; i < third; ++i) chosen.push_back(third + between / third * i);
  for (std::int64_t t = tokens - third; t < tokens; ++t) chosen.push_back(t);
  return chosen;
}

Places chosen_places(const Extents& extents, bool one_sequence) {
  Places places;
  const std::int64_t rows = one_sequence ? 1 : extents.batch;
  for (const std::int64_t t : chosen_tokens(rows * extents.tokens))
    places.tokens.push_back({.batch = t / extents.tokens, .token = t % extents.tokens});
  const std::int64_t heads = std::min<std::int64_t>(extents.heads, most_heads);
  for (std::int64_t h = 0; h < heads; ++h) places.heads.push_back(h * extents.heads / heads);
  return places;
}

template <class Element>
double element_at(const ConstHeadsView& view, const TokenIndex& at, std::int64_t head,
                  std::int64_t feature) {
  const Strides& s = view.strides;
  return value_at<Element>(
      view.data, at.batch * s.batch + at.token * s.token + head * s.head + feature * s.feature);
}

std::vector<double> values_of(const ConstHeadsView& view, const Places& places) {
  std::vector<double> values;
  values.reserve(places.tokens.size() * places.heads.size() *
                 static_cast<std::size_t>(view.extents.features));
  with_element(view.dtype, [&]<class Element>(Element) {
    for (const TokenIndex& at : places.tokens) {
      for (const std::int64_t head : places.heads) {
        for (std::int64_t f = 0; f < view.extents.features; ++f)
          values.push_back(element_at<Element>(view, at, head, f));
      }
    }
  });
  return values;
}

Status check_positions(const Positions& positions, const Extents& extents, std::int64_t axes) {
  if (auto status = validate(positions, axes); !status) return status;
  if (tokens_of(positions) != extents.tokens)
    return invalid_argument("positions must have the tokens of the views, ", extents.tokens,
                            ", got ", tokens_of(positions));
  const std::int64_t batch = batch_of(positions);
  if (batch == 1 || batch == extents.batch) return {};
  return invalid_argument("positions must have a batch of 1 or that of the views, ", extents.batch,
                          ", got ", batch);
}

std::int64_t axes_of_model(const IdentifyOptions& options) {
  if (!options.model || options.rotary >= options.model->rotary.size()) return 1;
  const auto& axes = options.model->rotary[options.rotary].spec.axes;
  return axes ? static_cast<std::int64_t>(axes->pairs.size()) : 1;
}

void take_positions(const Positions& positions, const std::vector<TokenIndex>& tokens,
                    Sample& sample) {
  sample.axes = static_cast<std::size_t>(axes_of(positions));
  const bool one_row = batch_of(positions) == 1;
  for (std::size_t axis = 0; axis < sample.axes; ++axis) {
    for (TokenIndex at : tokens) {
      if (one_row) at.batch = 0;
      sample.positions.push_back(std::visit(
          [&](const auto& each) {
            return static_cast<double>(coordinate_at(each, static_cast<std::int64_t>(axis), at));
          },
          positions));
    }
  }
}

// True up to the largest float32: products of such numbers are finite in double. False for NaN.
bool is_in_range(double value) { return std::abs(value) <= std::numeric_limits<float>::max(); }

template <class Element>
Status check_elements_of(std::string_view name, const ConstHeadsView& view) {
  Extents n = view.extents;
  const Strides& s = view.strides;
  for (const auto& [extent, stride] :
       {std::pair(&n.batch, s.batch), std::pair(&n.tokens, s.token), std::pair(&n.heads, s.head),
        std::pair(&n.features, s.feature)}) {
    if (stride == 0) *extent = 1;  // one element, repeated
  }
  for (std::int64_t b = 0; b < n.batch; ++b) {
    for (std::int64_t t = 0; t < n.tokens; ++t) {
      for (std::int64_t h = 0; h < n.heads; ++h) {
        for (std::int64_t f = 0; f < n.features; ++f) {
          const double value = element_at<Element>(view, {.batch = b, .token = t}, h, f);
          if (is_in_range(value)) continue;
          return invalid_argument(name, " must have finite elements of float32's range, got ",
                                  value, " at batch ", b, ", token ", t, ", head ", h, ", feature ",
                                  f);
        }
      }
    }
  }
  return {};
}

// Checks all elements, because those outside the sample may be wrong, too.
Status check_elements(std::string_view name, const ConstHeadsView& view) {
  return with_element(
      view.dtype, [&]<class Element>(Element) { return check_elements_of<Element>(name, view); });
}

bool is_zero(double value) { return std::abs(value) < std::numeric_limits<float>::denorm_min(); }

Status check_not_zero(const Sample& sample) {
  if (!std::ranges::all_of(sample.before, is_zero) && !std::ranges::all_of(sample.after, is_zero))
    return {};
  return invalid_argument(
      "before and after must have elements that float32 does not round to 0, got zeros alone in "
      "the tokens looked at");
}

// Sets the narrowest dtype that holds sample.after exactly, because programs often save 16-bit
// numbers as float32.
void narrow_dtype(Sample& sample) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    if (size_in_bytes(dtype) > size_in_bytes(sample.dtype)) continue;
    const bool holds_all = std::ranges::all_of(
        sample.after, [dtype](double value) { return rounded_to(dtype, value) == value; });
    if (!holds_all) continue;
    sample.dtype = dtype;
    return;
  }
}

void measure(Sample& sample) {
  double sum = 0;
  for (const double value : sample.after) sum += value * value;
  sample.norm = std::sqrt(sum);
}

Status check_views(const ConstHeadsView& before, const ConstHeadsView& after) {
  if (auto status = check_view("before", before); !status) return status;
  if (auto status = check_view("after", after); !status) return status;
  if (before.extents != after.extents)
    return invalid_argument("before and after must have the same extents, got ",
                            describe(before.extents), " and ", describe(after.extents));
  if (before.dtype != after.dtype)
    return invalid_argument("before and after must have one dtype, got ", to_string(before.dtype),
                            " and ", to_string(after.dtype));
  if (has_elements(before.extents) && before.extents.features >= 2) return {};
  return invalid_argument("before and after must have tokens, heads and features of a head, got ",
                          describe(before.extents));
}

struct Names {
  std::string_view before = "before";
  std::string_view after = "after";
};

Result<Dump> dump_of_views(const Names& names, const ConstHeadsView& before,
                           const ConstHeadsView& after, const IdentifyOptions& options) {
  if (auto status = check_views(before, after); !status) return std::move(status).error();
  if (options.positions) {
    auto status = check_positions(*options.positions, before.extents, axes_of_model(options));
    if (!status) return std::move(status).error();
  }
  if (auto status = check_elements(names.before, before); !status) return std::move(status).error();
  if (auto status = check_elements(names.after, after); !status) return std::move(status).error();
  return Dump{.before = without_unused_strides(before),
              .after = without_unused_strides(after),
              .positions = options.positions};
}

// Treats cos and sin as the result of rotating (1, 0).
void turn_into_heads(Sample& sample) {
  std::vector<double> after;
  std::vector<double> before;
  for (std::size_t t = 0; t < sample.tokens; ++t) {
    const auto cos = sample.row(sample.before, t, 0);
    const auto sin = sample.row(sample.after, t, 0);
    after.insert(after.end(), cos.begin(), cos.end());
    after.insert(after.end(), sin.begin(), sin.end());
    before.insert(before.end(), cos.size(), 1.0);
    before.insert(before.end(), sin.size(), 0.0);
  }
  sample.features *= 2;
  sample.before = std::move(before);
  sample.after = std::move(after);
}

Sample sample_at(const Dump& dump, const Places& places) {
  Sample sample{.observed = dump.observed,
                .dtype = dump.before.dtype,
                .tokens = places.tokens.size(),
                .heads = places.heads.size(),
                .features = static_cast<std::size_t>(dump.before.extents.features),
                .before = values_of(dump.before, places),
                .after = values_of(dump.after, places),
                .positions = {},
                .has_positions = dump.positions.has_value(),
                .head_indices = {}};
  for (const std::int64_t head : places.heads)
    sample.head_indices.push_back(static_cast<double>(head));
  const Positions from_0 = ConsecutivePositions{.first = 0, .tokens = dump.tokens()};
  take_positions(dump.positions ? *dump.positions : from_0, places.tokens, sample);
  return sample;
}

}  // namespace

double rounding_noise(DType dtype) noexcept {
  if (dtype == DType::bf16) return 1.75e-3;
  return dtype == DType::f16 ? 2.2e-4 : 1e-7;
}

double rounded_to(DType dtype, double value) noexcept {
  const auto narrow = static_cast<float>(value);
  if (dtype == DType::bf16) return rounded_to_bf16(narrow);
  if (dtype == DType::f16) return rounded_to_f16(narrow);
  return dtype == DType::f64 ? value : narrow;
}

Sample Dump::part(std::int64_t row, std::int64_t first, std::int64_t count) const {
  Places places;
  for (std::int64_t t = first; t < first + count; ++t)
    places.tokens.push_back({.batch = row, .token = t});
  // Views with a head stride of 0 repeat one head.
  const bool is_shared = before.strides.head == 0 && after.strides.head == 0;
  const std::int64_t heads = is_shared ? 1 : before.extents.heads;
  for (std::int64_t head = 0; head < heads; ++head) places.heads.push_back(head);
  Sample sample = sample_at(*this, places);
  if (observed == Observed::rows) turn_into_heads(sample);
  return sample;
}

Result<Dump> dump_of(const ConstHeadsView& before, const ConstHeadsView& after,
                     const IdentifyOptions& options) {
  return dump_of_views({}, before, after, options);
}

Result<Dump> dump_of(const CosSinView& rows, std::int64_t pairs, const IdentifyOptions& options) {
  if (pairs < 2) return invalid_argument("rows must have 2 pairs or more, got ", pairs);
  if (auto status = check_dtype("rows", rows.dtype); !status) return std::move(status).error();
  const Extents extents{.batch = rows.batch, .tokens = rows.tokens, .heads = 1, .features = pairs};
  const Strides strides{.batch = rows.batch_stride,
                        .token = rows.token_stride,
                        .head = 0,
                        .feature = rows.pair_stride};
  const ConstHeadsView cosines{rows.cos, rows.dtype, extents, strides};
  const ConstHeadsView sines{rows.sin, rows.dtype, extents, strides};
  auto dump = dump_of_views({.before = "cos", .after = "sin"}, cosines, sines, options);
  if (dump) dump->observed = Observed::rows;
  return dump;
}

Result<Sample> sample_of(const Dump& dump) {
  Sample sample = sample_at(dump, chosen_places(dump.before.extents, !dump.positions));
  if (auto status = check_not_zero(sample); !status) return std::move(status).error();
  if (dump.before.dtype == DType::f32 || dump.before.dtype == DType::f64) narrow_dtype(sample);
  if (dump.observed == Observed::rows) turn_into_heads(sample);
  measure(sample);
  return sample;
}

Result<Sample> sample_of(std::span<const double> inv_freq, double attention_factor) {
  if (inv_freq.empty()) return invalid_argument("inv_freq must have a frequency, got none");
  if (!is_in_range(attention_factor) || is_zero(attention_factor))
    return invalid_argument(
        "attention_factor must be finite, of float32's range and not 0 there, got ",
        attention_factor);
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    if (!is_in_range(inv_freq[i]))
      return invalid_argument("inv_freq must have finite numbers of float32's range, got ",
                              inv_freq[i], " at ", i);
  }
  // Slow pairs have visible angles only at the far positions, fast pairs at all positions.
  constexpr std::array places = {1.0, 2.0, 5.0, 17.0, 64.0, 257.0, 1024.0, 4096.0};
  Sample sample{.observed = Observed::frequencies,
                .dtype = DType::f64,
                .tokens = places.size(),
                .heads = 1,
                .features = inv_freq.size(),
                .before = {},
                .after = {},
                .positions = {places.begin(), places.end()},
                .head_indices = {0}};
  for (const double place : places) {
    for (const double frequency : inv_freq) {
      sample.before.push_back(attention_factor * std::cos(place * frequency));
      sample.after.push_back(attention_factor * std::sin(place * frequency));
    }
  }
  turn_into_heads(sample);
  measure(sample);
  return sample;
}

}  // namespace rotary::identification

// SPDX-License-Identifier: Apache-2.0
// linear_attend() by its definition, a weight for each pair of a query and a key.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "fuzz/attention/head_values.hpp"
#include "fuzz/attention/linear_case.hpp"
#include "fuzz/check.hpp"
#include "reference/linear_attention.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::fuzz {
namespace {

using reference::CosSin;
using reference::MappedVector;
using Vector = std::vector<long double>;

std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

// A token of one head, mapped and turned.
struct Token {
  MappedVector vector;
  double feature_error = 0;
  double largest = 0;      // of its features
  bool is_bounded = true;  // the contract speaks of such elements
};

// Σ |w_d y_d| + |y|², at most; |x| at most of SoftmaxExp.
double exponent_size(const FeatureMap& map, const Vector& x) {
  long double most = 0;
  const auto* const random = std::get_if<PositiveRandomFeatures>(&map);
  if (random == nullptr) {
    for (const long double each : x) most = std::max(most, std::abs(each));
    return static_cast<double>(most);
  }
  const std::size_t count = random->directions.size() / x.size();
  const long double root = std::sqrt(static_cast<long double>(random->softmax_scale));
  for (std::size_t r = 0; r < count; ++r) {
    long double sum = 0;
    for (std::size_t d = 0; d < x.size(); ++d) {
      const long double y = root * std::abs(x[d]);
      sum += y * (std::abs(random->directions[d * count + r]) + y);
    }
    most = std::max(most, sum);
  }
  return static_cast<double>(most);
}

std::vector<CosSin> angles_of(const Rotations& rotations, std::int64_t batch, std::int64_t token) {
  const std::int64_t row = rotations.batch() == 1 ? 0 : batch;
  const bool wide = rotations.row_dtype() == RowDType::f64;
  std::vector<CosSin> angles;
  for (std::size_t i = 0; i < size(rotations.window().pairs()); ++i) {
    angles.push_back(
        wide ? CosSin{rotations.cos<double>(row, token)[i], rotations.sin<double>(row, token)[i]}
             : CosSin{rotations.cos(row, token)[i], rotations.sin(row, token)[i]});
  }
  return angles;
}

Token token_of(const LinearCase& of, const HeadsView& view, const HeadPlace& at,
               reference::Side side) {
  const std::vector<double> elements = head_values(view, at);
  const Vector x(elements.begin(), elements.end());
  Token token;
  const bool elu = std::holds_alternative<EluPlusOne>(of.map);
  const bool random = std::holds_alternative<PositiveRandomFeatures>(of.map);
  token.is_bounded =
      std::ranges::all_of(elements, [](double each) { return std::abs(each) <= 0x1p30; });
  const double exponent = elu || !token.is_bounded ? 0 : exponent_size(of.map, x);
  token.is_bounded = token.is_bounded && exponent <= 600;  // the exponential is a double
  if (!token.is_bounded) return token;
  token.vector = reference::map_features(x, of.map, side);
  const auto& rotations = side == reference::Side::query ? of.q_rotations : of.k_rotations;
  if (rotations) {
    reference::turn_features(token.vector, rotations->window(),
                             angles_of(*rotations, at.batch, at.token));
  }
  token.feature_error =
      elu ? elu_feature_error
          : exponential_feature_error(view.dtype, random ? view.extents.features : 0, exponent);
  token.largest = 1;
  if (elu) {
    for (const long double each : token.vector.features)
      token.largest = std::max(token.largest, static_cast<double>(each));
  }
  return token;
}

class HeadAnswer {
 public:
  HeadAnswer(const LinearCase& of, std::int64_t batch, std::int64_t head)
      : of_(of),
        batch_(batch),
        head_(head),
        kv_head_(head / (of.shape.heads() / of.shape.kv_heads)) {
    find_documents();
    for (std::int64_t t = 0; t < of.k.extents.tokens; ++t) {
      keys_.push_back(token_of(of, of.k, {batch, t, kv_head_}, reference::Side::key));
      const std::vector<double> value = head_values(of.v, {batch, t, kv_head_});
      values_.emplace_back(value.begin(), value.end());
      keys_.back().is_bounded =
          keys_.back().is_bounded &&
          std::ranges::all_of(value, [](double each) { return std::abs(each) <= 0x1p30; });
    }
  }

  void check_row(std::int64_t query) {
    const Token q = token_of(of_, of_.q, {batch_, query, head_}, reference::Side::query);
    std::vector<reference::KeyValue> seen;
    LinearErrors errors{.dtype = of_.out.dtype, .features = of_.map_features};
    double largest_key = 1;
    double largest_value = 0;
    for (std::size_t j = 0; j < keys_.size(); ++j) {
      if (!sees(query, static_cast<std::int64_t>(j))) continue;
      if (!keys_[j].is_bounded) return;
      seen.push_back({keys_[j].vector, values_[j]});
      errors.feature_errors = std::max(errors.feature_errors, keys_[j].feature_error);
      largest_key = std::max(largest_key, keys_[j].largest);
      for (const long double each : values_[j])
        largest_value = std::max(largest_value, std::abs(static_cast<double>(each)));
    }
    const bool is_padding = document_of(query) < 0;
    if (!q.is_bounded && !is_padding) return;
    errors.tokens = static_cast<std::int64_t>(seen.size());
    errors.feature_errors += q.feature_error;
    if (of_.options.rotations) {
      errors.turn_errors =
          2 * (of_.out.dtype == DType::f64 ? rotate_f64_error_bound(Direction::forward, 1, 0.0)
                                           : rotate_error_bound(Direction::forward, 1, 0.0));
    }
    const auto features = size(of_.out.extents.features);
    reference::LinearRow row{.out = Vector(features), .size = Vector(features), .weights = {}};
    if (!is_padding)
      row = reference::linear_row(q.vector, seen, of_.map, of_.options.epsilon, features);
    const double lost =
        is_padding ? 0
                   : largest_value * linear_attention_underflow(errors, q.largest * largest_key,
                                                                of_.options.epsilon);
    check_elements(query, row, errors, lost);
  }

 private:
  // The number of the document that each token is in, -1 of padding. Tokens of an earlier call end
  // their last document where this call begins another one, and not before.
  void find_documents() {
    std::int64_t document = 0;
    std::int32_t latest = -1;  // of no document
    for (std::int64_t t = 0; t < of_.k.extents.tokens; ++t) {
      if (t == of_.earlier) latest = -1;
      const std::int32_t number = segment(t);
      if (number >= 0 && latest >= 0 && latest != number) ++document;
      if (number >= 0) latest = number;
      documents_.push_back(number < 0 ? -1 : document);
    }
  }

  [[nodiscard]] std::int32_t segment(std::int64_t t) const {
    if (!of_.options.segments) return 0;
    const SegmentMap& map = *of_.options.segments;
    return map.data[(map.batch == 1 ? 0 : batch_) * map.batch_stride + t * map.token_stride];
  }

  [[nodiscard]] std::int64_t document_of(std::int64_t query) const {
    return of_.options.segments ? documents_[size(query)] : 0;
  }

  [[nodiscard]] bool sees(std::int64_t query, std::int64_t key) const {
    if (documents_[size(key)] != document_of(query)) return false;
    return of_.options.mask == LinearMask::bidirectional || key <= query;
  }

  void check_elements(std::int64_t query, const reference::LinearRow& row,
                      const LinearErrors& errors, double lost) const {
    const DType dtype = of_.out.dtype;
    const std::vector<double> out = head_values(of_.out, {batch_, query, head_});
    const double units = linear_attention_error_bound(errors);
    for (std::size_t c = 0; c < out.size(); ++c) {
      const auto whole = static_cast<double>(row.size[c]);
      const double within = dtype == DType::f64 ? units * 0x1p-53 * whole
                            : whole == 0
                                ? 0
                                : stored_error_bound(dtype, units, whole) * 0x1p-24 * whole;
      const double bound = within + lost;
      const auto exact = static_cast<double>(row.out[c]);
      if (!std::isfinite(bound) || std::abs(out[c] - exact) <= bound) continue;
      if (dtype == DType::f16 && std::abs(exact) + bound >= f16_overflow) continue;
      std::array<char, 160> text{};
      std::snprintf(text.data(), text.size(), "%.9g where %.9g is right within %.9g", out[c], exact,
                    bound);
      fail("an element must be within the bound", text.data());
    }
  }

  const LinearCase& of_;
  std::int64_t batch_;
  std::int64_t head_;
  std::int64_t kv_head_;
  std::vector<std::int64_t> documents_;
  std::vector<Token> keys_;
  std::vector<Vector> values_;
};

}  // namespace

void check_linear(const LinearCase& of) {
  for (std::int64_t batch = 0; batch < of.out.extents.batch; ++batch) {
    for (std::int64_t head = 0; head < of.out.extents.heads; ++head) {
      HeadAnswer answer(of, batch, head);
      const bool cut = of.k.extents.tokens == of.q.extents.tokens;
      for (std::int64_t query = cut ? of.earlier : 0; query < of.out.extents.tokens; ++query)
        answer.check_row(query);
    }
  }
}

}  // namespace rotary::fuzz

// SPDX-License-Identifier: Apache-2.0
#include "check/linear.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "reference/linear_attention.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::check {
namespace {

using reference::Side;
using Vector = std::vector<long double>;

// A token of one head after the feature map.
struct LinearToken {
  reference::MappedVector vector;
  double feature_error = 0;
  double largest = 1;  // the largest feature of elu(x) + 1, at least 1; 1 for exponentials
};

// A key and its value. Queries that see a key without `token` are not checked.
struct LinearKey {
  std::optional<LinearToken> token;
  Vector value;
};

// Whether the contract covers these elements.
bool is_bounded(const Vector& elements) {
  return std::ranges::all_of(elements, [](long double each) { return std::abs(each) <= 0x1p30L; });
}

// A bound on the exponents of the features: max |x|, or Σ |w_d y_d| + |y|² for random features.
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
    long double size = 0;
    for (std::size_t d = 0; d < x.size(); ++d) {
      const long double y = root * std::abs(x[d]);
      size += y * (std::abs(random->directions[d * count + r]) + y);
    }
    most = std::max(most, size);
  }
  return static_cast<double>(most);
}

// One query head with its group's keys and values.
class HeadVerdict {
 public:
  HeadVerdict(const LinearCall& call, std::int64_t batch, std::int64_t head)
      : call_(call),
        batch_(batch),
        head_(head),
        kv_head_(head / (call.heads.q.extents.heads / call.heads.k.extents.heads)) {
    find_documents();
    for (std::int64_t t = 0; t < call.heads.k.extents.tokens; ++t) {
      const HeadIndex at{batch, t, kv_head_};
      keys_.push_back({token_at(call.heads.k, at, Side::key), vector_at(call.heads.v, at)});
      if (!is_bounded(keys_.back().value)) keys_.back().token.reset();
    }
  }

  void add_row(Verdict& to, std::int64_t query) const {
    const HeadIndex at{batch_, query, head_};
    const bool is_padding = document_of(query) < 0;
    auto token = is_padding ? LinearToken{} : token_at(call_.heads.q, at, Side::query);
    std::vector<const LinearKey*> seen;
    for (std::size_t j = 0; j < keys_.size() && !is_padding; ++j) {
      if (sees(query, static_cast<std::int64_t>(j))) seen.push_back(&keys_[j]);
    }
    if (!token ||
        !std::ranges::all_of(seen, [](const auto* key) { return key->token.has_value(); })) {
      ++to.rows_beyond;
      return;
    }
    to.fault = fault(head_at(call_.out, {batch_, query - call_.first_query, head_}), *token, seen);
    if (to.fault.empty()) return;
    to.fault = "batch " + std::to_string(batch_) + ", query " + std::to_string(query) + ", head " +
               std::to_string(head_) + ", " + to.fault;
  }

 private:
  static Vector vector_at(const ConstHeadsView& view, const HeadIndex& at) {
    const std::vector<double> elements = head_at(view, at);
    return {elements.begin(), elements.end()};
  }

  [[nodiscard]] std::optional<LinearToken> token_at(const ConstHeadsView& view, const HeadIndex& at,
                                                    Side side) const {
    const Vector x = vector_at(view, at);
    if (!is_bounded(x)) return std::nullopt;
    LinearToken token{.vector = {}, .feature_error = elu_feature_error};
    const bool elu = std::holds_alternative<EluPlusOne>(call_.map);
    if (!elu) {
      const double exponent = exponent_size(call_.map, x);
      if (exponent > call_.largest_exponent) return std::nullopt;
      const bool random = std::holds_alternative<PositiveRandomFeatures>(call_.map);
      token.feature_error = exponential_feature_error(
          view.dtype, random ? static_cast<std::int64_t>(x.size()) : 0, exponent);
    }
    token.vector = reference::map_features(x, call_.map, side);
    for (const long double each : token.vector.features) {
      if (elu) token.largest = std::max(token.largest, static_cast<double>(each));
    }
    if (call_.turn) {
      const auto& angles = side == Side::query ? call_.turn->q : call_.turn->k;
      reference::turn_features(token.vector, call_.turn->window, angles(at.batch, at.token));
    }
    return token;
  }

  // Numbers the documents. Padding gets -1 and ends no document.
  void find_documents() {
    std::int64_t document = 0;
    std::int32_t latest = -1;  // before any document
    for (std::int64_t t = 0; t < call_.heads.k.extents.tokens; ++t) {
      if (t == call_.earlier) latest = -1;
      const std::int32_t number = segment(t);
      if (number >= 0 && latest >= 0 && latest != number) ++document;
      if (number >= 0) latest = number;
      documents_.push_back(number < 0 ? -1 : document);
    }
  }

  [[nodiscard]] std::int32_t segment(std::int64_t t) const {
    if (!call_.segments) return 0;
    const SegmentMap& map = *call_.segments;
    return map.data[(map.batch == 1 ? 0 : batch_) * map.batch_stride + t * map.token_stride];
  }

  [[nodiscard]] std::int64_t document_of(std::int64_t query) const {
    return call_.segments ? documents_[static_cast<std::size_t>(query)] : 0;
  }

  [[nodiscard]] bool sees(std::int64_t query, std::int64_t key) const {
    if (documents_[static_cast<std::size_t>(key)] != document_of(query)) return false;
    return call_.mask == LinearMask::bidirectional || key <= query;
  }

  // An infinite bound accepts anything.
  [[nodiscard]] std::string fault(const std::vector<double>& computed, const LinearToken& query,
                                  const std::vector<const LinearKey*>& seen) const {
    const DType dtype = call_.out.dtype;
    std::vector<reference::KeyValue> keys;
    LinearErrors errors{.dtype = dtype,
                        .features = static_cast<std::int64_t>(query.vector.features.size()),
                        .tokens = static_cast<std::int64_t>(seen.size()),
                        .turn_errors = call_.turn ? call_.turn->errors : 0};
    double largest_key = 1;
    double largest_value = 0;
    for (const LinearKey* const key : seen) {
      keys.push_back({key->token->vector, key->value});
      errors.feature_errors = std::max(errors.feature_errors, key->token->feature_error);
      largest_key = std::max(largest_key, key->token->largest);
      for (const long double each : key->value)
        largest_value = std::max(largest_value, std::abs(static_cast<double>(each)));
    }
    errors.feature_errors += query.feature_error;
    const auto exact =
        reference::linear_row(query.vector, keys, call_.map, call_.epsilon, computed.size());
    const double units = linear_attention_error_bound(errors);
    const double largest = query.largest * largest_key;
    const double lost =
        largest_value == 0
            ? 0
            : largest_value * linear_attention_underflow(errors, largest, call_.epsilon) +
                  linear_attention_value_underflow(errors, largest, call_.epsilon);
    for (std::size_t c = 0; c < computed.size(); ++c) {
      const auto whole = static_cast<double>(exact.size[c]);
      const double within = whole == 0 ? 0
                            : dtype == DType::f64
                                ? units * 0x1p-53 * whole
                                : stored_error_bound(dtype, units, whole) * 0x1p-24 * whole;
      const double bound = within + lost;
      const auto wanted = static_cast<double>(exact.out[c]);
      if (!std::isfinite(bound) || std::abs(computed[c] - exact.out[c]) <= bound) continue;
      const bool overflows = dtype == DType::f16 && std::isinf(computed[c]) &&
                             std::abs(wanted) + bound >= f16_overflow;
      if (!overflows) return fault_text("feature " + std::to_string(c), computed[c], wanted, bound);
    }
    return {};
  }

  const LinearCall& call_;
  std::int64_t batch_;
  std::int64_t head_;
  std::int64_t kv_head_;
  std::vector<std::int64_t> documents_;
  std::vector<LinearKey> keys_;
};

}  // namespace

LinearTurn turn_by(const Frequencies& frequencies, const ConsecutivePositions& positions,
                   DType dtype) {
  const auto angles = [rows = reference::AngleRows(positions, frequencies.inv_freq)](
                          std::int64_t, std::int64_t token) {
    const auto row = rows.at(0, token);
    return std::vector<reference::CosSin>(row.begin(), row.end());
  };
  const std::int64_t last = std::abs(positions.first) + positions.tokens;
  const double each = dtype == DType::f64 ? rotate_f64_error_bound(Direction::forward, 1, last)
                                          : rotate_error_bound(Direction::forward, 1, last);
  return {.q = angles, .k = angles, .window = frequencies.window, .errors = 2 * each};
}

Verdict verdict(const LinearCall& call) {
  Verdict all;
  const Extents& n = call.out.extents;
  for (std::int64_t batch = 0; batch < n.batch; ++batch) {
    for (std::int64_t head = 0; head < n.heads; ++head) {
      const HeadVerdict of_head(call, batch, head);
      for (std::int64_t token = 0; token < n.tokens && all.fault.empty(); ++token)
        of_head.add_row(all, call.first_query + token);
    }
  }
  return all;
}

}  // namespace rotary::check

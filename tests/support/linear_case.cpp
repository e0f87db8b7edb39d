// SPDX-License-Identifier: Apache-2.0
#include "support/linear_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/linear_attention.hpp"
#include "reference/tensor.hpp"
#include "rotary/numeric_contract.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

using reference::MappedVector;
using Vector = std::vector<long double>;

Vector elements(const Tensor& tensor, const HeadIndex& at) {
  Vector values;
  for (std::int64_t f = 0; f < tensor.extents().features; ++f) values.push_back(tensor.at(at, f));
  return values;
}

std::int32_t segment(const LinearCase& of, std::int64_t batch, std::int64_t t,
                     std::int64_t tokens) {
  if (of.segments.empty()) return 0;
  const bool shared = static_cast<std::int64_t>(of.segments.size()) == tokens;
  return of.segments[static_cast<std::size_t>((shared ? 0 : batch * tokens) + t)];
}

// The document number of each token: tokens with equal numbers in a row, padding between them
// allowed, are one document; -1 for padding.
std::vector<int> documents(const LinearCase& of, std::int64_t batch, std::int64_t tokens) {
  std::vector<int> numbers;
  int document = 0;
  std::optional<std::int32_t> latest;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int32_t each = segment(of, batch, t, tokens);
    if (each >= 0 && latest.value_or(each) != each) ++document;
    if (each >= 0) latest = each;
    numbers.push_back(each < 0 ? -1 : document);
  }
  return numbers;
}

struct MappedHead {
  std::vector<MappedVector> vectors;
  double error = 0;  // of a feature, in units
  double largest = 0;
};

// Σ |w_d y_d| + |y|², at most; |x| at most of SoftmaxExp.
double exponent_size(const FeatureMap& map, const Vector& x) {
  const auto* const random = std::get_if<PositiveRandomFeatures>(&map);
  long double most = 0;
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

MappedHead map_head(const LinearCase& of, const Tensor& tensor, HeadIndex at,
                    reference::Side side) {
  MappedHead head;
  std::optional<reference::AngleRows> rows;
  const std::int64_t tokens = tensor.extents().tokens;
  if (of.window) {
    rows.emplace(ConsecutivePositions{.first = of.first_position, .tokens = tokens},
                 frequencies_of(*of.window).inv_freq);
  }
  const bool elu = std::holds_alternative<EluPlusOne>(of.map);
  const bool random = std::holds_alternative<PositiveRandomFeatures>(of.map);
  for (at.token = 0; at.token < tokens; ++at.token) {
    const Vector x = elements(tensor, at);
    head.vectors.push_back(reference::map_features(x, of.map, side));
    if (of.window) reference::turn_features(head.vectors.back(), *of.window, rows->at(0, at.token));
    const double error =
        elu ? elu_feature_error
            : exponential_feature_error(tensor.view().dtype, random ? tensor.extents().features : 0,
                                        exponent_size(of.map, x));
    head.error = std::max(head.error, error);
    for (const long double each : head.vectors.back().features) {
      head.largest = elu ? std::max(head.largest, static_cast<double>(each)) : 1;
    }
  }
  return head;
}

// One head of q with the keys and values that it sees.
struct Meeting {
  MappedHead q;
  MappedHead k;
  std::vector<Vector> v;
  double largest_v = 0;
};

std::vector<reference::KeyValue> seen_keys(const LinearCase& of, const Meeting& meeting,
                                           const std::vector<int>& documents, std::int64_t query) {
  std::vector<reference::KeyValue> keys;
  for (std::size_t j = 0; j < meeting.k.vectors.size(); ++j) {
    const auto i = static_cast<std::size_t>(query);
    if (of.mask == LinearMask::causal && j > i) break;
    const bool same = of.segments.empty() || documents[j] == documents[i];
    if (same) keys.push_back({meeting.k.vectors[j], meeting.v[j]});
  }
  return keys;
}

double bound_of(const LinearCase& of, const Meeting& meeting, DType dtype, long double size) {
  LinearErrors errors{.dtype = dtype,
                      .tokens = static_cast<std::int64_t>(meeting.k.vectors.size()),
                      .feature_errors = meeting.q.error + meeting.k.error};
  if (!meeting.q.vectors.empty()) {
    errors.features = static_cast<std::int64_t>(meeting.q.vectors[0].features.size());
  }
  const std::int64_t last = std::abs(of.first_position) + errors.tokens;
  if (of.window) {
    errors.turn_errors =
        2 * (dtype == DType::f64 ? rotate_f64_error_bound(Direction::forward, 1, last)
                                 : rotate_error_bound(Direction::forward, 1, last));
  }
  const double units = linear_attention_error_bound(errors);
  const auto whole = static_cast<double>(size);
  const double within =
      dtype == DType::f64
          ? units * 0x1p-53 * whole
          : (whole == 0 ? 0 : stored_error_bound(dtype, units, whole) * 0x1p-24 * whole);
  const double largest = std::max(1.0, meeting.q.largest) * std::max(1.0, meeting.k.largest);
  return within + meeting.largest_v * linear_attention_underflow(errors, largest, of.epsilon);
}

testing::AssertionResult row_is(const Tensor& out, const HeadIndex& at, const LinearCase& of,
                                const Meeting& meeting, const reference::LinearRow& exact) {
  const DType dtype = out.view().dtype;
  for (std::int64_t c = 0; c < out.extents().features; ++c) {
    const auto i = static_cast<std::size_t>(c);
    const double got = out.at(at, c);
    const double bound = bound_of(of, meeting, dtype, exact.size[i]);
    if (std::abs(got - exact.out[i]) <= bound) continue;
    if (dtype == DType::f16 && std::isinf(got) && std::abs(exact.out[i]) + bound >= f16_overflow) {
      continue;
    }
    return testing::AssertionFailure()
           << "batch " << at.batch << " token " << at.token << " head " << at.head << " feature "
           << c << ": got " << got << " where " << static_cast<double>(exact.out[i])
           << " is exact, off by " << static_cast<double>(std::abs(got - exact.out[i]) / bound)
           << " times the bound";
  }
  return testing::AssertionSuccess();
}

}  // namespace

Qkv random_qkv(const LinearShape& n, std::uint64_t seed) {
  const std::int64_t key_tokens = n.key_tokens < 0 ? n.tokens : n.key_tokens;
  const auto tensor = [&](std::int64_t tokens, std::int64_t heads, std::int64_t features,
                          std::uint64_t offset) {
    return random_tensor(
        {.dtype = n.dtype,
         .extents = {.batch = n.batch, .tokens = tokens, .heads = heads, .features = features},
         .layout = n.layout},
        seed + offset);
  };
  return {tensor(n.tokens, n.heads, n.head_dim, 0),
          tensor(key_tokens, n.key_heads, n.head_dim, 1000),
          tensor(key_tokens, n.key_heads, n.v_features, 2000)};
}

Tensor out_for(const Qkv& qkv, Layout layout) {
  Extents extents = qkv.q.extents();
  extents.features = qkv.v.extents().features;
  return Tensor({.dtype = qkv.q.view().dtype, .extents = extents, .layout = layout});
}

SegmentMap segments_of(const LinearCase& of, std::int64_t batch) {
  const auto count = static_cast<std::int64_t>(of.segments.size());
  return {.data = of.segments.data(),
          .batch = batch,
          .tokens = count / batch,
          .batch_stride = count / batch};
}

std::optional<Rotations> rotations_for(const LinearCase& of, DType dtype, std::int64_t tokens) {
  if (!of.window) return std::nullopt;
  return rotations_of(frequencies_of(*of.window),
                      ConsecutivePositions{.first = of.first_position, .tokens = tokens},
                      rows_for(dtype));
}

Tensor attended(const LinearCase& of, const Qkv& qkv, Layout layout) {
  const DType dtype = qkv.q.view().dtype;
  const auto q_rotations = rotations_for(of, dtype, qkv.q.extents().tokens);
  const auto k_rotations = rotations_for(of, dtype, qkv.k.extents().tokens);
  LinearAttentionOptions options{.mask = of.mask, .epsilon = of.epsilon};
  if (of.window) options.rotations.emplace(NumeratorRotations{*q_rotations, *k_rotations});
  if (!of.segments.empty()) {
    const bool shared = static_cast<std::int64_t>(of.segments.size()) == qkv.k.extents().tokens;
    options.segments = segments_of(of, shared ? 1 : qkv.k.extents().batch);
  }
  Tensor out = out_for(qkv, layout);
  require(linear_attend(out.view(), qkv.heads(), of.map, options));
  return out;
}

testing::AssertionResult is_linear_attention(const Tensor& out, std::int64_t first,
                                             const LinearCase& of, const Qkv& qkv) {
  const Extents& n = out.extents();
  const std::int64_t group =
      qkv.k.extents().heads == 0 ? 1 : qkv.q.extents().heads / qkv.k.extents().heads;
  for (std::int64_t b = 0; b < n.batch; ++b) {
    const auto numbers = documents(of, b, qkv.k.extents().tokens);
    for (std::int64_t h = 0; h < n.heads; ++h) {
      Meeting meeting{
          .q = map_head(of, qkv.q, {.batch = b, .head = h}, reference::Side::query),
          .k = map_head(of, qkv.k, {.batch = b, .head = h / group}, reference::Side::key),
          .v = {}};
      for (std::int64_t t = 0; t < qkv.k.extents().tokens; ++t) {
        meeting.v.push_back(elements(qkv.v, {.batch = b, .token = t, .head = h / group}));
        for (const long double each : meeting.v.back()) {
          meeting.largest_v = std::max(meeting.largest_v, static_cast<double>(std::abs(each)));
        }
      }
      for (std::int64_t t = 0; t < n.tokens; ++t) {
        const bool padding =
            !of.segments.empty() && numbers[static_cast<std::size_t>(first + t)] < 0;
        const auto keys = padding ? std::vector<reference::KeyValue>{}
                                  : seen_keys(of, meeting, numbers, first + t);
        const auto exact =
            reference::linear_row(meeting.q.vectors[static_cast<std::size_t>(first + t)], keys,
                                  of.map, of.epsilon, static_cast<std::size_t>(n.features));
        auto result = row_is(out, {.batch = b, .token = t, .head = h}, of, meeting, exact);
        if (!result) return result;
      }
    }
  }
  if (!out.guards_intact()) return testing::AssertionFailure() << "guard bytes were written";
  return testing::AssertionSuccess();
}

}  // namespace rotary::test

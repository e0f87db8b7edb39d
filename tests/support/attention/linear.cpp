// SPDX-License-Identifier: Apache-2.0
#include "support/attention/linear.hpp"

#include <cmath>
#include <string>

#include "reference/tensor.hpp"
#include "rotary/numeric_contract.hpp"
#include "support/attention/linear_row.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

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

// All tokens of one head, turned.
std::vector<LinearToken> map_head(const LinearCase& of, const Tensor& tensor, HeadIndex at,
                                  reference::Side side) {
  std::vector<LinearToken> head;
  std::optional<reference::AngleRows> rows;
  const std::int64_t tokens = tensor.extents().tokens;
  if (of.window) {
    rows.emplace(ConsecutivePositions{.first = of.first_position, .tokens = tokens},
                 frequencies_of(*of.window).inv_freq);
  }
  for (at.token = 0; at.token < tokens; ++at.token) {
    head.push_back(linear_token(elements(tensor, at), of.map, side, tensor.view().dtype));
    if (of.window) reference::turn_features(head.back().vector, *of.window, rows->at(0, at.token));
  }
  return head;
}

double turn_errors(const LinearCase& of, DType dtype, std::int64_t tokens) {
  const std::int64_t last = std::abs(of.first_position) + tokens;
  if (!of.window) return 0;
  return 2 * (dtype == DType::f64 ? rotate_f64_error_bound(Direction::forward, 1, last)
                                  : rotate_error_bound(Direction::forward, 1, last));
}

// One head of q with the keys and values of its group.
struct Meeting {
  std::vector<LinearToken> q;
  std::vector<LinearToken> k;
  std::vector<Vector> v;
  std::vector<int> documents;
};

// None where the query is padding.
std::vector<LinearKey> seen_keys(const LinearCase& of, const Meeting& meeting, std::size_t query) {
  std::vector<LinearKey> keys;
  if (!of.segments.empty() && meeting.documents[query] < 0) return keys;
  for (std::size_t j = 0; j < meeting.k.size(); ++j) {
    if (of.mask == LinearMask::causal && j > query) break;
    const bool same = of.segments.empty() || meeting.documents[j] == meeting.documents[query];
    if (same) keys.push_back({meeting.k[j], meeting.v[j]});
  }
  return keys;
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
  for_each_element(out.extents(), [&](const HeadIndex& at, std::int64_t f) { out.set(at, f, 7); });
  require(linear_attend(out.view(), qkv.heads(), of.map, options));
  return out;
}

testing::AssertionResult is_linear_attention(const Tensor& out, std::int64_t first,
                                             const LinearCase& of, const Qkv& qkv) {
  const Extents& n = out.extents();
  const DType dtype = out.view().dtype;
  const std::int64_t keys = qkv.k.extents().tokens;
  const std::int64_t group =
      qkv.k.extents().heads == 0 ? 1 : qkv.q.extents().heads / qkv.k.extents().heads;
  const LinearRule rule{.map = of.map,
                        .epsilon = of.epsilon,
                        .dtype = dtype,
                        .turn_errors = turn_errors(of, dtype, keys)};
  for (std::int64_t b = 0; b < n.batch; ++b) {
    for (std::int64_t h = 0; h < n.heads; ++h) {
      Meeting meeting{
          .q = map_head(of, qkv.q, {.batch = b, .head = h}, reference::Side::query),
          .k = map_head(of, qkv.k, {.batch = b, .head = h / group}, reference::Side::key),
          .v = {},
          .documents = documents(of, b, keys)};
      for (std::int64_t t = 0; t < keys; ++t)
        meeting.v.push_back(elements(qkv.v, {.batch = b, .token = t, .head = h / group}));
      for (std::int64_t t = 0; t < n.tokens; ++t) {
        const auto query = static_cast<std::size_t>(first + t);
        const Vector row = elements(out, {.batch = b, .token = t, .head = h});
        const std::string fault =
            linear_fault(std::vector<double>(row.begin(), row.end()), meeting.q[query],
                         seen_keys(of, meeting, query), rule);
        if (!fault.empty())
          return testing::AssertionFailure()
                 << "batch " << b << " token " << t << " head " << h << ' ' << fault;
      }
    }
  }
  if (!out.guards_intact()) return testing::AssertionFailure() << "guard bytes were written";
  return testing::AssertionSuccess();
}

}  // namespace rotary::test

// SPDX-License-Identifier: Apache-2.0
#include "support/attention/linear.hpp"

#include <algorithm>

#include "check/linear.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

// The case has one list of segments for all batch rows, or a list for each.
SegmentMap segments_for(const LinearCase& of, const Qkv& qkv) {
  const bool shared = static_cast<std::int64_t>(of.segments.size()) == qkv.k.extents().tokens;
  return segments_of(of, shared ? 1 : qkv.k.extents().batch);
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
  if (!of.segments.empty()) options.segments = segments_for(of, qkv);
  Tensor out = out_for(qkv, layout);
  for_each_element(out.extents(), [&](const HeadIndex& at, std::int64_t f) { out.set(at, f, 7); });
  require(linear_attend(out.view(), qkv.heads(), of.map, options));
  return out;
}

testing::AssertionResult is_linear_attention(const Tensor& out, std::int64_t first,
                                             const LinearCase& of, const Qkv& qkv) {
  check::LinearCall call{.out = out.view(),
                         .heads = qkv.heads(),
                         .map = of.map,
                         .mask = of.mask,
                         .epsilon = of.epsilon,
                         .first_query = first};
  if (!of.segments.empty()) call.segments = segments_for(of, qkv);
  if (of.window) {
    const std::int64_t tokens = std::max(qkv.q.extents().tokens, qkv.k.extents().tokens);
    call.turn = check::turn_by(frequencies_of(*of.window),
                               {.first = of.first_position, .tokens = tokens}, call.out.dtype);
  }
  const check::Verdict found = check::verdict(call);
  if (!found.fault.empty()) return testing::AssertionFailure() << found.fault;
  if (found.rows_beyond > 0)
    return testing::AssertionFailure() << "the contract has no bound for these numbers";
  if (!out.guards_intact()) return testing::AssertionFailure() << "guard bytes were written";
  return testing::AssertionSuccess();
}

}  // namespace rotary::test

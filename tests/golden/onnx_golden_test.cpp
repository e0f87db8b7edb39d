// SPDX-License-Identifier: Apache-2.0
// Runs the library on all test vectors of ONNX's RotaryEmbedding (8) and Attention (93, opsets 23
// to 25). The Attention vectors also check the exact rows of check/, which other tests use.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "check/attend_call.hpp"
#include "golden/onnx_file.hpp"
#include "rotary/attention.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/numeric_contract.hpp"
#include "rotary/rotate.hpp"
#include "support/result.hpp"
#include "support/tensor.hpp"

namespace rotary {
namespace {

using test::OnnxCase;
using test::OnnxTensor;

constexpr double infinity = std::numeric_limits<double>::infinity();

std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

double largest(const OnnxTensor& tensor) {
  double most = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i)
    if (std::isfinite(tensor.at(i))) most = std::max(most, std::abs(tensor.at(i)));
  return most;
}

void expect_equal(const OnnxTensor& got, const OnnxTensor& wanted) {
  EXPECT_EQ(got.bytes, wanted.bytes);
}

void expect_near(const std::vector<double>& got, const OnnxTensor& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == wanted.at(i)) continue;  // also equal -Inf
    ASSERT_NEAR(got[i], wanted.at(i), tolerance) << i;
  }
}

std::vector<double> numbers_of(const OnnxTensor& tensor) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < tensor.size(); ++i) numbers.push_back(tensor.at(i));
  return numbers;
}

// A test vector of Attention as library calls.
class OnnxAttention {
 public:
  explicit OnnxAttention(const OnnxCase& of)
      : of_(of),
        q_(*of.input("Q")),
        k_(*of.input("K")),
        v_(*of.input("V")),
        out_(test::unwritten(of.outputs.at("Y"))),
        q_heads_(of.attribute("q_num_heads", q_.shape[1])),
        kv_heads_(of.attribute("kv_num_heads", k_.shape[1])) {
    if (of.input("past_key") != nullptr) append_to_past();
    q_view_ = test::heads_view(q_, q_heads_);
    k_view_ = test::heads_view(k_, kv_heads_);
    v_view_ = test::heads_view(v_, kv_heads_);
    make_options();
    make_mask();
    make_sequences();
  }

  void check_all() {
    test::require(attend(test::heads_view(out_, q_heads_), q_view_, k_view_, v_view_, options_));
    expect_near(numbers_of(out_), of_.outputs.at("Y"), tolerance() * largest(v_));
    if (of_.outputs.contains("present_key")) {
      expect_equal(k_, of_.outputs.at("present_key"));
      expect_equal(v_, of_.outputs.at("present_value"));
    }
    const auto scores = of_.outputs.find("qk_matmul_output");
    if (scores == of_.outputs.end()) return;
    const std::int64_t mode = of_.attribute("qk_matmul_output_mode", 0);
    // Weights have the tolerance of results. The tolerance of scores grows with the largest score.
    const double scale = mode == 3 ? 1 : std::max(1.0, largest(scores->second));
    expect_near(scores_of_mode(mode), scores->second, tolerance() * scale);
  }

  // Compares the exact rows of the call with ONNX's results.
  void check_exact_rows() {
    OnnxTensor wanted = of_.outputs.at("Y");
    check::AttendCall call;
    call.out = test::heads_view(wanted, q_heads_);
    call.q = q_view_;
    call.k = k_view_;
    call.v = v_view_;
    call.options = options_;
    const double bound = tolerance() * largest(v_);
    std::int64_t rows = 0;
    check::for_each_row(call, {}, [&](const check::CheckedRow& row) {
      ++rows;
      for (std::size_t f = 0; f < row.computed.out.size(); ++f)
        ASSERT_NEAR(row.exact.out()[f], row.computed.out[f], bound) << "row " << rows;
    });
    const Extents& n = q_view_.extents;
    EXPECT_EQ(rows, n.batch * n.tokens * n.heads);
  }

 private:
  // Appends the new keys and values to the past ones. ONNX calls the results present_key and
  // present_value.
  void append_to_past() {
    const auto grown = [&](const char* past, OnnxTensor& added) {
      const OnnxTensor& before = *of_.input(past);
      OnnxTensor cache = before;
      past_ = before.shape[2];
      cache.shape[2] += test::heads_view(added, kv_heads_).extents.tokens;
      cache.bytes.assign(cache.size() * before.element_bytes(), std::byte{0xFF});
      return cache;
    };
    OnnxTensor k = grown("past_key", k_);
    OnnxTensor v = grown("past_value", v_);
    const KvCache cache{.k = test::heads_view(k, kv_heads_), .v = test::heads_view(v, kv_heads_)};
    OnnxTensor past_k = *of_.input("past_key");
    OnnxTensor past_v = *of_.input("past_value");
    test::require(append(cache,
                         {test::heads_view(past_k, kv_heads_), test::heads_view(past_v, kv_heads_)},
                         ConsecutiveSlots{0}));
    test::require(append(cache, {test::heads_view(k_, kv_heads_), test::heads_view(v_, kv_heads_)},
                         ConsecutiveSlots{past_}));
    k_ = std::move(k);
    v_ = std::move(v);
  }

  void make_options() {
    options_.scale =
        of_.attributes.value("scale", 1 / std::sqrt(static_cast<double>(q_view_.extents.features)));
    if (const double cap = of_.attributes.value("softcap", 0.0); cap > 0) options_.softcap = cap;
    options_.mask.order =
        of_.attribute("is_causal", 0) != 0 ? AttentionOrder::causal : AttentionOrder::bidirectional;
    if (const auto left = of_.attribute("left_window_size", -1); left >= 0)
      options_.mask.left = left;
    if (const auto right = of_.attribute("right_window_size", -1); right >= 0)
      options_.mask.right = right;
  }

  // Axes align on the right: [keys], [queries, keys], [heads, queries, keys] or all four. A mask
  // with fewer columns than keys hides the rest, so the views of k and v end at its last column.
  void make_mask() {
    const OnnxTensor* const mask = of_.input("attn_mask");
    if (mask == nullptr) return;
    std::vector<std::int64_t> n = mask->shape;
    n.insert(n.begin(), 4 - n.size(), 1);
    const ScoresExtents extents{.batch = n[0], .heads = n[1], .queries = n[2], .keys = n[3]};
    k_view_.extents.tokens = v_view_.extents.tokens = extents.keys;
    if (mask->type == "bool") {
      options_.boolean_mask = {mask->bytes.data(), extents, strides_bhqk(extents)};
    } else {
      options_.additive_mask = {mask->bytes.data(), mask->dtype(), extents, strides_bhqk(extents)};
    }
  }

  // The first query's position is the number of past keys. If nonpad_kv_seqlen gives the number of
  // keys of each batch row, the last query is at the last key.
  void make_sequences() {
    const OnnxTensor* const lengths = of_.input("nonpad_kv_seqlen");
    for (std::int64_t batch = 0; batch < q_view_.extents.batch; ++batch) {
      AttentionSequence sequence{.batch = batch,
                                 .queries = q_view_.extents.tokens,
                                 .keys = k_view_.extents.tokens,
                                 .query_position = past_};
      if (lengths != nullptr) {
        const auto keys = static_cast<std::int64_t>(lengths->at(size(batch)));
        sequence.keys = std::min(sequence.keys, keys);
        sequence.query_position = keys - sequence.queries;
      }
      sequences_.push_back(sequence);
    }
    options_.sequences = sequences_;
  }

  // Mode 0 is scaled products, mode 1 adds the cap, and mode 2 adds the masks. These scores follow
  // from weights as log(weight) + log_sum_exp. Mode 3 is the weights.
  std::vector<double> scores_of_mode(std::int64_t mode) {
    AttendOptions options = options_;
    if (mode < 2) {
      options.additive_mask = {};
      options.boolean_mask = {};
      options.mask = {.order = AttentionOrder::bidirectional};
    }
    if (mode < 1) options.softcap = {};
    const Extents& n = q_view_.extents;
    ScoresExtents extents{n.batch, n.heads, n.tokens, k_view_.extents.tokens};
    std::vector<float> weights(size(n.batch * n.heads * n.tokens * extents.keys), -1);
    std::vector<float> sums(size(n.batch * n.heads * n.tokens), -1);
    options.weights = ScoresView{weights.data(), DType::f32, extents, strides_bhqk(extents)};
    const std::size_t keys = size(extents.keys);
    extents.keys = 1;
    options.log_sum_exp = ScoresView{sums.data(), DType::f32, extents, strides_bhqk(extents)};
    OnnxTensor out = out_;
    test::require(attend(test::heads_view(out, q_heads_), q_view_, k_view_, v_view_, options));
    std::vector<double> scores;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double weight = weights[i];
      scores.push_back(mode == 3 ? weight : std::log(weight) + double{sums[i / keys]});
    }
    return scores;
  }

  // The tolerance of a result, relative to the largest value. In f32 it is twice our own bound,
  // because ONNX's sums round less often than the bound counts. In f16 and bf16 ONNX multiplies q
  // and k by a rounded root of the scale (2 roundings each). It also rounds their product, the
  // mask, the sum with the mask, and the softmax. A score is then off by 7 units of its size, and a
  // weight by twice that and 3 more. Both sides round the result once.
  [[nodiscard]] double tolerance() const {
    const double product = largest(q_) * largest(k_) * std::abs(options_.scale);
    AttendedRow row{.head_dim = q_view_.extents.features, .keys = k_view_.extents.tokens};
    row.score_size = product * static_cast<double>(row.head_dim);
    const OnnxTensor* const mask = of_.input("attn_mask");
    if (mask != nullptr && mask->type != "bool") row.mask_size = largest(*mask);
    row.score_size += row.mask_size;
    row.softcap = options_.softcap.value_or(0);
    if (q_view_.dtype == DType::f32) return 2 * attend_error_bound(row) * 0x1p-24;
    const double unit = q_view_.dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
    return (2 * 7 * row.score_size + 3 + 2) * unit;
  }

  const OnnxCase& of_;
  OnnxTensor q_;
  OnnxTensor k_;
  OnnxTensor v_;
  OnnxTensor out_;
  std::int64_t q_heads_;
  std::int64_t kv_heads_;
  std::int64_t past_ = 0;
  HeadsView q_view_;
  HeadsView k_view_;
  HeadsView v_view_;
  AttendOptions options_;
  std::vector<AttentionSequence> sequences_;
};

TEST(OnnxGolden, AttentionAgreesWithAttend) {
  const std::vector<OnnxCase> cases = test::read_onnx_cases("Attention");
  EXPECT_EQ(cases.size(), 93U);
  for (const OnnxCase& of : cases) {
    SCOPED_TRACE(of.name);
    OnnxAttention(of).check_all();
  }
}

TEST(OnnxGolden, ExactRowsOfTheCheckAgreeWithOnnx) {
  for (const OnnxCase& of : test::read_onnx_cases("Attention")) {
    SCOPED_TRACE(of.name);
    OnnxAttention(of).check_exact_rows();
  }
}

// Rows [batch, tokens, pairs]: the cache's rows at position_ids, or the entire cache.
std::vector<float> rows_of(const OnnxCase& of, const char* cache) {
  const OnnxTensor& all = *of.input(cache);
  const OnnxTensor* const positions = of.input("position_ids");
  const std::size_t pairs = size(all.shape.back());
  std::vector<float> rows;
  const std::size_t count = positions == nullptr ? all.size() / pairs : positions->size();
  for (std::size_t row = 0; row < count; ++row) {
    const std::size_t from =
        positions == nullptr ? row : static_cast<std::size_t>(positions->at(row));
    for (std::size_t pair = 0; pair < pairs; ++pair)
      rows.push_back(static_cast<float>(all.at(from * pairs + pair)));
  }
  return rows;
}

// The vectors' cos and sin are random, so make_unchecked_rotations() must take them. Each result
// sums two products in float32: 3 roundings on each side.
TEST(OnnxGolden, RotaryEmbeddingAgreesWithRotate) {
  const std::vector<OnnxCase> cases = test::read_onnx_cases("RotaryEmbedding");
  EXPECT_EQ(cases.size(), 8U);
  for (const OnnxCase& of : cases) {
    SCOPED_TRACE(of.name);
    OnnxTensor x = *of.input("X");
    const HeadsView view = test::heads_view(x, of.attribute("num_heads", 1));
    const std::vector<float> cos = rows_of(of, "cos_cache");
    const std::vector<float> sin = rows_of(of, "sin_cache");
    const std::int64_t rotated = of.attribute("rotary_embedding_dim", 0);
    const bool interleaved = of.attribute("interleaved", 0) != 0;
    const HeadWindow window{.head_dim = view.extents.features,
                            .rotary_dim = rotated == 0 ? view.extents.features : rotated,
                            .pairing = interleaved ? Pairing::interleaved : Pairing::half};
    const std::int64_t pairs = window.pairs();
    const CosSinView rows{.cos = cos.data(),
                          .sin = sin.data(),
                          .dtype = DType::f32,
                          .batch = view.extents.batch,
                          .tokens = view.extents.tokens,
                          .batch_stride = view.extents.tokens * pairs,
                          .token_stride = pairs};
    const Rotations rotations = test::value_of(make_unchecked_rotations(window, rows));
    EXPECT_FALSE(make_rotations(window, rows));
    test::require(rotate(view, view, rotations));
    expect_near(numbers_of(x), of.outputs.at("Y"), 6 * 0x1p-24 * 2 * largest(*of.input("X")));
  }
}

}  // namespace
}  // namespace rotary

// SPDX-License-Identifier: Apache-2.0
// Values and gradients of functions.hpp in f64, against the same formulas in torch's operations and
// their automatic derivatives.
//
// The bound is 1e-12 · (1 + size). Sums have at most a few hundred products of numbers up to 10. A
// product rounds within 2^-53, a power or logarithm within a few times 2^-53.
#include "lab/torch/functions.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/failure.hpp"
#include "lab/encodings/encoding.hpp"
#include "lab/torch/composed.hpp"
#include "lab/torch/transformer.hpp"
#include "lab/torch/views.hpp"
#include "rotary/linear_attention.hpp"

namespace rotary::lab {
namespace {

using Tensors = std::vector<at::Tensor>;
using Formula = std::function<at::Tensor(const Tensors&)>;

constexpr std::int64_t heads = 3;
constexpr std::int64_t tokens = 37;
constexpr std::int64_t head_dim = 8;

const at::TensorOptions f64 = at::TensorOptions().dtype(at::kDouble);

void expect_close(const at::Tensor& ours, const at::Tensor& plain, const std::string& what) {
  ASSERT_EQ(ours.sizes(), plain.sizes()) << what;
  const double size = plain.abs().max().item<double>();
  EXPECT_LE((ours - plain).abs().max().item<double>(), 1e-12 * (1 + size)) << what;
}

// Compares values, and the gradients of a randomly weighted sum of the values.
void expect_same(const Formula& ours, const Formula& plain, const Tensors& inputs) {
  Tensors leaves;
  for (const at::Tensor& input : inputs) leaves.push_back(input.detach().requires_grad_(true));
  const auto value = ours(leaves);
  const auto plain_value = plain(leaves);
  expect_close(value.detach(), plain_value.detach(), "value");
  const auto weights = at::randn(value.sizes(), f64);
  const auto d_ours = torch::autograd::grad({(value * weights).sum()}, leaves);
  const auto d_plain = torch::autograd::grad({(plain_value * weights).sum()}, leaves);
  for (std::size_t n = 0; n < leaves.size(); ++n)
    expect_close(d_ours[n], d_plain[n], "gradient of input " + std::to_string(n));
}

at::Tensor positions() { return at::arange(tokens, f64); }

// query - key, [tokens, tokens].
at::Tensor distances() { return positions().unsqueeze(1) - positions().unsqueeze(0); }

class Functions : public testing::TestWithParam<Task> {
 protected:
  Functions() { torch::manual_seed(1); }
};
INSTANTIATE_TEST_SUITE_P(Tasks, Functions, testing::Values(Task::causal_lm, Task::masked_lm),
                         [](const auto& task) { return std::string(to_string(task.param)); });

RotarySpec rope() { return {.head_dim = head_dim, .base = 10000.0, .pairing = Pairing::half}; }

// Runs the rotations for GPUs (composed.hpp) on the processor.
TEST_F(Functions, ComposedRotationsAgreeWithTheLibrary) {
  std::vector<RotarySpec> specs(4, rope());
  specs[1].pairing = Pairing::interleaved;
  specs[2].rotary_dim = 4;
  specs[2].first_feature = 2;
  specs[2].pairing = Pairing::interleaved;
  specs[3].xpos = Xpos{.scale_base = 16};
  for (const RotarySpec& spec : specs) {
    for (const Role role : {Role::query, Role::key}) {
      const auto rotations = rotations_of(spec, tokens, at::kDouble, role);
      // A slice of a fused projection, as in models.
      const auto heads_in = [](const Tensors& in) { return in[0].select(2, 1); };
      expect_same(
          [&](const Tensors& in) { return rotate_heads(heads_in(in), rotations); },
          [&](const Tensors& in) { return composed::rotate_heads(heads_in(in), *rotations); },
          {at::randn({2, tokens, 3, heads, head_dim}, f64)});
    }
  }
}

TEST_F(Functions, ComposedShawAndLearnedRowsAgreeWithTheLibrary) {
  const ShawWindow window{.left = 5, .right = 3};
  const auto table = at::randn({window.rows(), head_dim}, f64);
  const auto scores = at::randn({2, heads, tokens, tokens}, f64);
  const auto vectors = at::randn({2, heads, tokens, head_dim}, f64);
  expect_same(
      [&](const Tensors& in) { return add_shaw_scores(in[0], in[1], in[2], window); },
      [&](const Tensors& in) { return composed::add_shaw_scores(in[0], in[1], in[2], window); },
      {scores, vectors, table});
  expect_same(
      [&](const Tensors& in) { return add_shaw_values(in[0], in[1], in[2], window); },
      [&](const Tensors& in) { return composed::add_shaw_values(in[0], in[1], in[2], window); },
      {vectors, scores, table});
  expect_same([](const Tensors& in) { return add_learned_rows(in[0], in[1]); },
              [](const Tensors& in) { return composed::add_learned_rows(in[0], in[1]); },
              {at::randn({2, tokens, head_dim}, f64), at::randn({tokens + 3, head_dim}, f64)});
}

TEST_P(Functions, T5HasFewerBucketsForEachDirectionInEncoders) {
  const BiasCall call{
      .encoding = {.bias = T5Bias{.buckets = {.buckets = 16, .max_distance = 24}, .table = {}}},
      .model = {.task = GetParam(), .d_model = 24, .layers = 1, .heads = heads},
      .tokens = tokens,
      .dtype = at::kDouble};
  const auto bias = bias_scores(at::randn({16 * heads}, f64), call).select(1, 10);
  // A decoder has a bucket for each distance below 8, an encoder below 4.
  EXPECT_FALSE(at::equal(bias.select(1, 10 - 3), bias.select(1, 10 - 4)));
  EXPECT_EQ(at::equal(bias.select(1, 10 - 4), bias.select(1, 10 - 5)),
            GetParam() == Task::masked_lm);
}

TEST_P(Functions, BiasOfAlibiFallsLinearly) {
  const BiasCall call{.encoding = {.bias = Alibi{.bias_max = 8}},
                      .model = {.task = GetParam(), .d_model = 32, .layers = 1, .heads = 4},
                      .tokens = tokens,
                      .dtype = at::kDouble};
  const auto slopes = at::exp2(-2.0 * (at::arange(4, f64) + 1)).view({4, 1, 1});
  const auto distance = GetParam() == Task::causal_lm ? distances() : distances().abs();
  expect_close(bias_scores(at::empty({0}, f64), call), -slopes * distance, "value");
}

// The bound at the top holds: sums have at most 37 · 8 products of numbers up to 5, and divisors
// are sums of positive products.
TEST_P(Functions, LinearAttentionAgreesWithTheLibrary) {
  const bool causal = GetParam() == Task::causal_lm;
  const auto q = at::randn({2, tokens, heads, head_dim}, f64);
  const auto k = at::randn({2, tokens, heads, head_dim}, f64);
  const auto v = at::randn({2, tokens, heads, head_dim}, f64);
  LayerTerms terms;
  terms.q_rotations = rotations_of(rope(), tokens, at::kDouble, Role::query);
  terms.k_rotations = terms.q_rotations;
  const auto ours = attend_linearly(terms, GetParam(), q, k, v);
  const auto expected = at::empty_like(q);
  const Status status = linear_attend(
      heads_view(expected), {.q = heads_view(q), .k = heads_view(k), .v = heads_view(v)},
      EluPlusOne{},
      {.mask = causal ? LinearMask::causal : LinearMask::bidirectional,
       .rotations = NumeratorRotations{.q = *terms.q_rotations, .k = *terms.k_rotations},
       .epsilon = 0});
  ASSERT_TRUE(status.ok()) << status.error().message;
  expect_close(ours, expected.flatten(2), "linear attention");
}

TEST_F(Functions, SinusoidalRowsEqualThePapersFormula) {
  const auto angle = positions().unsqueeze(1) *
                     at::exp(at::arange(4, f64) * (-2.0 / 8 * std::log(10000.0))).unsqueeze(0);
  expect_close(sinusoidal_rows(10000, tokens, 8, at::kDouble),
               at::stack({angle.sin(), angle.cos()}, 2).flatten(1), "rows");
}

TEST_F(Functions, UnsuitableTensorsAreRefused) {
  EXPECT_THROW((void)add_learned_rows(at::zeros({1, 5, 6}, f64), at::zeros({4, 6}, f64)),
               cli::Failure);
  const auto rotations = rotations_of(rope(), tokens, at::kFloat, Role::query);
  EXPECT_THROW((void)rotate_heads(at::zeros({1, tokens, heads, head_dim}, at::kHalf), rotations),
               cli::Failure);
}

}  // namespace
}  // namespace rotary::lab

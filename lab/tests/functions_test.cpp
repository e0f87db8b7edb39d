// SPDX-License-Identifier: Apache-2.0
// Functions of functions.hpp against the same formulas in torch's own operations, in f64: values,
// and gradients as torch derives them.
//
// Bound: both sides sum at most a few hundred products of numbers from 1 to 10, each rounded within
// 2^-53, and powers and logarithms within a few units of that: 1e-12 · (1 + size).
#include "lab/torch/functions.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
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

// Compares values, and gradients of a randomly weighted sum.
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

ModelConfig model_of(Task task) {
  return {.task = task, .d_model = heads * head_dim, .layers = 1, .heads = heads, .tokens = tokens};
}

at::Tensor positions() { return at::arange(tokens, f64); }

// query - key, [tokens, tokens].
at::Tensor distances() { return positions().unsqueeze(1) - positions().unsqueeze(0); }

class Functions : public testing::TestWithParam<Task> {
 protected:
  Functions() { torch::manual_seed(1); }

  // Compares causal biases only for keys up to the query: causal models mask later keys.
  void expect_same_bias(const BiasEncoding& encoding, const Formula& plain,
                        const at::Tensor& numbers) const {
    const BiasCall call{.encoding = encoding,
                        .model = model_of(GetParam()),
                        .tokens = tokens,
                        .dtype = at::kDouble};
    const auto seen = GetParam() == Task::causal_lm ? (distances() >= 0).to(at::kDouble)
                                                    : at::ones({tokens, tokens}, f64);
    expect_same([&](const Tensors& in) { return bias_scores(in[0], call) * seen; },
                [&](const Tensors& in) { return plain(in) * seen; }, {numbers});
  }
};
INSTANTIATE_TEST_SUITE_P(Tasks, Functions, testing::Values(Task::causal_lm, Task::masked_lm),
                         [](const auto& task) { return std::string(to_string(task.param)); });

// Returns cos and sin [tokens, pairs].
at::Tensor angles(double base) {
  const auto exponent = at::arange(head_dim / 2, f64) * (-2.0 / head_dim);
  return positions().unsqueeze(1) * at::exp(exponent * std::log(base)).unsqueeze(0);
}

at::Tensor plain_half_rotation(const at::Tensor& x, const at::Tensor& factor) {
  const auto by_head = x.transpose(1, 2);
  const auto left = by_head.slice(3, 0, head_dim / 2);
  const auto right = by_head.slice(3, head_dim / 2);
  const auto cos = angles(10000).cos() * factor;
  const auto sin = angles(10000).sin() * factor;
  return at::cat({left * cos - right * sin, right * cos + left * sin}, 3);
}

RotarySpec rope() { return {.head_dim = head_dim, .base = 10000.0, .pairing = Pairing::half}; }

TEST_F(Functions, RotationEqualsTheFormula) {
  const auto rotations = rotations_of(rope(), tokens, at::kDouble, Role::query);
  // A slice of a fused projection, as in models.
  const auto qkv = at::randn({2, tokens, 3, heads, head_dim}, f64);
  expect_same(
      [&](const Tensors& in) { return rotate_heads(in[0].select(2, 1), rotations); },
      [](const Tensors& in) { return plain_half_rotation(in[0].select(2, 1), at::ones({1}, f64)); },
      {qkv});
}

TEST_F(Functions, XposRotationEqualsTheFormula) {
  RotarySpec spec = rope();
  spec.xpos = Xpos{.scale_base = 16};
  const auto zeta = (at::arange(head_dim / 2, f64) * (2.0 / head_dim) + 0.4) / 1.4;
  const auto power = positions().unsqueeze(1) / 16 * zeta.log().unsqueeze(0);
  for (const Role role : {Role::query, Role::key}) {
    const auto factor = at::exp(role == Role::query ? power : -power);
    const auto rotations = rotations_of(spec, tokens, at::kDouble, role);
    expect_same([&](const Tensors& in) { return rotate_heads(in[0], rotations); },
                [&](const Tensors& in) { return plain_half_rotation(in[0], factor); },
                {at::randn({2, tokens, heads, head_dim}, f64)});
  }
}

// Rotations composed of torch's own operations, as on GPUs, here run on the processor.
TEST_F(Functions, ComposedRotationsEqualTheFusedOnes) {
  std::vector<RotarySpec> specs(4, rope());
  specs[1].pairing = Pairing::interleaved;
  specs[2].rotary_dim = 4;
  specs[2].first_feature = 2;
  specs[2].pairing = Pairing::interleaved;
  specs[3].xpos = Xpos{.scale_base = 16};
  for (const RotarySpec& spec : specs) {
    const auto rotations = rotations_of(spec, tokens, at::kDouble, Role::key);
    expect_same([&](const Tensors& in) { return rotate_heads(in[0], rotations); },
                [&](const Tensors& in) { return composed::rotate_heads(in[0], *rotations); },
                {at::randn({2, tokens, heads, head_dim}, f64)});
  }
}

TEST_F(Functions, ComposedShawAndLearnedRowsEqualTheFusedOnes) {
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

// Buckets as in T5's code (Raffel et al.).
std::int64_t plain_bucket(std::int64_t distance, std::int64_t buckets, Task task) {
  std::int64_t bucket = 0;
  std::int64_t n = distance;
  if (task == Task::masked_lm) {
    buckets /= 2;
    if (n < 0) bucket = buckets;
    n = std::abs(n);
  } else {
    n = std::max<std::int64_t>(n, 0);
  }
  const std::int64_t exact = buckets / 2;
  if (n < exact) return bucket + n;
  const auto ratio = std::log(static_cast<float>(n) / static_cast<float>(exact)) /
                     std::log(24.0F / static_cast<float>(exact));
  const auto beyond =
      exact + static_cast<std::int64_t>(ratio * static_cast<float>(buckets - exact));
  return bucket + std::min(beyond, buckets - 1);
}

TEST_P(Functions, BiasOfT5ReadsItsTable) {
  const std::int64_t buckets = 16;
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < tokens; ++i) {
    for (std::int64_t j = 0; j < tokens; ++j)
      rows.push_back(plain_bucket(i - j, buckets, GetParam()));
  }
  const auto index = torch::tensor(rows, at::kLong);
  expect_same_bias(
      T5Encoding{.buckets = buckets, .max_distance = 24},
      [&](const Tensors& in) {
        return in[0]
            .view({buckets, heads})
            .index_select(0, index)
            .t()
            .reshape({heads, tokens, tokens});
      },
      at::randn({buckets * heads}, f64));
}

TEST_P(Functions, BiasOfAlibiFallsLinearly) {
  const BiasCall call{.encoding = AlibiEncoding{.bias_max = 8},
                      .model = {.task = GetParam(), .d_model = 32, .layers = 1, .heads = 4},
                      .tokens = tokens,
                      .dtype = at::kDouble};
  const auto slopes = at::exp2(-2.0 * (at::arange(4, f64) + 1)).view({4, 1, 1});
  const auto distance = GetParam() == Task::causal_lm ? distances() : distances().abs();
  expect_close(bias_scores(at::empty({0}, f64), call), -slopes * distance, "value");
}

TEST_P(Functions, BiasesOfKerpleFollowTheirFormulas) {
  const auto numbers = at::rand({2 * heads}, f64) + 0.2;
  const auto column = [](const at::Tensor& x, std::int64_t half) {
    return x.slice(0, half * heads, (half + 1) * heads).view({heads, 1, 1});
  };
  const auto distance = distances().abs();
  expect_same_bias(
      FormulaEncoding{"kerple_log"},
      [&](const Tensors& in) {
        return -column(in[0], 0) * (column(in[0], 1) * distance + 1).log();
      },
      numbers);
  expect_same_bias(
      FormulaEncoding{"kerple_power"},
      [&](const Tensors& in) {
        // torch has no derivative of 0^p.
        const auto power = (distance + distance.eq(0)).pow(column(in[0], 1));
        return -column(in[0], 0) * power * distance.ne(0);
      },
      numbers);
}

TEST_P(Functions, BiasOfTisaIsASumOfBumps) {
  const std::int64_t kernels = 2;
  const auto numbers = at::randn({3 * heads * kernels}, f64);
  expect_same_bias(
      FormulaEncoding{"tisa", kernels},
      [&](const Tensors& in) {
        const auto lists = in[0].view({3, heads, 1, 1, kernels});
        const auto steps = at::arange(tokens, f64);
        const auto delta = (steps.unsqueeze(0) - steps.unsqueeze(1)).view({1, tokens, tokens, 1});
        const auto bumps = lists[0] * (-lists[1].abs() * (delta - lists[2]).square()).exp();
        return bumps.sum(-1);
      },
      numbers);
}

TEST_P(Functions, BiasOfFireEqualsItsNetwork) {
  const std::int64_t width = 5;
  const FireEncoding fire{.width = width, .c = 0.1, .threshold = 10};
  const auto numbers = at::randn({2 + 2 * width + heads * width + heads}, f64);
  numbers[0] = 0.3;
  numbers[1] = 10.5;
  expect_same_bias(
      fire,
      [&](const Tensors& in) {
        const auto& x = in[0];
        const auto part = [&](std::int64_t first, std::int64_t count) {
          return x.slice(0, 2 + first, 2 + first + count);
        };
        const auto shrunk = (x[0] * distances().abs() + 1).log() /
                            ((x[0] * at::maximum(positions(), x[1]) + 1).log() + 1e-6).unsqueeze(1);
        const auto hidden = (shrunk.unsqueeze(2) * part(0, width) + part(width, width)).relu();
        const auto out =
            at::matmul(hidden, part(2 * width, heads * width).view({heads, width}).t());
        return (out + part((2 + heads) * width, heads)).permute({2, 0, 1});
      },
      numbers);
}

TEST_P(Functions, ShawsTablesEqualTheirFormula) {
  const std::int64_t left = 5;
  const std::int64_t right = GetParam() == Task::causal_lm ? 0 : 5;
  const ShawWindow window{.left = left, .right = right};
  const auto rows = (at::clamp(-distances(), -left, right) + left).to(at::kLong).flatten();
  const auto gathered = [&](const at::Tensor& table) {
    return table.index_select(0, rows).view({tokens, tokens, head_dim});
  };
  const auto scores = at::randn({2, heads, tokens, tokens}, f64);
  const auto vectors = at::randn({2, heads, tokens, head_dim}, f64);
  const auto table = at::randn({window.rows(), head_dim}, f64);
  expect_same([&](const Tensors& in) { return add_shaw_scores(in[0], in[1], in[2], window); },
              [&](const Tensors& in) {
                return in[0] + at::einsum("bhqd,qkd->bhqk", {in[1], gathered(in[2])});
              },
              {scores, vectors, table});
  expect_same([&](const Tensors& in) { return add_shaw_values(in[0], in[1], in[2], window); },
              [&](const Tensors& in) {
                return in[0] + at::einsum("bhqk,qkd->bhqd", {in[1], gathered(in[2])});
              },
              {vectors, scores, table});
}

// Training computes linear_attend()'s attention. f64 sums have at most 37 · 8 products of numbers
// from 1 to 5, divided by sums of positive products of this kind: the bound above.
TEST_P(Functions, LinearAttentionEqualsTheLibrarys) {
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

TEST_F(Functions, LearnedRowsAreAdded) {
  expect_same([](const Tensors& in) { return add_learned_rows(in[0], in[1]); },
              [](const Tensors& in) { return in[0] + in[1].slice(0, 0, tokens); },
              {at::randn({2, tokens, 6}, f64), at::randn({tokens + 3, 6}, f64)});
  EXPECT_THROW((void)add_learned_rows(at::zeros({1, 5, 6}, f64), at::zeros({4, 6}, f64)),
               cli::Failure);
}

TEST_F(Functions, SinusoidalRowsEqualThePapers) {
  const auto angle = positions().unsqueeze(1) *
                     at::exp(at::arange(4, f64) * (-2.0 / 8 * std::log(10000.0))).unsqueeze(0);
  expect_close(sinusoidal_rows(10000, tokens, 8, at::kDouble),
               at::stack({angle.sin(), angle.cos()}, 2).flatten(1), "rows");
}

TEST_F(Functions, TensorsOfOtherTypesAreRefused) {
  const auto rotations = rotations_of(rope(), tokens, at::kFloat, Role::query);
  EXPECT_THROW((void)rotate_heads(at::zeros({1, tokens, heads, head_dim}, at::kHalf), rotations),
               cli::Failure);
}

}  // namespace
}  // namespace rotary::lab

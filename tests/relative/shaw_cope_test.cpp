// SPDX-License-Identifier: Apache-2.0
// Shaw's vectors and CoPE: decode steps and errors. The fuzz target relative compares both with the
// long double reference, and tests/golden compares their gradients with torch.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "relative/samples.hpp"
#include "rotary/cope.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"
#include "support/tensor.hpp"

namespace rotary {
namespace {

using test::HeadIndex;
using test::Layout;
using test::Tensor;

using test::random_numbers;
using test::random_tensor;

struct Case {
  ShawWindow window;
  BiasRange range;
  std::int64_t queries = 7;
  std::int64_t keys = 9;
  std::int64_t features = 5;
};

Extents scores_extents(const auto& c) {
  return {.batch = 2, .tokens = c.queries, .heads = 3, .features = c.keys};
}
Extents heads_extents(const auto& c) {
  return {.batch = 2, .tokens = c.queries, .heads = 3, .features = c.features};
}

TEST(Shaw, DecodeStepsHaveTheBitsOfOneCall) {
  const Extents whole{.tokens = 12, .heads = 2, .features = 12};
  const Extents heads{.tokens = 12, .heads = 2, .features = 5};
  const std::vector<double> numbers = random_numbers(5 * 5, 9);
  const ShawTable table{{2, 2}, test::matrix_of_rows(numbers, 5)};
  const Tensor q = random_tensor({DType::f32, heads, Layout::bthd}, 1);
  Tensor scores({.dtype = DType::bf16, .extents = whole, .layout = Layout::bhtd});
  test::require(add_shaw_scores(test::scores_of(scores.view()), q.view(), table, BiasRange{}));
  for (std::int64_t row = 0; row < 12; ++row) {
    Extents one = whole;
    one.tokens = 1;
    Tensor step({.dtype = DType::bf16, .extents = one, .layout = Layout::bhtd});
    ConstHeadsView query = q.view();
    query.data = static_cast<const float*>(query.data) + row * query.strides.token;
    query.extents.tokens = 1;
    test::require(
        add_shaw_scores(test::scores_of(step.view()), query, table, BiasRange{.first_query = row}));
    test::for_each_element(one, [&](const HeadIndex& index, std::int64_t key) {
      ASSERT_EQ(step.bits_at(index, key), scores.bits_at({.token = row, .head = index.head}, key));
    });
  }
}

TEST(Shaw, RefusesTablesAndViewsThatDoNotFit) {
  const Case c{{2, 2}, {0, 0}};
  const std::vector<double> numbers = random_numbers(c.window.rows() * c.features, 5);
  const ShawTable table{c.window, test::matrix_of_rows(numbers, c.window.rows())};
  const Tensor q = random_tensor({DType::f64, heads_extents(c), Layout::bthd}, 1);
  Tensor scores = random_tensor({DType::f64, scores_extents(c), Layout::bhtd}, 2);
  const auto before = scores.bytes();
  const auto refuses = [&](const ShawTable& wrong, test::Parts parts) {
    const auto view = test::scores_of(scores.view());
    test::refused(add_shaw_scores(view, q.view(), wrong, c.range), parts);
  };
  refuses({{-1, 2}, table.table}, {"left and right", "got -1 and 2"});
  refuses({{std::int64_t{1} << 62, 2}, table.table}, {"left and right"});
  refuses({{2, 1}, table.table}, {"= 4 rows of 5", "got rows 5, columns 5"});
  ConstTableView null = table.table;
  null.data = nullptr;
  refuses({c.window, null}, {"table: data"});
  auto few = test::scores_of(scores.view());
  few.extents.heads = 2;
  test::refused(add_shaw_scores(few, q.view(), table, c.range),
                {"q must have", "heads 2", "heads 3"});
  test::refused(add_shaw_values(Tensor(q).view(), few, table, c.range), {"out must have"});
  std::vector<double> wrong_size(24);
  test::refused(add_shaw_gradient({wrong_size, c.window},
                                  test::scores_of(std::as_const(scores).view()), q.view(), c.range),
                {"5 rows of 5", "got 24"});
  EXPECT_EQ(scores.bytes(), before);
  const ScoresExtents none{.batch = 2, .heads = 3, .queries = 7, .keys = 0};
  EXPECT_TRUE(
      add_shaw_scores({nullptr, DType::f32, none, strides_bhqk(none)}, q.view(), table, c.range)
          .ok());
}

struct CopeCase {
  BiasRange range;
  std::int64_t queries = 5;
  std::int64_t keys = 8;
  std::int64_t rows = 4;
  std::int64_t features = 3;
};

TEST(ContextualPositions, DecodeStepsHaveTheBitsOfOneCall) {
  const CopeCase c{{0, 0}, 8, 8, 5, 3};
  const std::vector<double> numbers = random_numbers(c.rows * c.features, 5);
  const Cope cope{test::matrix_of_rows(numbers, c.rows)};
  const Tensor q = random_tensor({DType::f64, heads_extents(c), Layout::bthd}, 1);
  const Tensor before = random_tensor({DType::f64, scores_extents(c), Layout::bhtd}, 2);
  Tensor whole = before;
  test::require(add_cope(test::scores_of(whole.view()), q.view(), cope, c.range));
  Tensor step = before;
  for (std::int64_t row = 0; row < 8; ++row) {
    ScoresView scores = test::scores_of(step.view());
    scores.data = static_cast<double*>(scores.data) + row * scores.strides.query;
    scores.extents.queries = 1;
    scores.extents.keys = row + 1;  // as in a cache at that step
    ConstHeadsView query = q.view();
    query.data = static_cast<const double*>(query.data) + row * query.strides.token;
    query.extents.tokens = 1;
    test::require(add_cope(scores, query, cope, BiasRange{.first_query = row}));
  }
  EXPECT_EQ(step.all_bits(), whole.all_bits());
}

TEST(ContextualPositions, RefuseViewsThatDoNotFitAndKeepNaN) {
  const CopeCase c{{3, 0}};
  const std::vector<double> numbers = random_numbers(c.rows * c.features, 5);
  const Cope cope{test::matrix_of_rows(numbers, c.rows)};
  const Tensor q = random_tensor({DType::f64, heads_extents(c), Layout::bthd}, 1);
  Tensor scores = random_tensor({DType::f64, scores_extents(c), Layout::bhtd}, 2);
  const auto before = scores.bytes();
  const ScoresView view = test::scores_of(scores.view());
  test::refused(add_cope(view, q.view(), cope, BiasRange{.first_query = 4}),
                {"at 8", "got keys up to 7"});
  test::refused(add_cope(view, q.view(), {}, c.range), {"at least one row of 3", "got rows 0"});
  test::refused(
      add_cope_gradient({view, Tensor(q).view(), {}}, {view, q.view()}, cope, view, c.range),
      {"gradients.table", "12 numbers"});
  ScoresView short_by_one = view;
  --short_by_one.extents.keys;
  test::refused(add_cope_gradient({view, Tensor(q).view(), {}}, {view, q.view()}, cope,
                                  short_by_one, c.range),
                {"d_scores must", "keys 7", "keys 8"});
  std::vector<double> table(12);
  test::refused(
      add_cope_gradient({view, Tensor(q).view(), table}, {view, q.view()}, cope, view, c.range),
      {"gradients.scores and inputs.scores"});
  EXPECT_EQ(scores.bytes(), before);
  scores.set({}, 2, std::numeric_limits<double>::quiet_NaN());
  test::require(add_cope(view, q.view(), cope, c.range));
  EXPECT_TRUE(std::isnan(scores.at({}, 0)));   // sums over key 2
  EXPECT_FALSE(std::isnan(scores.at({}, 3)));  // sums over key 3 and later keys
  const ScoresExtents none{.batch = 2, .heads = 3, .queries = 5, .keys = 0};
  EXPECT_TRUE(
      add_cope({nullptr, DType::f32, none, strides_bhqk(none)}, q.view(), cope, c.range).ok());
}

}  // namespace
}  // namespace rotary

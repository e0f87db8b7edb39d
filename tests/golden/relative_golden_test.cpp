// SPDX-License-Identifier: Apache-2.0
// Compares T5's buckets and ALiBi's slopes with Transformers. Compares KERPLE, FIRE and CoPE with
// their authors' code and Sandwich with NeMo's. Gradients are those of torch's autograd.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/cope.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"
#include "support/bias_parameters.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

void expect_buckets(std::string_view name, const T5Buckets& spec) {
  const auto file = test::read_golden("t5_buckets");
  const auto positions = file.at("relative_position").get<std::vector<std::int64_t>>();
  const auto wanted = file.at(std::string(name)).get<std::vector<std::int64_t>>();
  ASSERT_EQ(positions.size(), wanted.size());
  for (std::size_t i = 0; i < positions.size(); ++i)
    ASSERT_EQ(test::value_of(t5_bucket(positions[i], spec)), wanted[i]) << positions[i];
}

TEST(RelativeGolden, T5BucketsAgree) {
  const T5Buckets bidirectional{
      .buckets = 32, .max_distance = 128, .direction = T5Direction::bidirectional};
  T5Buckets causal = bidirectional;
  causal.direction = T5Direction::causal;
  T5Buckets larger = bidirectional;
  larger.buckets = 64;
  larger.max_distance = 256;
  expect_buckets("bidirectional_32_128", bidirectional);
  expect_buckets("causal_32_128", causal);
  expect_buckets("bidirectional_64_256", larger);
}

// Transformers raises a float32 base, off by 2^-24, to a power of at most 2 n. The slope is off by
// (2 n + 2) 2^-24. The MPT class instead rounds an exponent of at most 8, the power and its
// inverse: less than 8 * 2^-24.
TEST(RelativeGolden, AlibiSlopesAgree) {
  const auto file = test::read_golden("alibi_slopes");
  std::size_t slopes = 0;
  for (const auto& [heads_text, of] : file.at("slopes").items()) {
    const std::int64_t heads = std::stoll(heads_text);
    for (const auto& [name, steps] :
         {std::pair{"bloom_falcon_press", 2.0 * static_cast<double>(heads) + 2},
          std::pair{"mpt_bias_max8", 8.0}}) {
      const auto wanted = of.at(name).get<std::vector<double>>();
      const auto got = test::value_of(alibi_slopes({.heads = heads}));
      test::record_bits(got);
      ASSERT_EQ(got.size(), wanted.size());
      for (std::size_t h = 0; h < got.size(); ++h)
        ASSERT_NEAR(got[h], wanted[h], steps * 0x1p-24 * wanted[h]) << name << ' ' << heads;
      slopes += got.size();
    }
  }
  EXPECT_EQ(slopes, 2U * 331);
}

using Numbers = std::vector<double>;

Numbers numbers(const nlohmann::json& of, const char* name) { return of.at(name).get<Numbers>(); }

// Both sides sum fewer than 100 terms below 10 in double.
void expect_near(const Numbers& got, const Numbers& wanted) {
  test::record_bits(got);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-12) << i;
}

enum class Compared { whole, up_to_query };

// Compares the bias and, if the file has d, the gradient of Σ d bias.
void expect_bias(const nlohmann::json& of, const RelativeBias& bias, Compared compared) {
  const auto tokens = of.at("tokens").get<std::int64_t>();
  const ScoresExtents n{.heads = of.at("heads"), .queries = tokens, .keys = tokens};
  Numbers wanted = numbers(of, "bias");
  Numbers got(wanted.size());
  test::require(fill_bias({got.data(), DType::f64, n, strides_bhqk(n)}, bias, BiasRange{}));
  for (std::size_t i = 0; i < got.size() && compared == Compared::up_to_query; ++i) {
    const auto element = static_cast<std::int64_t>(i);
    if (element % tokens > element / tokens % tokens) wanted[i] = got[i];  // masked in the file
  }
  expect_near(got, wanted);
  if (!of.contains("d")) return;
  Numbers d = numbers(of, "d");
  Numbers gradient(static_cast<std::size_t>(parameter_count(bias)));
  test::require(add_bias_gradient(
      gradient, bias, ConstScoresView{d.data(), DType::f64, n, strides_bhqk(n)}, BiasRange{}));
  expect_near(gradient, numbers(of, "gradient"));
}

// Makes a bias of this name and sets the parameters that the entry names.
RelativeBias described(std::string_view name, const nlohmann::json& entry) {
  RelativeBias bias = relative_bias_named(name).value();
  for_each_parameter(bias, [&]<class Member>(const ParameterFacts& facts, Member& member) {
    if constexpr (requires { entry.get_to(member); }) {
      const auto found = entry.find(std::string(facts.name));
      if (found != entry.end()) found->get_to(member);
    }
  });
  return bias;
}

// KERPLE's code masks keys after the query.
TEST(RelativeGolden, BiasesAgree) {
  const auto file = test::read_golden("relative_biases");
  for (const char* const name : {"sandwich", "kerple_log", "kerple_power", "fire"}) {
    SCOPED_TRACE(name);
    const bool is_kerple = name[0] == 'k';
    expect_bias(file.at(name), described(name, file.at(name)),
                is_kerple ? Compared::up_to_query : Compared::whole);
  }
}

// The file has an entry for every encoding that is a formula of the distance and a head's numbers.
TEST(RelativeGolden, FormulasAgree) {
  const auto file = test::read_golden("formula_biases");
  for (const std::string_view name : relative_bias_names()) {
    SCOPED_TRACE(name);
    const bool is_formula = test::random_bias(name, 1, 1).has_value();
    EXPECT_EQ(file.contains(std::string(name)), is_formula);
    if (!is_formula) continue;
    const auto& entry = file.at(std::string(name));
    expect_bias(entry, described(name, entry), Compared::whole);
  }
}

TEST(RelativeGolden, CopeAgrees) {
  const auto file = test::read_golden("relative_biases").at("cope");
  const auto tokens = file.at("tokens").get<std::int64_t>();
  const auto features = file.at("features").get<std::int64_t>();
  const Numbers table = numbers(file, "table");
  const Cope cope{{.data = table.data(),
                   .dtype = DType::f64,
                   .rows = file.at("positions"),
                   .features = features,
                   .row_stride = features}};
  const ScoresExtents n{.heads = 1, .queries = tokens, .keys = tokens};
  const Extents of_q{.tokens = tokens, .heads = 1, .features = features};
  const Numbers scores = numbers(file, "scores");
  const Numbers q = numbers(file, "q");
  const Numbers d = numbers(file, "d");
  const ConstScoresView read{scores.data(), DType::f64, n, strides_bhqk(n)};
  const ConstHeadsView queries{q.data(), DType::f64, of_q, strides_bthd(of_q)};
  Numbers written = scores;
  test::require(add_cope({written.data(), DType::f64, n, strides_bhqk(n)}, queries, cope, {}));
  expect_near(written, numbers(file, "written"));
  Numbers d_scores(scores.size());
  Numbers d_q(q.size());
  Numbers d_table(table.size());
  test::require(add_cope_gradient({{d_scores.data(), DType::f64, n, strides_bhqk(n)},
                                   {d_q.data(), DType::f64, of_q, strides_bthd(of_q)},
                                   d_table},
                                  {read, queries}, cope, {d.data(), DType::f64, n, strides_bhqk(n)},
                                  {}));
  expect_near(d_scores, numbers(file, "d_scores"));
  expect_near(d_q, numbers(file, "d_q"));
  expect_near(d_table, numbers(file, "d_table"));
}

}  // namespace
}  // namespace rotary

// SPDX-License-Identifier: Apache-2.0
// Every scaling rule enforces the bounds in its facts (Describe), round-trips through JSON, and
// agrees with the long double reference.
#include <cmath>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/random.hpp"
#include "support/refusals.hpp"
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::Random;

constexpr std::int64_t sample_dim = 64;
constexpr std::int64_t sample_context = 6000;

Result<Frequencies> frequencies_of(const Scaling& scaling) {
  return make_frequencies(test::spec_with(10000, sample_dim, scaling), sample_context);
}

struct RandomParameter {
  Random& random;

  void operator()(const ParameterFacts& facts, double& value) {
    value = std::exp2(random.unit() * 9 - 3);
    if (value > facts.bounds.most) value = facts.bounds.most * random.unit();
  }
  void operator()(const ParameterFacts& /*facts*/, std::int64_t& value) {
    value = std::int64_t{1} << random.integer(0, 13);
  }
  void operator()(const ParameterFacts& facts, std::optional<double>& value) {
    if (random.unit() < 0.5) (*this)(facts, value.emplace());
  }
  void operator()(const ParameterFacts& facts, std::vector<double>& list) {
    list.resize(sample_dim / 2);
    for (double& each : list) (*this)(facts, each);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void operator()(const ParameterFacts& /*facts*/, Enum& value) {
    const auto& all = Describe<Enum>::enumerators;
    value = all[static_cast<std::size_t>(random.integer(0, std::ssize(all) - 1))].value;
  }
};

// A rule of this name with random valid parameters.
Scaling random_rule(std::string_view name, Random& random) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    Scaling scaling = scaling_named(name).value();
    for_each_parameter(scaling, RandomParameter{random});
    if (frequencies_of(scaling)) return scaling;
  }
  ADD_FAILURE() << name << " refuses every sample: "
                << frequencies_of(*scaling_named(name)).error().message;
  return NoScaling{};
}

// Calls check(scaling) for each rule with some random parameters.
template <class Check>
void for_every_rule(Check check) {
  Random random(1);
  for (const std::string_view name : rope_types()) {
    SCOPED_TRACE(name);
    for (int sample = 0; sample < 20; ++sample) check(random_rule(name, random));
  }
}

std::string text_of(const Scaling& scaling) {
  return test::value_of(to_json(test::spec_with(10000, sample_dim, scaling)));
}

TEST(EveryRule, AgreesWithTheReference) {
  for_every_rule([](const Scaling& scaling) {
    test::expect_as_reference(test::spec_with(10000, sample_dim, scaling), sample_context);
    test::expect_as_reference(test::spec_with(5e5, sample_dim, scaling), sample_context);
  });
}

// Rules with typical and with extreme parameters.
std::vector<Scaling> extremes() {
  std::vector<Scaling> all = {NoScaling{}};
  for (const double factor : {1.0, 4.0, 8.0, 0.5, 1e-6, 1e6, 3.3})
    all.emplace_back(LinearScaling{.factor = factor});
  for (const std::int64_t context : {1, 5, 4096, 32768, 1 << 30}) {
    for (const YarnRamp ramp : {YarnRamp::whole_pairs, YarnRamp::fractional, YarnRamp::turns})
      for (const double factor : {0.5, 4.0, 32.0})
        all.emplace_back(
            YarnScaling{.factor = factor, .original_context_tokens = context, .ramp = ramp});
    // If the high factor equals the low factor, no pair is blended, as in Llama 4 Scout.
    for (const double high : {1.0, 4.0}) all.emplace_back(Llama3Scaling{32, 1, high, context});
  }
  all.emplace_back(YarnScaling{// an mscale of 0 counts as absent
                               .factor = 40,
                               .original_context_tokens = 4096,
                               .mscale = 0,
                               .mscale_all_dim = 3});
  for (const double beta_slow : {2.0, 16.0})  // 16: the ramp has no width
    all.emplace_back(YarnScaling{
        .factor = 0.5, .original_context_tokens = 8192, .beta_fast = 16, .beta_slow = beta_slow});
  for (const double fraction : {1e-9, 0.25, 0.3, 0.5, 0.99, 1.0})
    for (const double factor : {0.5, 8.0})
      all.emplace_back(ProportionalScaling{.turning_fraction = fraction, .factor = factor});
  for (const double factor : {1.0, 8.0, 1e4}) {
    all.emplace_back(MixedNtkScaling{.factor = factor});
    for (const double mixed_b : {0.0, 0.625, 7.0})
      all.emplace_back(MixedNtkScaling{.factor = factor, .mixed_b = mixed_b});
  }
  all.emplace_back(MixedNtkScaling{.factor = 0.25, .mixed_b = 0.625});
  for (const double max_freq : {2.0, 256.0, 1e-9, 1e9})
    all.emplace_back(PixelScaling{.max_freq = max_freq});
  return all;
}

TEST(EveryRule, AgreesWithTheReferenceAtExtremes) {
  for (const Scaling& each : extremes()) test::expect_as_reference_for_many_specs(each);
  test::expect_as_reference(test::spec_with(1e300, 128, NoScaling{}));
}

// These rules need at least two pairs, or as many pairs as they clip.
TEST(EveryRule, RulesThatNeedSeveralPairsAgreeWithTheReference) {
  test::expect_as_reference_for_many_specs(RetNetScaling{}, {}, 4);
  for (const std::int64_t clipped : {1, 2, 3, 20, 64, 256})
    for (const ClippedEdge edge : {ClippedEdge::cosine, ClippedEdge::hard})
      test::expect_as_reference_for_many_specs(
          ClippedScaling{.clipped_pairs = clipped, .edge = edge}, {}, 2 * clipped);
  for (const std::int64_t tokens : {1, 50, 2048, 2049, 1 << 20, 1 << 30}) {
    for (const double part : {0.0, 0.25, 1.0})
      test::expect_as_reference_for_many_specs(
          NtkByPartsScaling{.factor = 8,
                            .original_context_tokens = tokens,
                            .ntk_factor = part,
                            .extrapolation_factor = 1 - part / 2},
          {}, 4);
    for (const double factor : {0.5, 1.0, 8.0, 1000.0})
      test::expect_as_reference_for_many_specs(
          DynamicNtkScaling{.factor = factor, .original_context_tokens = 2048}, tokens, 4);
    if (tokens < 1 << 30)
      test::expect_as_reference_for_many_specs(DoublingNtkScaling{.original_context_tokens = 2048},
                                               tokens, 4);
  }
}

TEST(EveryRule, IsFoundByItsName) {
  for (const std::string_view name : rope_types()) {
    EXPECT_EQ(rope_type(scaling_named(name).value()), name);
  }
  EXPECT_EQ(rope_types().size(), std::variant_size_v<ScalingRules>);
  EXPECT_FALSE(scaling_named("no rule"));
}

TEST(EveryRule, RoundTripsThroughJson) {
  for_every_rule([](const Scaling& scaling) {
    const std::string text = text_of(scaling);
    EXPECT_EQ(test::value_of(parse_rotary_spec(text)).scaling, scaling) << text;
  });
}

// Doubles without a short decimal form.
TEST(EveryRule, DoublesRoundTripBitForBit) {
  const ExplicitScaling rule{.inv_freq = {1.0 / 3, 0x1.fffffffffffffp-1, 0x1p-1074, -0.1}};
  const auto spec = test::spec_with(0x1.0000000000001p10, 8, rule);
  const auto read = test::value_of(parse_rotary_spec(test::value_of(to_json(spec))));
  EXPECT_EQ(read.base.get(), spec.base.get());
  EXPECT_EQ(read.scaling, spec.scaling);
}

// Gives one parameter a value outside its bounds.
struct BreakParameter {
  std::string_view name;
  double value;
  bool done = false;

  void operator()(const ParameterFacts& facts, double& number) { set(facts, number); }
  void operator()(const ParameterFacts& facts, std::optional<double>& number) {
    set(facts, number.emplace(number.value_or(1)));
  }
  void operator()(const ParameterFacts& facts, std::vector<double>& list) {
    set(facts, list.back());
  }
  void operator()(const ParameterFacts& facts, std::int64_t& number) {
    if (facts.name != name || !(std::abs(value) < 0x1p62)) return;
    number = static_cast<std::int64_t>(value);
    done = true;
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void operator()(const ParameterFacts& /*facts*/, Enum& /*value*/) {}

 private:
  void set(const ParameterFacts& facts, double& number) {
    if (facts.name != name) return;
    number = value;
    done = true;
  }
};

std::vector<double> values_beyond(const ParameterBounds& bounds) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {std::nextafter(bounds.least, -infinity),
          bounds.least - 1,
          std::nextafter(bounds.most, infinity),
          -infinity,
          infinity,
          std::numeric_limits<double>::quiet_NaN()};
}

void expect_bounds(const Scaling& scaling, const ParameterFacts& facts) {
  for (const double value : values_beyond(facts.bounds)) {
    if (value >= facts.bounds.least && value <= facts.bounds.most) continue;
    Scaling broken = scaling;
    BreakParameter parameter{facts.name, value};
    for_each_parameter(
        broken, [&](const ParameterFacts& other, auto& member) { parameter(other, member); });
    if (!parameter.done) continue;
    const test::Parts parts = {facts.name, facts.bounds.requirement, "got"};
    EXPECT_TRUE(test::fails(validate(broken), ErrorCode::invalid_argument, parts)) << value;
    EXPECT_TRUE(test::fails(frequencies_of(broken), ErrorCode::invalid_argument, parts)) << value;
    EXPECT_FALSE(to_json(test::spec_with(10000, sample_dim, broken))) << value;
  }
}

TEST(EveryRule, RefusesParametersOutOfTheirBounds) {
  for_every_rule([](const Scaling& scaling) {
    EXPECT_TRUE(validate(scaling));
    for_each_parameter(scaling, [&]<class Member>(const ParameterFacts& facts, const Member&) {
      if constexpr (!std::is_enum_v<Member>) expect_bounds(scaling, facts);
    });
  });
}

TEST(EveryRule, RefusesListsOfTheWrongLength) {
  for_every_rule([](const Scaling& scaling) {
    for_each_parameter(scaling, [&]<class Member>(const ParameterFacts& facts, const Member&) {
      if constexpr (std::is_same_v<Member, std::vector<double>>) {
        Scaling broken = scaling;
        for_each_parameter(broken, [&]<class Other>(const ParameterFacts& other, Other& list) {
          if constexpr (std::is_same_v<Other, std::vector<double>>) {
            if (other.name == facts.name) list.pop_back();
          }
        });
        test::refused(frequencies_of(broken), {facts.name, "one entry for each pair, 32; got 31"});
      }
    });
  });
}

TEST(EveryRule, RefusesUnknownEnumerators) {
  for_every_rule([](const Scaling& scaling) {
    Scaling broken = scaling;
    for_each_parameter(broken, [&]<class Member>(const ParameterFacts& facts, Member& member) {
      if constexpr (std::is_enum_v<Member>) {
        const Member kept = member;
        member = static_cast<Member>(99);
        test::refused(validate(broken), {facts.name, "must be", " or ", "got value 99"});
        EXPECT_FALSE(to_json(test::spec_with(10000, sample_dim, broken)));
        member = kept;
      }
    });
  });
}

std::string member_text(std::string_view name, std::string_view member) {
  return R"({"rope_type": ")" + std::string(name) + "\"" + std::string(member) + "}";
}

// True for parameters without a default: a number that is 0 in an empty rule, or a list.
template <class Member>
bool must_be_given(const Member& value) {
  if constexpr (std::is_same_v<Member, double> || std::is_same_v<Member, std::int64_t>)
    return value == 0;
  return std::is_same_v<Member, std::vector<double>>;
}

TEST(EveryRule, RefusesMissingAndMistypedKeys) {
  for (const std::string_view name : rope_types()) {
    const Scaling scaling = scaling_named(name).value();
    bool has_required = false;
    for_each_parameter(scaling, [&](const ParameterFacts& facts, const auto& value) {
      has_required = has_required || must_be_given(value);
      const std::string mistyped = ", \"" + std::string(facts.name) + "\": {}";
      test::malformed_spec(member_text(name, mistyped), {"scaling.", "must be"});
    });
    if (has_required) {
      test::malformed_spec(member_text(name, ""), {"scaling.", "must be given"});
    } else {
      EXPECT_EQ(test::scaling_of_text(member_text(name, "")), scaling);
    }
  }
}

// tests/documents compares the facts of every rule with docs/schema.
TEST(EveryRule, RequirementsMatchTheirBounds) {
  constexpr double most = std::numeric_limits<double>::max();
  constexpr double above_0 = std::numeric_limits<double>::denorm_min();
  const std::map<std::string_view, std::pair<double, double>> numbers = {
      {"finite", {-most, most}},
      {"finite and > 0", {above_0, most}},
      {"finite and >= 0", {0, most}},
      {"> 0", {1, 0x1p63}},
      {"> 1", {2, 0x1p63}},
      {"in (0, 1]", {above_0, 1}},
      {"in [0, 1]", {0, 1}},
      {"in [2^-20, 2^20]", {0x1p-20, 0x1p20}},
      {"in (-2^40, 2^40)", {std::nextafter(-0x1p40, 0), std::nextafter(0x1p40, 0)}}};
  for (const std::string_view name : rope_types()) {
    const Scaling scaling = scaling_named(name).value();
    for_each_parameter(scaling, [&]<class Member>(const ParameterFacts& facts, const Member&) {
      if constexpr (!std::is_enum_v<Member>) {
        EXPECT_EQ(numbers.at(facts.bounds.requirement),
                  std::pair(facts.bounds.least, facts.bounds.most))
            << name << " " << facts.name;
      }
    });
  }
}

// {KEY} in a sentence names a parameter.
TEST(EveryRule, SentencesNameOnlyParameters) {
  for_every_rule([](const Scaling& scaling) {
    std::string text(sentence(scaling));
    for_each_parameter(scaling, [&](const ParameterFacts& facts, const auto& /*value*/) {
      const std::string key = "{" + std::string(facts.name) + "}";
      if (const auto at = text.find(key); at != std::string::npos) text.erase(at, key.size());
      EXPECT_FALSE(facts.meaning.empty());
    });
    EXPECT_EQ(text.find('{'), std::string::npos) << text;
    EXPECT_FALSE(text.empty());
  });
}

}  // namespace
}  // namespace rotary

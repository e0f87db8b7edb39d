// SPDX-License-Identifier: Apache-2.0
#include "golden/attention_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "golden/golden_file.hpp"
#include "support/recorded_bits.hpp"

namespace rotary::test {
namespace {

using nlohmann::json;

Numbers numbers_of(const json& of, const char* name) {
  Numbers numbers;
  if (!of.contains(name)) return numbers;
  for (const json& number : of.at(name))
    numbers.push_back(number.is_null() ? -std::numeric_limits<double>::infinity()
                                       : number.get<double>());
  return numbers;
}

reference::Heads heads_of(const json& tensor) {
  const json& shape = tensor.at("shape");
  return {.extents = {shape.at(0), shape.at(1), shape.at(2), shape.at(3)},
          .values = numbers_of(tensor, "data")};
}

reference::Mask mask_of(const json& mask) {
  reference::Mask made;
  if (mask.at("order") == "causal") made.order = reference::Order::causal;
  if (mask.contains("left")) made.left = mask.at("left").get<std::int64_t>();
  if (mask.contains("right")) made.right = mask.at("right").get<std::int64_t>();
  if (mask.contains("keys")) made.keys = flat<std::uint8_t>(mask.at("keys"));
  if (mask.contains("documents"))
    made.query_documents = made.key_documents = flat<std::int64_t>(mask.at("documents"));
  return made;
}

// Takes the first columns, because the file has more heads and features than most cases.
Numbers first_columns(const json& table, std::int64_t taken) {
  const Numbers all = numbers_of(table, "data");
  const auto columns = table.at("shape").at(1).get<std::size_t>();
  Numbers first;
  for (std::size_t row = 0; row < all.size(); row += columns)
    first.insert(first.end(), all.data() + row, all.data() + row + taken);
  return first;
}

Numbers first_rows(const json& numbers, std::int64_t taken) {
  Numbers rows = numbers_of(numbers, "data");
  const auto row = rows.size() / numbers.at("shape").at(0).get<std::size_t>();
  rows.resize(row * static_cast<std::size_t>(taken));
  return rows;
}

RotarySpec rotary_of(const json& entry, std::int64_t features) {
  RotarySpec spec{
      .head_dim = features,
      .rotary_dim = features - entry.at("unrotated").get<std::int64_t>(),
      .base = entry.at("base").get<double>(),
      .pairing = entry.at("pairing") == "half" ? Pairing::half : Pairing::interleaved,
  };
  if (entry.contains("xpos"))
    spec.xpos = Xpos{.scale_base = entry.at("xpos").at("scale_base"),
                     .center = entry.at("xpos").at("center")};
  return spec;
}

reference::Rotary reference_of(const RotarySpec& spec) {
  const HeadWindow window{.head_dim = spec.head_dim,
                          .rotary_dim = *spec.rotary_dim,
                          .first_feature = 0,
                          .pairing = spec.pairing};
  Numbers inv_freq;
  for (std::int64_t pair = 0; pair < window.pairs(); ++pair)
    inv_freq.push_back(std::pow(spec.base.get(),
                                -static_cast<double>(pair) / static_cast<double>(window.pairs())));
  return {.window = window, .inv_freq = std::move(inv_freq), .xpos = spec.xpos};
}

RelativeBias t5_of(const json& entry, std::int64_t heads, Numbers& table) {
  table = first_columns(entry.at("table"), heads);
  const std::int64_t buckets = entry.at("buckets");
  return T5Bias{
      .buckets = {.buckets = buckets,
                  .max_distance = entry.at("max_distance"),
                  .direction = entry.at("direction") == "causal" ? T5Direction::causal
                                                                 : T5Direction::bidirectional},
      .table = {.data = table.data(),
                .dtype = DType::f64,
                .rows = buckets,
                .features = heads,
                .row_stride = heads}};
}

AlibiForm form_of(const json& entry) {
  if (entry.at("form") == "symmetric") return AlibiForm::symmetric;
  return entry.at("form") == "causal" ? AlibiForm::causal : AlibiForm::key_position;
}

// Sets each parameter to the entry's numbers for the first heads.
RelativeBias learned_bias(const json& entry, std::int64_t heads) {
  RelativeBias bias = relative_bias_named(entry.at("kind").get<std::string>()).value();
  for_each_parameter(bias, [&]<class Member>(const ParameterFacts& facts, Member& member) {
    const json& value = entry.at(std::string(facts.name));
    if constexpr (std::is_same_v<Member, std::vector<double>>) {
      const bool for_all = facts.shape == ParameterShape::units;
      member = for_all ? numbers_of(value, "data") : first_rows(value, heads);
    } else if constexpr (std::is_same_v<Member, double>) {
      member = facts.kind == ParameterKind::learned ? value.at("data").at(0) : value;
    } else if constexpr (std::is_same_v<Member, std::int64_t>) {
      member = value;
    }
  });
  return bias;
}

reference::ShawVectors shaw_of(const json& entry, const char* table, std::int64_t features) {
  return {.window = {.left = entry.at("window").at(0), .right = entry.at("window").at(1)},
          .table = first_columns(entry.at(table), features)};
}

void set_encoding(AttentionGolden& of, const json& entry) {
  reference::AttentionEncoding& encoding = of.attention.encoding;
  const Extents& q = of.inputs.q.extents;
  const std::string kind = entry.at("kind");
  if (kind == "none") return;
  if (kind == "rotary") {
    of.rotary = rotary_of(entry, q.features);
    encoding.rotary = reference_of(*of.rotary);
  } else if (kind == "t5") {
    encoding.bias = t5_of(entry, q.heads, of.t5_table);
  } else if (kind == "alibi") {
    encoding.bias = Alibi{.heads = q.heads, .form = form_of(entry)};
  } else if (kind == "sandwich") {
    encoding.bias = Sandwich{.dim = entry.at("dim"), .heads = q.heads};
  } else if (kind == "shaw") {
    encoding.shaw_keys = shaw_of(entry, "keys", q.features);
    if (entry.contains("values"))
      encoding.shaw_values = shaw_of(entry, "values", of.inputs.v.extents.features);
  } else if (kind == "cope") {
    encoding.cope = first_columns(entry.at("table"), q.features);
  } else {
    encoding.bias = learned_bias(entry, q.heads);
  }
}

AttentionGolden read_case(const json& file, const json& entry) {
  const std::string encoding = entry.at("encoding");
  const std::string inputs = entry.at("inputs");
  const std::string mask = entry.at("mask");
  const json& tensors = file.at("inputs").at(inputs);
  AttentionGolden of{
      .name = encoding + ", " + inputs + ", " + mask,
      .inputs = {heads_of(tensors.at("q")), heads_of(tensors.at("k")), heads_of(tensors.at("v"))},
      .d_out = heads_of(tensors.at("d_out")),
      .attention = {.scale = entry.at("scale"),
                    .mask = mask_of(file.at("masks").at(mask)),
                    .query_positions = flat<std::int64_t>(entry.at("query_positions")),
                    .key_positions = flat<std::int64_t>(entry.at("key_positions"))},
      .wanted = {.out = numbers_of(entry, "out"),
                 .log_sum_exp = numbers_of(entry, "log_sum_exp"),
                 .d_q = numbers_of(entry, "d_q"),
                 .d_k = numbers_of(entry, "d_k"),
                 .d_v = numbers_of(entry, "d_v"),
                 .d_parameters = numbers_of(entry, "d_parameters"),
                 .d_shaw_keys = numbers_of(entry, "d_keys"),
                 .d_shaw_values = numbers_of(entry, "d_values"),
                 .d_cope = numbers_of(entry, "d_table")}};
  set_encoding(of, file.at("encodings").at(encoding));
  return of;
}

void expect_near(const char* name, const Numbers& got, const Numbers& wanted) {
  record_bits(got);
  EXPECT_LE(largest_difference(got, wanted), attention_tolerance) << name;
}

}  // namespace

std::vector<AttentionGolden> read_attention_goldens() {
  const json file = read_golden("attention_encodings");
  std::vector<AttentionGolden> cases;
  cases.reserve(file.at("cases").size());  // a T5Bias points into its case, so none may be copied
  for (const json& entry : file.at("cases")) cases.push_back(read_case(file, entry));
  if (cases.empty()) throw std::runtime_error("attention_encodings.json must hold a case");
  return cases;
}

void expect_equal(const AttentionNumbers& got, const AttentionNumbers& wanted) {
  expect_near("out", got.out, wanted.out);
  expect_near("log_sum_exp", got.log_sum_exp, wanted.log_sum_exp);
  expect_near("d_q", got.d_q, wanted.d_q);
  expect_near("d_k", got.d_k, wanted.d_k);
  expect_near("d_v", got.d_v, wanted.d_v);
  expect_near("d_parameters", got.d_parameters, wanted.d_parameters);
  expect_near("d_shaw_keys", got.d_shaw_keys, wanted.d_shaw_keys);
  expect_near("d_shaw_values", got.d_shaw_values, wanted.d_shaw_values);
  expect_near("d_cope", got.d_cope, wanted.d_cope);
}

}  // namespace rotary::test

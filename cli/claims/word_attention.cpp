// SPDX-License-Identifier: Apache-2.0
#include "cli/claims/word_attention.hpp"

#include <array>
#include <iterator>
#include <sstream>

#include "cli/claims/measure.hpp"
#include "rotary/absolute.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::cli::claims {
namespace {

Status add_waves(TokensView vectors, const ConsecutivePositions& positions) {
  return add_sinusoidal(vectors, vectors,
                        value_or_fail(make_sinusoidal(transformer_sinusoidal(word_features))),
                        positions);
}

// Adds rows of an untrained learned table. The rows and the word vectors have deviation 1.
Status add_rows(TokensView vectors, const ConsecutivePositions& positions) {
  constexpr std::int64_t rows = 1024;
  static const Matrix table = normal_rows(30, rows);
  return add_learned(vectors, vectors,
                     {.table = {table.data(), DType::f64, rows, word_features, word_features},
                      .rows = {.indices = positions}});
}

std::optional<Rotations> rotations_of(const WordEncoding& encoding, Role role,
                                      const ConsecutivePositions& positions) {
  if (!encoding.rotary) return std::nullopt;
  RotationsOptions options;
  if (encoding.rotary->xpos) options.role = role;
  return value_or_fail(make_rotations(frequencies_of(*encoding.rotary), positions, options));
}

// Multiplies by a random matrix that keeps lengths on average.
std::vector<float> projected(const Matrix& vectors, const Matrix& matrix) {
  std::vector<float> products;
  for (auto row = vectors.begin(); row != vectors.end(); row += word_features) {
    for (std::int64_t column = 0; column < word_features; ++column) {
      double sum = 0;
      for (std::int64_t i = 0; i < word_features; ++i)
        sum += row[i] * matrix[static_cast<std::size_t>(i * word_features + column)];
      products.push_back(static_cast<float>(sum / std::sqrt(static_cast<double>(word_features))));
    }
  }
  return products;
}

template <class T>
const T* address_of(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

}  // namespace

Matrix normal_rows(std::uint64_t seed, std::int64_t rows) {
  return plot::normal_numbers(seed, static_cast<std::size_t>(rows * word_features));
}

Words words_in(std::string_view sentence) {
  std::istringstream stream{std::string(sentence)};
  return {std::istream_iterator<std::string>(stream), {}};
}

Matrix vectors_of(const Words& words) {
  Matrix vectors;
  for (const std::string& word : words) {
    const Matrix vector = plot::word_vector(word, word_features, 22);
    vectors.insert(vectors.end(), vector.begin(), vector.end());
  }
  return vectors;
}

WordEncodings encodings_of_size() {
  return {{.name = "ALiBi, slope 1/2, symmetric",
           .bias = Alibi{.heads = 1, .model_heads = 8, .form = AlibiForm::symmetric}},
          {.name = "KERPLE, log, p = a = 1", .bias = KerpleLog{.p = {1}, .a = {1}}},
          {.name = "KERPLE, power, a = 1, p = 1/2", .bias = KerplePower{.a = {1}, .p = {0.5}}},
          {.name = "Sandwich", .bias = Sandwich{.dim = word_features, .heads = 1}}};
}

WordEncodings encodings_of_direction() {
  static const std::vector<double> table = plot::normal_numbers(32, 32);
  const T5Bias t5{
      .buckets = {.buckets = 32, .max_distance = 128, .direction = T5Direction::bidirectional},
      .table = {table.data(), DType::f64, 32, 1, 1}};
  RotarySpec xpos = rope(word_features);
  xpos.xpos = Xpos{};
  return {
      {.name = "RoPE", .rotary = rope(word_features)},
      {.name = "xPos", .rotary = xpos},
      {.name = "T5, random table", .bias = t5},
      {.name = "TISA, a bump at -1", .bias = Tisa{.kernels = 1, .a = {2}, .b = {0.5}, .c = {-1}}},
      shaw_encoding()};
}

WordEncodings absolute_encodings() {
  return {{.name = "sinusoidal", .add = add_waves}, {.name = "learned, random", .add = add_rows}};
}

WordEncoding fire_encoding() {
  return {.name = "FIRE",
          .bias = Fire{.hidden_weight = {4, -2},
                       .hidden_bias = {0, 1},
                       .output_weight = {-2, 1},
                       .output_bias = {0}}};
}

WordEncoding shaw_encoding() {
  constexpr ShawWindow clipped{.left = shaw_clip, .right = shaw_clip};
  static const Matrix table = normal_rows(31, clipped.rows());
  return {.name = "Shaw, random vectors, clip 4",
          .shaw = ShawTable{
              .window = clipped,
              .table = {table.data(), DType::f64, clipped.rows(), word_features, word_features}}};
}

Attended attended(Matrix vectors, const WordEncoding& encoding, const AttentionMask& mask,
                  std::int64_t first) {
  const auto tokens = static_cast<std::int64_t>(vectors.size()) / word_features;
  const ConsecutivePositions positions{.first = first, .tokens = tokens};
  const TokenExtents extents{.tokens = tokens, .features = word_features};
  if (encoding.add != nullptr)
    ok_or_fail(
        encoding.add({vectors.data(), DType::f64, extents, strides_btd(extents)}, positions));
  static const std::array matrices = {normal_rows(23, word_features),
                                      normal_rows(24, word_features),
                                      normal_rows(25, word_features)};
  const std::array qkv = {projected(vectors, matrices[0]), projected(vectors, matrices[1]),
                          projected(vectors, matrices[2])};
  const auto q_rotations = rotations_of(encoding, Role::query, positions);
  const auto k_rotations = rotations_of(encoding, Role::key, positions);
  const AttentionSequence sequence{
      .queries = tokens, .keys = tokens, .query_position = first, .key_position = first};
  const ScoresExtents pairs{.heads = 1, .queries = tokens, .keys = tokens};
  std::vector<float> out(vectors.size());
  std::vector<float> weights(static_cast<std::size_t>(tokens * tokens));
  const auto view = [&](auto& values) {
    return heads_view(values.data(), {.tokens = tokens, .heads = 1, .features = word_features});
  };
  ok_or_fail(
      attend(view(out), view(qkv[0]), view(qkv[1]), view(qkv[2]),
             {.scale = 1 / std::sqrt(static_cast<double>(word_features)),
              .mask = mask,
              .encoding = {.q_rotations = address_of(q_rotations),
                           .k_rotations = address_of(k_rotations),
                           .bias = address_of(encoding.bias),
                           .shaw_keys = address_of(encoding.shaw)},
              .sequences = {&sequence, 1},
              .weights = ScoresView{weights.data(), DType::f32, pairs, strides_bhqk(pairs)}}));
  return {{out.begin(), out.end()}, {weights.begin(), weights.end()}};
}

}  // namespace rotary::cli::claims

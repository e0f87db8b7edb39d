// SPDX-License-Identifier: Apache-2.0
// The first layer's input in three models: M2M100 (sinusoids, a padded batch), BERT (a sum of three
// tables) and ViT (a learned table, resized for a larger image). Run: absolute_encodings
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rotary/absolute.hpp"

constexpr std::int64_t dim = 8;

int report(const rotary::Status& status) {
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return 1;
}

rotary::TokensView tokens_of(std::vector<float>& values, const rotary::TokenExtents& extents) {
  return {values.data(), rotary::DType::f32, extents, strides_btd(extents)};
}

// An Embedding's weight [rows, dim]. Row r holds r + start, so that output identifies the row.
struct Table {
  std::vector<float> values;
  Table(std::int64_t rows, float start) {
    for (std::int64_t row = 0; row < rows; ++row)
      values.insert(values.end(), dim, start + static_cast<float>(row));
  }
  rotary::TableView view() {
    return {values.data(), rotary::DType::f32, static_cast<std::int64_t>(values.size()) / dim, dim,
            dim};
  }
};

// [2, 4] tokens; the second row ends in padding.
rotary::Status m2m100() {
  const std::vector<std::uint8_t> mask = {1, 1, 1, 1, 1, 1, 0, 0};
  std::vector<std::int64_t> positions(mask.size());
  if (auto status = rotary::positions_from_mask(positions, mask, 2); !status) return status;

  const auto sinusoidal = rotary::make_sinusoidal(rotary::fairseq_sinusoidal(dim, 1));
  if (!sinusoidal) return sinusoidal.error();
  std::vector<float> x(mask.size() * dim, 1.0F);
  const auto view = tokens_of(x, {.batch = 2, .tokens = 4, .features = dim});
  if (auto status =
          rotary::add_sinusoidal(view, view, *sinusoidal, rotary::positions_of(positions, 2),
                                 {.embedding_scale = std::sqrt(double{dim})});
      !status)
    return status;
  // Prints sqrt(8) * 1 + sin(2), since positions start at padding_idx + 1. Padding has no encoding.
  std::printf("m2m100: first token %.6f, padding %.6f\n", x[0], x[6 * dim]);
  return {};
}

// word + segment + position, rounded once.
rotary::Status bert() {
  Table word(100, 0);
  Table segment(2, 0.25F);
  Table position(512, 1000);
  const std::vector<std::int32_t> ids = {7, 42, 99};
  const std::vector<std::int32_t> segments = {0, 0, 1};
  const rotary::Lookup lookups[] = {
      {word.view(), {.indices = rotary::positions_of(ids), .padding_row = 0}},
      {segment.view(), {.indices = rotary::positions_of(segments)}},
      {position.view(), {.indices = rotary::ConsecutivePositions{.first = 0, .tokens = 3}}}};
  std::vector<float> x(3 * dim);
  if (auto status = rotary::sum_embeddings(tokens_of(x, {.tokens = 3, .features = dim}), lookups);
      !status)
    return status;
  std::printf("bert: %.2f, %.2f, %.2f\n", x[0], x[dim], x[2 * dim]);
  return {};
}

// A class token and 14 x 14 patches; an image of 384 x 384 has 24 x 24 patches.
rotary::Status vit() {
  Table trained(1 + 14 * 14, 0);
  Table larger(1 + 24 * 24, 0);
  if (auto status = rotary::interpolate_table(
          larger.view(), trained.view(),
          rotary::BicubicInterpolation{.kept_rows = 1, .from = {14, 14}, .to = {24, 24}});
      !status)
    return status;

  constexpr std::int64_t tokens = 1 + 24 * 24;
  std::vector<float> x(tokens * dim);
  const auto view = tokens_of(x, {.tokens = tokens, .features = dim});
  const auto add_rows_of = [&](Table& table) {
    return rotary::add_learned(
        view, view, {table.view(), {.indices = rotary::ConsecutivePositions{.tokens = tokens}}});
  };
  // A table that is too short is refused, and nothing is written.
  if (const auto refused = add_rows_of(trained); !refused)
    std::printf("vit, without it: %s\n", refused.error().message.c_str());
  if (auto status = add_rows_of(larger); !status) return status;
  std::printf("vit: class token %.3f, first patch %.3f, last %.3f\n", x[0], x[dim],
              x[(tokens - 1) * dim]);
  return {};
}

int main() {
  for (const auto& status : {m2m100(), bert(), vit()}) {
    if (!status) return report(status);
  }
}

// SPDX-License-Identifier: Apache-2.0
// How relative encodings treat far distances alike: Shaw's clip window, T5's buckets.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cli/failure.hpp"
#include "cli/plot/makers.hpp"
#include "cli/plot/turning.hpp"
#include "rotary/shaw.hpp"
#include "rotary/t5_bias.hpp"

namespace rotary::cli::plot {
namespace {

double row_of(std::int64_t distance, const ShawWindow& window) {
  return static_cast<double>(value_or_fail(shaw_row(distance, window)));
}

Panel window_matrix(std::int64_t tokens, const ShawWindow& window) {
  HeatMap map{.rows = static_cast<std::size_t>(tokens),
              .columns = static_cast<std::size_t>(tokens),
              .values = {},
              .label = "row of the table",
              .highest = static_cast<double>(window.rows() - 1)};
  for (std::int64_t query = 0; query < tokens; ++query) {
    for (std::int64_t key = 0; key < tokens; ++key)
      map.values.push_back(row_of(key - query, window));
  }
  return {.title = fmt::format("{} queries and keys", tokens),
          .x = Axis{.label = "key"},
          .y = Axis{.label = "query"},
          .map = std::move(map),
          .aspect = Aspect::equal,
          .y_direction = YDirection::down};
}

Series buckets(T5Direction direction, std::int64_t last) {
  const bool is_causal = direction == T5Direction::causal;
  const T5Buckets t5{.buckets = 32, .max_distance = 128, .direction = direction};
  Series series{.name = is_causal ? "causal (decoder)" : "bidirectional (encoder)",
                .style = Style::steps,
                .x = {},
                .y = {}};
  for (std::int64_t distance = -last; distance <= last; ++distance) {
    series.x.push_back(static_cast<double>(distance));
    series.y.push_back(static_cast<double>(value_or_fail(t5_bucket(distance, t5))));
  }
  return series;
}

}  // namespace

Figure shaw(const Request& request) {
  const std::int64_t reach = request.dim.value_or(4);
  const std::int64_t last = request.last.value_or(std::min<std::int64_t>(3 * reach, 511));
  const ShawWindow window{.left = reach, .right = reach};
  Panel steps{.title = "by distance",
              .x = Axis{.label = "distance, key - query (tokens)"},
              .y = Axis{.label = "row of the table",
                        .from = -0.5,
                        .to = static_cast<double>(window.rows()) - 0.5},
              .series = {{.name = {}, .style = Style::points, .x = {}, .y = {}}}};
  for (std::int64_t distance = -last; distance <= last; ++distance) {
    steps.series[0].x.push_back(static_cast<double>(distance));
    steps.series[0].y.push_back(row_of(distance, window));
  }
  for (const std::int64_t end : {-reach, reach}) {
    steps.marks.push_back({.at = static_cast<double>(end), .label = fmt::format("clip {}", end)});
  }
  return {.name = "shaw",
          .title = fmt::format("Shaw's window, clipped at {} tokens", reach),
          .caption =
              "Each distance within the window has a learned vector of its own; all that "
              "lies farther shares the vector of the window's end.",
          .panels = {window_matrix(last + 1, window), std::move(steps)},
          .columns = 2};
}

Figure t5(const Request& request) {
  const std::int64_t last = request.last.value_or(150);
  return {.name = "t5",
          .title = "T5: 32 buckets, distances up to 128",
          .caption =
              "Near distances have a bucket each, farther ones share ever wider buckets. "
              "Beyond 113 tokens (bidirectional: 91) all distances look alike.",
          .panels = {{.title = {},
                      .x = Axis{.label = "distance, key - query (tokens)"},
                      .y = Axis{.label = "bucket", .from = -1, .to = 32},
                      .series = {buckets(T5Direction::bidirectional, last),
                                 buckets(T5Direction::causal, last)}}}};
}

}  // namespace rotary::cli::plot

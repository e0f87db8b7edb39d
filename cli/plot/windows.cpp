// SPDX-License-Identifier: Apache-2.0
// Distances in other encodings: Shaw's window, T5's buckets, ALiBi's slopes, and the similarity of
// sinusoidal vectors.
#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "apps/failure.hpp"
#include "cli/plot/makers.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"

namespace rotary::cli::plot {
namespace {

double row_of(std::int64_t distance, const ShawWindow& window) {
  return static_cast<double>(value_or_fail(shaw_row(distance, window)));
}

// y(distance) from -last to last.
template <class Function>
Series by_distance(std::string_view name, Style style, std::int64_t last, Function y) {
  Integers distances(static_cast<std::size_t>(2 * last + 1));
  std::iota(distances.begin(), distances.end(), -last);
  return {.name = std::string(name),
          .style = style,
          .x = as_doubles(distances),
          .y = numbers_of(distances, y)};
}

Series buckets(T5Direction direction, std::int64_t last) {
  const bool is_causal = direction == T5Direction::causal;
  const T5Buckets t5{.buckets = 32, .max_distance = 128, .direction = direction};
  return by_distance(is_causal ? "causal (decoder)" : "bidirectional (encoder)", Style::steps, last,
                     [&](std::int64_t distance) { return value_or_fail(t5_bucket(distance, t5)); });
}

}  // namespace

Figure shaw(const Request& request) {
  const std::int64_t reach = request.dim.value_or(4);
  const std::int64_t last = request.last.value_or(std::min<std::int64_t>(3 * reach, 511));
  const ShawWindow window{.left = reach, .right = reach};
  Panel steps{.title = "by distance",
              .x = Axis{"distance, key - query (tokens)"},
              .y = Axis{.label = "row of the table",
                        .from = -0.5,
                        .to = static_cast<double>(window.rows()) - 0.5}};
  steps.series.push_back(by_distance(
      {}, Style::points, last, [&](std::int64_t distance) { return row_of(distance, window); }));
  for (const std::int64_t end : {-reach, reach}) {
    steps.marks.push_back({.at = static_cast<double>(end), .label = fmt::format("clip {}", end)});
  }
  const std::int64_t tokens = last + 1;
  HeatMap map{.rows = static_cast<std::size_t>(tokens),
              .columns = static_cast<std::size_t>(tokens),
              .label = "row of the table",
              .highest = static_cast<double>(window.rows() - 1)};
  for (std::int64_t query = 0; query < tokens; ++query)
    for (std::int64_t key = 0; key < tokens; ++key)
      map.values.push_back(row_of(key - query, window));
  Panel matrix{.title = fmt::format("{} queries and keys", tokens),
               .x = Axis{.label = "key"},
               .y = Axis{.label = "query"},
               .map = std::move(map),
               .aspect = Aspect::equal,
               .y_direction = YDirection::down};
  return {
      .title = fmt::format("Shaw's window, clipped at {} tokens", reach),
      .caption =
          "Each distance within the window has a learned vector of its own. All farther "
          "distances share the vector of the window's end. They are attended to all the same: only "
          "a mask hides them.",
      .panels = {std::move(matrix), std::move(steps)},
      .columns = 2};
}

Figure t5(const Request& request) {
  const std::int64_t last = request.last.value_or(150);
  return {.title = "T5: 32 buckets, distances up to 128",
          .caption =
              "Near distances have a bucket each, farther ones share ever wider buckets. "
              "Beyond 113 tokens (bidirectional: 91) all distances look alike.",
          .panels = {{.x = Axis{"distance, key - query (tokens)"},
                      .y = Axis{.label = "bucket", .from = -1, .to = 32},
                      .series = {buckets(T5Direction::bidirectional, last),
                                 buckets(T5Direction::causal, last)}}}};
}

Figure alibi(const Request& request) {
  constexpr std::int64_t most_lines = 6;  // more lines in a panel would be illegible
  const std::int64_t heads = request.dim.value_or(8);
  require(heads <= 32, "--dim of alibi, its heads, must be at most 32, got {}", heads);
  const std::int64_t last = request.last.value_or(256);
  std::vector<double> biases(static_cast<std::size_t>(heads * (last + 1)));
  const ScoresExtents extents{.heads = heads, .queries = 1, .keys = last + 1};
  const ScoresView view{biases.data(), DType::f64, extents, strides_bhqk(extents)};
  ok_or_fail(fill_distances(view, Alibi{.heads = heads}, -last));
  Integers distances = evenly(last, 100);
  for (std::int64_t& distance : distances) distance -= last;
  const std::int64_t panels = (heads + most_lines - 1) / most_lines;
  Figure figure{
      .title = fmt::format("Biases that ALiBi adds to scores, {} heads", heads),
      .caption =
          "In each head a score falls with distance, by the slope of that head. Softmax leaves "
          "nothing of a score that lost 20, so a head sees 20 / slope tokens back.",
      .columns = panels > 1 ? std::size_t{2} : std::size_t{1}};
  for (std::int64_t head = 0; head < heads; ++head) {
    if (head * panels / heads == std::ssize(figure.panels)) {
      figure.panels.push_back({.x = Axis{"distance, key - query (tokens)"},
                               .y = Axis{.label = "added to the score", .from = -20, .to = 0.5}});
    }
    const auto bias_at = [&](std::int64_t distance) {
      return biases[static_cast<std::size_t>(head * (last + 1) + last + distance)];
    };
    figure.panels.back().series.push_back(
        {.name = fmt::format("head {}, slope {:.3g}", head, bias_at(0) - bias_at(-1)),
         .x = as_doubles(distances),
         .y = numbers_of(distances, bias_at)});
  }
  return figure;
}

Figure sinusoidal(const Request& request) {
  const std::int64_t dim = request.dim.value_or(512);
  const std::int64_t last = request.last.value_or(128);
  constexpr std::int64_t most = std::int64_t{1} << 24;
  require(dim * last <= most, "--dim times --last of sinusoidal must be at most {}, got {}", most,
          dim * last);
  const std::vector<double> rows = sinusoidal_rows(evenly(last, last + 1), dim);
  const auto series_of = [&](std::string name, const auto& value_of) {
    Series series{.name = std::move(name), .x = counted(static_cast<std::size_t>(last + 1))};
    for (auto row = rows.begin(); row != rows.end(); row += dim) series.y.push_back(value_of(row));
    return series;
  };
  Panel waves{.title = "what is added to an embedding",
              .x = Axis{"position (tokens)"},
              .y = Axis{.label = "value of a feature", .from = -1.05, .to = 1.05}};
  // Even features are sines. The fastest sine has six positions a turn, too few for a line.
  for (const std::int64_t feature : {std::int64_t{0}, dim / 8 * 2, dim / 4 * 2}) {
    waves.series.push_back(
        series_of(fmt::format("feature {}", feature), [&](auto row) { return row[feature]; }));
    if (feature == 0) waves.series.back().style = Style::points;
  }
  Panel likeness{.title = "how alike two positions are",
                 .x = Axis{"distance r (tokens)"},
                 .y = Axis{"p(0) · p(r) / |p|²"}};
  likeness.series.push_back(series_of({}, [&](auto row) {
    return 2 * std::inner_product(row, row + dim, rows.begin(), 0.0) / static_cast<double>(dim);
  }));
  return {.title = fmt::format("Sinusoidal vectors p of {} features", dim),
          .caption =
              "Each pair of features is a wave of the position, from fast to slow. Near positions "
              "have similar vectors; the likeness falls in ripples, and stays above 0 for long, "
              "because the slow pairs hardly move.",
          .panels = {std::move(waves), std::move(likeness)},
          .columns = 2};
}

}  // namespace rotary::cli::plot

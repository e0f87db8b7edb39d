// SPDX-License-Identifier: Apache-2.0
#include "identify/all_tokens.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "identify/position_reading.hpp"

namespace rotary::identification {

double first_position_of(const Turning& turning, const Sample& sample) {
  const auto nonzero = std::ranges::find_if(sample.after, [](double value) { return value != 0; });
  const auto index = static_cast<std::size_t>(nonzero - sample.after.begin());
  const std::size_t token =
      std::min<std::size_t>(index / (sample.heads * sample.features), sample.tokens - 1);
  PositionReader reader(turning);
  const double expected = sample.positions_on(0)[token];
  return std::nearbyint(reader.read(sample, token).found.front() - expected);
}

std::optional<std::vector<double>> positions_of_sample(const Turning& turning,
                                                       const Sample& sample) {
  PositionReader reader(turning);
  std::vector<double> positions(reader.axes() * sample.tokens);
  for (std::size_t token = 0; token < sample.tokens; ++token) {
    const TokenReading reading = reader.read(sample, token);
    if (!reading.is_exact()) return std::nullopt;
    for (std::size_t axis = 0; axis < reader.axes(); ++axis)
      positions[axis * sample.tokens + token] = reading.found[axis];
  }
  return positions;
}

ReadPositions positions_of_all(const Dump& dump, const Reading& reading) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  constexpr std::int64_t elements_of_part = std::int64_t{1} << 20;
  PositionReader reader(reading.turning);
  const Extents& n = dump.before.extents;
  const std::int64_t rows = std::clamp<std::int64_t>(most_read / n.tokens, 1, n.batch);
  const std::int64_t tokens = std::min<std::int64_t>(n.tokens, most_read);
  ReadPositions all{
      .axes = static_cast<std::int64_t>(reader.axes()), .batch = rows, .tokens = tokens};
  const auto count = static_cast<std::size_t>(rows * tokens);
  all.expected.resize(reader.axes() * count);
  all.found.resize(reader.axes() * count, none);
  all.residuals.resize(count);
  all.aliases.resize(count, none);
  const std::int64_t step =
      std::clamp<std::int64_t>(elements_of_part / n.features / n.heads, 1, tokens);
  double error = 0;
  double seen = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t first = 0; first < tokens; first += step) {
      Sample part = dump.part(row, first, std::min<std::int64_t>(step, tokens - first));
      part.dtype = reading.dtype;
      for (double& position : part.positions) position += reading.first_position;
      if (reading.undone != nullptr) undo(*reading.undone, part);
      for (double& position : part.positions)
        position = position * reading.operation.position_factor + reading.operation.position_offset;
      for (std::size_t t = 0; t < part.tokens; ++t) {
        const TokenReading token = reader.read(part, t);
        const std::size_t at = static_cast<std::size_t>(row * tokens + first) + t;
        all.residuals[at] = token.residual;
        error = std::hypot(error, token.residual * token.seen);
        seen = std::hypot(seen, token.seen);
        if (token.alias) all.aliases[at] = *token.alias;
        for (std::size_t axis = 0; axis < reader.axes(); ++axis) {
          all.expected[axis * count + at] = part.positions_on(axis)[t];
          if (token.is_exact()) all.found[axis * count + at] = token.found[axis];
        }
        if (!token.is_exact()) ++all.unread;
      }
    }
  }
  if (seen > 0) all.residual = error / seen;
  return all;
}

}  // namespace rotary::identification

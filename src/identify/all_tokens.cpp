// SPDX-License-Identifier: Apache-2.0
#include "identify/all_tokens.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "identify/position_reading.hpp"

namespace rotary::identification {
namespace {

constexpr std::int64_t elements_of_part = std::int64_t{1} << 20;

// Reads the positions of tokens in order. Tries likely positions first: the expected one, the
// previous token's plus 1, the previous token's, and the expected one with the previous shift.
class Reader {
 public:
  explicit Reader(const Turning& turning) : reader_(turning) {}

  [[nodiscard]] std::size_t axes() const noexcept { return reader_.axes(); }

  TokenReading read(const Sample& sample, std::size_t token, const std::vector<double>& expected) {
    std::vector<std::vector<double>> hints = {expected};
    if (!found_.empty()) {
      std::vector<double> next = found_;
      for (double& position : next) ++position;
      std::vector<double> shifted = expected;
      for (std::size_t axis = 0; axis < axes(); ++axis)
        shifted[axis] += found_[axis] - expected_[axis];
      hints.insert(hints.end(), {next, found_, shifted});
    }
    TokenReading reading = reader_.read(sample, token, hints);
    if (reading.is_exact()) {
      found_ = reading.found;
      expected_ = expected;
    }
    return reading;
  }

  [[nodiscard]] std::vector<double> expected(const Sample& sample, std::size_t token) const {
    return reader_.expected(sample, token);
  }

 private:
  PositionReader reader_;
  std::vector<double> found_;  // of the last token whose position fits
  std::vector<double> expected_;
};

}  // namespace

double first_position_of(const Turning& turning, const Sample& sample) {
  const auto nonzero = std::ranges::find_if(sample.after, [](double value) { return value != 0; });
  const auto index = static_cast<std::size_t>(nonzero - sample.after.begin());
  const std::size_t token =
      std::min<std::size_t>(index / (sample.heads * sample.features), sample.tokens - 1);
  PositionReader reader(turning);
  const std::vector<double> expected = reader.expected(sample, token);
  return std::nearbyint(reader.read(sample, token, {expected}).found.front() - expected.front());
}

std::optional<std::vector<double>> positions_of_sample(const Turning& turning,
                                                       const Sample& sample) {
  Reader reader(turning);
  std::vector<double> positions(reader.axes() * sample.tokens);
  for (std::size_t token = 0; token < sample.tokens; ++token) {
    const TokenReading reading = reader.read(sample, token, reader.expected(sample, token));
    if (!reading.is_exact()) return std::nullopt;
    for (std::size_t axis = 0; axis < reader.axes(); ++axis)
      positions[axis * sample.tokens + token] = reading.found[axis];
  }
  return positions;
}

ReadPositions positions_of_all(const Dump& dump, const Reading& reading) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  Reader reader(reading.turning);
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
        const std::vector<double> expected = reader.expected(part, t);
        const TokenReading token = reader.read(part, t, expected);
        const std::size_t at = static_cast<std::size_t>(row * tokens + first) + t;
        all.residuals[at] = token.residual;
        error = std::hypot(error, token.residual * token.seen);
        seen = std::hypot(seen, token.seen);
        if (token.alias) all.aliases[at] = *token.alias;
        for (std::size_t axis = 0; axis < reader.axes(); ++axis) {
          all.expected[axis * count + at] = expected[axis];
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

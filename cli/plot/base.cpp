// SPDX-License-Identifier: Apache-2.0
// Which base a context asks for: the smallest one whose Σ_i cos(m ω_i) is at least 0 at every
// distance m below it (Men et al. 2024, arXiv 2405.14591). Where the sum is negative a key that
// equals the query scores below a random one.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cli/failure.hpp"
#include "cli/plot/makers.hpp"
#include "cli/plot/turning.hpp"

namespace rotary::cli::plot {
namespace {

constexpr double grid = 1.01;  // from one base to the next
constexpr double first_base = 1000;
constexpr std::int64_t most_work = std::int64_t{128} << 18;  // features times tokens: seconds

// The first distance below `end` at which the sum is negative, or end.
std::int64_t first_negative(const Frequencies& frequencies, std::int64_t end) {
  constexpr std::int64_t at_once = 512;
  for (std::int64_t first = 0; first < end; first += at_once) {
    const std::int64_t count = std::min(at_once, end - first);
    const Rotations rotations =
        value_or_fail(make_rotations(frequencies, ConsecutivePositions{first, count}));
    for (std::int64_t row = 0; row < count; ++row) {
      float sum = 0;
      for (const float cos : rotations.cos(0, row)) sum += cos;
      if (sum < 0) return first + row;
    }
  }
  return end;
}

Series needed_base(std::int64_t dim, std::int64_t last) {
  Series series{
      .name = fmt::format("smallest base, d = {}", dim), .style = Style::steps, .x = {}, .y = {}};
  std::int64_t reached = 1;
  for (double at = first_base; reached < last && at < 1e9; at *= grid) {
    const std::int64_t until = first_negative(plain_subject(dim, at).frequencies, last);
    if (until <= reached) continue;
    // Contexts beyond `reached` and up to `until` have this base.
    series.x.push_back(static_cast<double>(reached));
    series.y.push_back(at);
    reached = until;
  }
  if (series.y.empty()) return series;  // contexts of one token, which any base serves
  series.x.push_back(static_cast<double>(reached));
  series.y.push_back(series.y.back());
  return series;
}

// As far as the models that are drawn were trained, and as what many of them are now.
std::int64_t usual_last(const Request& request, std::int64_t dim) {
  std::int64_t last = 131'072;
  for (const Subject& subject : request.subjects)
    last = std::max(last, subject.trained_context_tokens.value_or(0));
  return std::min(last, most_work / dim);
}

}  // namespace

Figure base(const Request& request) {
  const std::int64_t dim = request.dim.value_or(
      request.subjects.empty() ? 128 : request.subjects.front().frequencies.window.rotary_dim);
  const std::int64_t last = request.last ? *request.last : usual_last(request, dim);
  if (dim * last > most_work) {
    throw Failure(ExitCode::usage,
                  fmt::format("head_dim times --last must be at most {} for base, got {}",
                              most_work, dim * last));
  }
  Panel panel{.title = {},
              .x = Axis{.label = "context (tokens)", .scale = Scale::logarithmic, .from = 256},
              .y = Axis{.label = "base", .scale = Scale::logarithmic}};
  panel.series.push_back(needed_base(dim, last));
  for (const Subject& subject : request.subjects) {
    if (!subject.trained_context_tokens) continue;
    panel.series.push_back({.name = subject.name,
                            .style = Style::points,
                            .x = {static_cast<double>(*subject.trained_context_tokens)},
                            .y = {subject.spec.base.get()}});
  }
  return {.name = "base",
          .title = "The base that a context asks for",
          .caption =
              "The smallest base, tried in steps of 1 %, with which a key that equals the "
              "query scores no less than a random one, Σ cos(m ω) >= 0, at every distance m "
              "within the context; the sum is over the frequencies ω of d/2 pairs of features. "
              "Some larger bases fail again.",
          .panels = {std::move(panel)}};
}

}  // namespace rotary::cli::plot

// SPDX-License-Identifier: Apache-2.0
// Each feature has its own angle. All cos and sin are the rows of a head twice as wide, with one
// pair for each feature. There is no kernel, because only two models have two angles.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "base/enumerators.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "base/pairing.hpp"
#include "rotary/position_maps.hpp"
#include "tensor/element_runs.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

Status check_two_angles(const HeadWindow& window, std::size_t inv_freq, const PairAxes& axes) {
  if (!is_enumerator(window.pairing.get()) || !keeps_order(window.pairing) || window.blocks != 1) {
    return invalid_argument("window: pairing must be half or interleaved in 1 block, got value ",
                            static_cast<std::int32_t>(window.pairing.get()), " in ", window.blocks);
  }
  // The difference cannot overflow, because first_feature is at most head_dim.
  const bool fits = window.rotary_dim >= 2 && window.rotary_dim % 2 == 0 &&
                    window.first_feature >= 0 && window.first_feature <= window.head_dim &&
                    window.rotary_dim <= window.head_dim - window.first_feature &&
                    window.head_dim <= std::int64_t{1} << 30;
  if (!fits) {
    return invalid_argument(
        "window: rotary_dim must be even, >= 2 and within a head of at most 2^30 features, got ",
        window.rotary_dim, " from feature ", window.first_feature, " of ", window.head_dim);
  }
  if (static_cast<std::int64_t>(inv_freq) != window.rotary_dim) {
    return invalid_argument("inv_freq must have one entry for each of the ", window.rotary_dim,
                            " features of the window, got ", inv_freq);
  }
  if (!axes.is_dense()) return {};
  return invalid_argument("axes must name the axis of each feature, got dense axes");
}

Result<TwoAngles> made(const HeadWindow& window, std::vector<double> inv_freq, PairAxes axes) {
  if (auto status = check_two_angles(window, inv_freq.size(), axes); !status) return status.error();
  const HeadWindow doubled{.head_dim = 2 * window.rotary_dim,
                           .rotary_dim = 2 * window.rotary_dim,
                           .pairing = Pairing::half};
  auto of_features = make_frequencies(doubled, std::move(inv_freq), 1, std::move(axes));
  if (!of_features) return std::move(of_features).error();
  return TwoAngles{.window = window, .of_features = *std::move(of_features)};
}

double frequency(double base, std::size_t place, std::size_t pairs) {
  return std::pow(base, -static_cast<double>(place) / static_cast<double>(pairs));
}

// Pairs of a head that are processed at a time.
struct PairRun {
  std::int64_t first;  // counted from the window's first pair
  std::int64_t count;
};

// The first features of the pairs, and the second ones.
template <class View, class Byte>
std::array<ElementRunOf<Byte>, 2> runs_of(const View& view, std::int64_t head_offset,
                                          const HeadWindow& window, const PairRun& run) {
  const bool halves = reads_halves(window.pairing);
  const std::int64_t step = halves ? 1 : 2;
  const std::int64_t apart = halves ? window.pairs() : 1;
  const std::int64_t bytes = size_in_bytes(view.dtype);
  const auto at = [&](std::int64_t feature) {
    const std::int64_t offset =
        head_offset + (window.first_feature + feature) * view.strides.feature;
    return ElementRunOf<Byte>{.data = static_cast<Byte*>(view.data) + offset * bytes,
                              .dtype = view.dtype,
                              .stride = step * view.strides.feature,
                              .count = run.count};
  };
  return {at(run.first * step), at(run.first * step + apart)};
}

struct HeadAt {
  std::int64_t src;  // offset of feature 0, in elements
  std::int64_t dst;
};

void turn_head(const HeadsView& dst, const ConstHeadsView& src, const HeadAt& at,
               const HeadWindow& window, std::span<const double> cos, std::span<const double> sin) {
  const bool halves = reads_halves(window.pairing);
  RunValues x;
  RunValues y;
  for (std::int64_t first = 0; first < window.pairs(); first += run_features) {
    const PairRun run{first, std::min(run_features, window.pairs() - first)};
    const auto from = runs_of<ConstHeadsView, const std::byte>(src, at.src, window, run);
    load_run(from[0], x.data());
    load_run(from[1], y.data());
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t pair = first + i;
      const auto a = static_cast<std::size_t>(halves ? pair : 2 * pair);
      const std::size_t b = a + static_cast<std::size_t>(halves ? window.pairs() : 1);
      const auto in = std::pair(x[static_cast<std::size_t>(i)], y[static_cast<std::size_t>(i)]);
      x[static_cast<std::size_t>(i)] = in.first * cos[a] - in.second * sin[a];
      y[static_cast<std::size_t>(i)] = in.second * cos[b] + in.first * sin[b];
    }
    const auto to = runs_of<HeadsView, std::byte>(dst, at.dst, window, run);
    store_run(x.data(), to[0]);
    store_run(y.data(), to[1]);
  }
}

void copy_features(const HeadsView& dst, const ConstHeadsView& src, const HeadAt& at,
                   std::int64_t begin, std::int64_t end) {
  const std::int64_t bytes = size_in_bytes(dst.dtype);
  for (std::int64_t f = begin; f < end; ++f) {
    const auto* const from =
        static_cast<const std::byte*>(src.data) + (at.src + f * src.strides.feature) * bytes;
    std::copy_n(from, bytes,
                static_cast<std::byte*>(dst.data) + (at.dst + f * dst.strides.feature) * bytes);
  }
}

void apply_all(const HeadsView& dst, const ConstHeadsView& src, const TwoAngleRows& rows) {
  const Extents& n = dst.extents;
  const HeadWindow& window = rows.window;
  const std::int64_t end = window.first_feature + window.rotary_dim;
  const bool in_place = src == ConstHeadsView(dst);
  const auto offset = [](const Strides& s, std::int64_t b, std::int64_t t, std::int64_t h) {
    return b * s.batch + t * s.token + h * s.head;
  };
  for (std::int64_t b = 0; b < n.batch; ++b) {
    for (std::int64_t t = 0; t < n.tokens; ++t) {
      const std::int64_t row_batch = rows.rows.batch() == 1 ? 0 : b;
      const auto cos = rows.rows.cos<double>(row_batch, t);
      const auto sin = rows.rows.sin<double>(row_batch, t);
      for (std::int64_t h = 0; h < n.heads; ++h) {
        const HeadAt at{.src = offset(src.strides, b, t, h), .dst = offset(dst.strides, b, t, h)};
        turn_head(dst, src, at, window, cos, sin);
        if (in_place) continue;
        copy_features(dst, src, at, 0, window.first_feature);
        copy_features(dst, src, at, end, window.head_dim);
      }
    }
  }
}

Status check_fit(std::string_view name, const ConstHeadsView& view, const TwoAngleRows& rows) {
  if (auto status = check_dtype(name, view.dtype); !status) return status;
  if (auto status = check_extents(name, view.extents); !status) return status;
  const Extents& n = view.extents;
  const bool fits = n.features == rows.window.head_dim && n.tokens == rows.rows.tokens() &&
                    (rows.rows.batch() == 1 || rows.rows.batch() == n.batch);
  if (!fits) {
    return invalid_argument(name, ": the view must have ", rows.window.head_dim, " features, ",
                            rows.rows.tokens(), " tokens and batch ", rows.rows.batch(),
                            rows.rows.batch() == 1 ? ", which serves any" : "", "; got extents ",
                            describe(n));
  }
  return check_memory(name, view);
}

Status check(const HeadsView& dst, const ConstHeadsView& src, const TwoAngleRows& rows) {
  const auto per_token = rows.rows.cos<double>(0, 0).size();
  if (auto status = check_two_angles(rows.window, per_token, {}); !status) return status;
  if (auto status = check_fit("dst", dst, rows); !status) return status;
  if (auto status = check_distinct("dst", dst); !status) return status;
  if (src == ConstHeadsView(dst)) return {};
  if (auto status = check_fit("src", src, rows); !status) return status;
  if (dst.dtype != src.dtype || dst.extents != src.extents) {
    return invalid_argument("dst and src must have the same dtype and extents, got ",
                            to_string(dst.dtype), ' ', describe(dst.extents), " and ",
                            to_string(src.dtype), ' ', describe(src.extents));
  }
  return check_apart("dst", dst, "src", src);
}

}  // namespace

Result<TwoAngles> make_two_angles(const HeadWindow& window, std::vector<double> inv_freq,
                                  PairAxes axes) noexcept {
  return guarded<NearestRounding>(
      [&]() { return made(window, std::move(inv_freq), std::move(axes)); });
}

Result<TwoAngles> hunyuan_vl_two_angles(std::int64_t head_dim, double base,
                                        const std::vector<std::int64_t>& sections) noexcept {
  return guarded<NearestRounding>([&]() -> Result<TwoAngles> {
    if (!(base > 1) || !std::isfinite(base))
      return invalid_argument("base must be > 1 and finite, got ", base);
    const HeadWindow window{.head_dim = head_dim, .rotary_dim = head_dim, .pairing = Pairing::half};
    PairAxes axes{.count = static_cast<std::int64_t>(sections.size())};
    std::int64_t left = head_dim / 2;
    for (const std::int64_t pairs : sections) {
      if (sections.size() > max_axes || pairs < 1 || pairs > left) {
        left = -1;
        break;
      }
      left -= pairs;
    }
    if (left != 0 || head_dim < 2 || head_dim % 2 != 0 || head_dim > std::int64_t{1} << 30) {
      return invalid_argument("sections must have at most ", max_axes,
                              " entries, each >= 1, that sum to half of an even head_dim; got ",
                              sections.size(), " sections for head_dim ", head_dim);
    }
    for (std::size_t axis = 0; axis < sections.size(); ++axis)
      axes.of_pair.insert(axes.of_pair.end(), static_cast<std::size_t>(2 * sections[axis]),
                          static_cast<std::int32_t>(axis));
    const auto pairs = static_cast<std::size_t>(head_dim / 2);
    std::vector<double> inv_freq(2 * pairs);
    for (std::size_t pair = 0; pair < pairs; ++pair)
      inv_freq[pair] = inv_freq[pairs + pair] = frequency(base, pair, pairs);
    if (axes.count == 1) axes.of_pair.clear();
    return made(window, std::move(inv_freq), std::move(axes));
  });
}

Result<TwoAngles> vjepa2_two_angles(std::int64_t head_dim) noexcept {
  return guarded<NearestRounding>([&]() -> Result<TwoAngles> {
    if (head_dim < 6 || head_dim > std::int64_t{1} << 30)
      return invalid_argument("head_dim must be from 6 to 2^30, got ", head_dim);
    constexpr std::int64_t frame_row_column = 3;
    const std::int64_t part = 2 * (head_dim / frame_row_column / 2);  // features of an axis
    const auto pairs = static_cast<std::size_t>(part / 2);
    std::vector<double> inv_freq;
    PairAxes axes{.count = frame_row_column};
    for (std::int32_t axis = 0; axis < frame_row_column; ++axis) {
      for (std::size_t f = 0; f < 2 * pairs; ++f) {
        inv_freq.push_back(frequency(10000, f % pairs, pairs));
        axes.of_pair.push_back(axis);
      }
    }
    const HeadWindow window{.head_dim = head_dim,
                            .rotary_dim = frame_row_column * part,
                            .pairing = Pairing::interleaved};
    return made(window, std::move(inv_freq), std::move(axes));
  });
}

Result<TwoAngleRows> make_two_angle_rows(const TwoAngles& angles,
                                         const Positions& positions) noexcept {
  return guarded([&]() -> Result<TwoAngleRows> {
    const PairAxes& axes = angles.of_features.axes;
    const std::size_t count = angles.of_features.inv_freq.size();
    if (auto status = check_two_angles(angles.window, count, axes); !status) return status.error();
    auto rows = make_rotations(angles.of_features, positions, {.rows = RowDType::f64});
    if (!rows) return std::move(rows).error();
    return TwoAngleRows{.window = angles.window, .rows = *std::move(rows)};
  });
}

Status apply_two_angles(HeadsView dst, ConstHeadsView src, const TwoAngleRows& rows) noexcept {
  return guarded<NearestRounding>([&]() -> Status {
    dst = without_unused_strides(dst);
    src = without_unused_strides(src);
    if (auto status = check(dst, src, rows); !status) return status;
    // Empty views need no work, whatever their other sizes.
    const bool is_empty = dst.extents.tokens == 0 || dst.extents.heads == 0;
    if (!is_empty) apply_all(dst, src, rows);
    return {};
  });
}

}  // namespace rotary

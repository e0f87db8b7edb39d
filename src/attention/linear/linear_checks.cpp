// SPDX-License-Identifier: Apache-2.0
#include "attention/linear/linear_checks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/message.hpp"
#include "rotation/apply/rotate_checks.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

constexpr std::int64_t most_features = 65536;

// The limit of attend(). Views with stride 0 can claim any number of keys.
constexpr std::int64_t most_keys = std::int64_t{1} << 31;

Status check_options(const LinearAttentionOptions& options) {
  if (options.mask != LinearMask::causal && options.mask != LinearMask::bidirectional) {
    return invalid_argument("mask must be causal or bidirectional, got value ",
                            static_cast<std::int32_t>(options.mask));
  }
  if (options.epsilon >= 0 && std::isfinite(options.epsilon)) return {};
  return invalid_argument("epsilon must be finite and >= 0, got ", options.epsilon);
}

Status check_input(std::string_view name, const ConstHeadsView& view, DType dtype) {
  if (auto status = check_view(name, view); !status) return status;
  if (auto status = check_adjacent_features(name, view); !status) return status;
  if (view.dtype != dtype) {
    return invalid_argument("q, k, v and out must have the same dtype, got ", to_string(dtype),
                            " and, of ", name, ", ", to_string(view.dtype));
  }
  if (view.extents.features <= most_features) return {};
  return invalid_argument(name, ": features must be at most ", most_features, ", got ",
                          view.extents.features);
}

Status check_shapes(const LinearHeads& heads, const LinearAttentionOptions& options) {
  const Extents& q = heads.q.extents;
  const Extents& k = heads.k.extents;
  const Extents& v = heads.v.extents;
  if (v.batch != k.batch || v.tokens != k.tokens || v.heads != k.heads) {
    return invalid_argument("k and v must have the same batch, tokens and heads, got ", describe(k),
                            " and ", describe(v));
  }
  if (q.batch != k.batch || q.features != k.features) {
    return invalid_argument("q and k must have the same batch and features, got ", describe(q),
                            " and ", describe(k));
  }
  if (k.heads == 0 ? q.heads != 0 : q.heads % k.heads != 0) {
    return invalid_argument("the heads of q must be a multiple of those of k, got ", q.heads,
                            " and ", k.heads);
  }
  if (has_elements(k) && k.tokens > most_keys) {
    return invalid_argument("at most ", most_keys, " keys can be attended to, got ", k.tokens);
  }
  const bool same_tokens = options.mask == LinearMask::causal || options.segments.has_value();
  if (!same_tokens || q.tokens == k.tokens) return {};
  return invalid_argument(
      "q and k must have the same tokens in causal attention and with segments, "
      "got ",
      q.tokens, " and ", k.tokens);
}

Result<LinearSizes> sizes_of(const LinearHeads& heads, const FeatureMap& map) {
  const std::int64_t head_dim = heads.q.extents.features;
  LinearSizes sizes{.features = head_dim, .v_features = heads.v.extents.features};
  const std::int64_t tokens = std::max(heads.q.extents.tokens, heads.k.extents.tokens);
  sizes.tokens = padded(std::min(tokens, most_tokens_at_once));
  const auto* const random = std::get_if<PositiveRandomFeatures>(&map);
  if (random == nullptr) return sizes;
  if (!(random->softmax_scale > 0) || !std::isfinite(random->softmax_scale)) {
    return invalid_argument("softmax_scale must be finite and > 0, got ", random->softmax_scale);
  }
  const auto count = static_cast<std::int64_t>(random->directions.size());
  if (head_dim < 1 || count < head_dim || count % head_dim != 0 ||
      count / head_dim > most_features) {
    return invalid_argument("directions must be [head_dim][features] with 1 to ", most_features,
                            " features and a head_dim >= 1, got ", count,
                            " numbers for a head_dim of ", head_dim);
  }
  sizes.features = count / head_dim;
  sizes.directions = head_dim;
  return sizes;
}

Status check_rotations(std::string_view name, const Rotations& rotations, Extents extents,
                       DType rows) {
  if (rotations.role()) {
    return invalid_argument(name, ": rotations must have no role, got rows of xPos for role ",
                            to_string(*rotations.role()));
  }
  if (rotations.attention_factor() != 1) {
    return invalid_argument(name,
                            ": rotations must have an attention_factor of 1, since they turn "
                            "the numerator alone; got ",
                            rotations.attention_factor());
  }
  if (auto status = check_extents(name, extents, rotations); !status) return status;
  const RowDType wanted = rows == DType::f64 ? RowDType::f64 : RowDType::f32;
  if (rotations.row_dtype() != wanted) {
    return invalid_argument(name, ": rotations must have ", to_string(rows),
                            " rows (RowDType::", to_string(rows), " in RotationsOptions), got ",
                            to_string(rows == DType::f64 ? DType::f32 : DType::f64), " rows");
  }
  if (!rotations.tensors() || *rotations.tensors() == rows) return {};
  return invalid_argument(name, ": rotations must be for features in ", to_string(rows),
                          ", got rotations for ", to_string(*rotations.tensors()),
                          " (tensors in RotationsOptions)");
}

// Checks rotations of mapped features, which are float32, or double for f64 views.
Status check_rotations(const NumeratorRotations& rotations, const LinearHeads& heads,
                       const LinearSizes& sizes) {
  const DType rows = heads.q.dtype == DType::f64 ? DType::f64 : DType::f32;
  Extents q = heads.q.extents;
  Extents k = heads.k.extents;
  q.features = k.features = sizes.features;
  if (auto status = check_rotations("mapped q", rotations.q, q, rows); !status) return status;
  if (auto status = check_rotations("mapped k", rotations.k, k, rows); !status) return status;
  const HeadWindow& a = rotations.q.window();
  const HeadWindow& b = rotations.k.window();
  if (a == b) return {};
  return invalid_argument(
      "the rotations of q and k must turn the same features in the same pairs, "
      "got ",
      a.rotary_dim, " from ", a.first_feature, " and ", b.rotary_dim, " from ", b.first_feature);
}

Status check_segments(const SegmentMap& map, const Extents& k) {
  if (map.axes != 1) return invalid_argument("segments must have 1 axis, got ", map.axes);
  if (map.tokens != k.tokens || (map.batch != 1 && map.batch != k.batch)) {
    return invalid_argument("segments must have the tokens of k and its batch or 1, ", k.tokens,
                            " and ", k.batch, "; got ", map.tokens, " and ", map.batch);
  }
  return check_view("segments", heads_view(map));
}

Status check_numbers(std::string_view name, std::span<const double> numbers,
                     std::array<std::int64_t, 4> shape) {
  std::int64_t count = 1;
  bool fits = true;
  for (const std::int64_t each : shape) {
    fits = !__builtin_mul_overflow(count, each, &count) && fits;
  }
  if (!fits || static_cast<std::int64_t>(numbers.size()) != count) {
    return invalid_argument(name, ": must hold batch x heads x features x v features numbers, ",
                            shape[0], " x ", shape[1], " x ", shape[2], " x ", shape[3], "; got ",
                            numbers.size());
  }
  return check_view(name, heads_view(numbers));
}

Status check_state(const LinearState& state, const Extents& k, const LinearSizes& sizes) {
  const std::int64_t v_features = sizes.v_features;
  if (auto status = check_numbers("state.values", state.values,
                                  {k.batch, k.heads, sizes.features, v_features});
      !status) {
    return status;
  }
  if (auto status = check_numbers("state.keys", state.keys, {k.batch, k.heads, sizes.features, 1});
      !status) {
    return status;
  }
  return check_numbers("state.exponents", state.exponents, {k.batch, k.heads, 1, 1});
}

struct Named {
  std::string_view name;
  ConstHeadsView view;
};

Status check_all_apart(std::span<const Named> written, std::span<const Named> read) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (const Named& other : written.subspan(i + 1)) {
      auto status = check_apart(written[i].name, written[i].view, other.name, other.view);
      if (!status) return status;
    }
    for (const Named& other : read) {
      auto status = check_apart(written[i].name, written[i].view, other.name, other.view);
      if (!status) return status;
    }
  }
  return {};
}

std::span<const std::byte> rows_of(const Rotations& rotations) {
  const std::int64_t bytes = rotations.row_dtype() == RowDType::f64 ? 8 : 4;
  const std::int64_t rows =
      rotations.row_stride() == 0 ? 1 : rotations.batch() * rotations.tokens();
  return {rotations.data(), static_cast<std::size_t>(rows * 2 * rotations.lane_stride() * bytes)};
}

}  // namespace

Result<LinearSizes> check_linear_inputs(const LinearHeads& heads, const FeatureMap& map,
                                        const LinearAttentionOptions& options) {
  if (auto status = check_options(options); !status) return status.error();
  for (const Named& each : {Named{"q", heads.q}, Named{"k", heads.k}, Named{"v", heads.v}}) {
    if (auto status = check_input(each.name, each.view, heads.q.dtype); !status) {
      return status.error();
    }
  }
  if (auto status = check_shapes(heads, options); !status) return status.error();
  auto sizes = sizes_of(heads, map);
  if (!sizes) return sizes;
  if (options.rotations) {
    auto status = check_rotations(*options.rotations, heads, *sizes);
    if (!status) return status.error();
    sizes->turning = Turning::by_rotations;
  }
  if (options.segments) {
    auto status = check_segments(*options.segments, heads.k.extents);
    if (!status) return status.error();
  }
  if (options.state) {
    auto status = check_state(*options.state, heads.k.extents, *sizes);
    if (!status) return status.error();
    sizes->sums = Sums::of_caller;
  }
  return sizes;
}

Status check_linear_outputs(const HeadsView& out, const LinearHeads& heads, const FeatureMap& map,
                            const LinearAttentionOptions& options, std::span<std::byte> memory) {
  if (auto status = check_input("out", out, heads.q.dtype); !status) return status;
  Extents wanted = heads.q.extents;
  wanted.features = heads.v.extents.features;
  if (out.extents != wanted) {
    return invalid_argument("out must have the extents of q with the features of v, ",
                            describe(wanted), "; got ", describe(out.extents));
  }
  if (auto status = check_distinct("out", out); !status) return status;
  const LinearState state = options.state.value_or(LinearState{});
  const std::array written = {
      Named{"out", out}, Named{"state.values", heads_view(state.values)},
      Named{"state.keys", heads_view(state.keys)},
      Named{"state.exponents", heads_view(state.exponents)},
      Named{"memory", heads_view(std::span(reinterpret_cast<double*>(memory.data()),
                                           memory.size() / sizeof(double)))}};
  const auto* const random = std::get_if<PositiveRandomFeatures>(&map);
  const auto directions = random == nullptr ? std::span<const float>() : random->directions;
  const ConstHeadsView none = heads_view(std::span<const float>());
  const std::array read = {
      Named{"q", heads.q},
      Named{"k", heads.k},
      Named{"v", heads.v},
      Named{"segments", options.segments ? heads_view(*options.segments) : none},
      Named{"directions", heads_view(directions)},
      Named{"the rotations of q",
            options.rotations ? heads_view(rows_of(options.rotations->q)) : none},
      Named{"the rotations of k",
            options.rotations ? heads_view(rows_of(options.rotations->k)) : none}};
  return check_all_apart(written, read);
}

}  // namespace rotary

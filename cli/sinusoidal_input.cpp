// SPDX-License-Identifier: Apache-2.0
#include "cli/sinusoidal_input.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "apps/failure.hpp"
#include "cli/tensor_input.hpp"
#include "cli/text_table.hpp"
#include "rotary/positions.hpp"

namespace rotary::cli {
namespace {

constexpr std::string_view general = "sinusoidal";
constexpr std::string_view padded = "fairseq";

// A name and its spec. Options complete the specs of `fairseq` and `sinusoidal`.
using Known = std::pair<std::string_view, SinusoidalSpec (*)(std::int64_t)>;
constexpr std::array<Known, 6> known = {{
    {"transformer", transformer_sinusoidal},
    {"marian", marian_sinusoidal},
    {"whisper", whisper_sinusoidal},
    {"musicgen", musicgen_sinusoidal},
    {padded, whisper_sinusoidal},
    {general, transformer_sinusoidal},
}};

}  // namespace

std::vector<std::string_view> sinusoidal_names() {
  std::vector<std::string_view> names;
  names.reserve(known.size());
  for (const auto& [name, make] : known) names.push_back(name);
  return names;
}

SinusoidalSpec read_sinusoidal(const SinusoidalName& like, const SinusoidalOptions& options,
                               std::int64_t dim) {
  const std::string_view name = like.name;
  SinusoidalSpec spec = choose_by(&Known::first, like.option, name, known).second(dim);
  require(name == general || (!options.layout && !options.spacing),
          "--layout and --spacing are for sinusoidal: {} has its own", name);
  require(name == padded || !options.padding_idx, "--padding-idx is for fairseq: {} has no padding",
          name);
  if (name == general) {
    require(options.layout && options.spacing,
            "sinusoidal needs --layout (interleaved, sin_then_cos or cos_then_sin) and --spacing "
            "(even or ends)");
    spec.layout = *options.layout;
    spec.spacing = *options.spacing;
  }
  if (name == padded) {
    require(!options.offset,
            "--offset is not for fairseq, whose positions begin at --padding-idx + 1");
    require(options.padding_idx.has_value(),
            "fairseq needs --padding-idx N, the id of its padding token (1 in most models): its "
            "positions begin behind it");
    spec = fairseq_sinusoidal(dim, *options.padding_idx);
  }
  if (options.base) spec.base = *options.base;
  if (options.offset) spec.position_offset = *options.offset;
  return spec;
}

SinusoidalRows make_rows(const SinusoidalName& like, const SinusoidalOptions& options,
                         const RowsRequest& request) {
  const std::int64_t dim = request.dim;
  const Sinusoidal sinusoidal = value_or_fail(make_sinusoidal(read_sinusoidal(like, options, dim)));
  const DType dtype = request.dtype;
  SinusoidalRows rows{.spec = sinusoidal.spec,
                      .dtype = dtype,
                      .positions = request.positions.numbers(
                          {.numbers_each = static_cast<std::uint64_t>(dim), .out = request.out}),
                      .numbers = {.type = npy_type(dtype), .shape = {}, .data = {}}};
  const TokenExtents extents{.tokens = static_cast<std::int64_t>(rows.positions.size()),
                             .features = dim};
  rows.numbers.shape = {extents.tokens, dim};
  rows.numbers.data.resize(static_cast<std::size_t>(extents.tokens * dim) *
                           size_in_bytes(rows.numbers.type));
  const TokensView view{.data = rows.numbers.data.data(),
                        .dtype = dtype,
                        .extents = extents,
                        .strides = strides_btd(extents)};
  ok_or_fail(fill_sinusoidal(view, sinusoidal, positions_of(rows.positions)));
  return rows;
}

std::string rows_text(const SinusoidalRows& rows) {
  const std::vector<double> numbers = rows.numbers.doubles();
  const auto dim = static_cast<std::size_t>(rows.spec.dim);
  const int digits = rows.dtype == DType::f64 ? 17 : 9;
  return text_table({{"position"}, {"feature", 7}, {"value", 24}}, numbers.size(),
                    [&](std::size_t row, std::size_t column) {
                      if (column == 0) return fmt::format("{}", rows.positions[row / dim]);
                      if (column == 1) return fmt::format("{}", row % dim);
                      return fmt::format("{:.{}g}", numbers[row], digits);
                    });
}

Json sinusoidal_json(std::string_view name, const SinusoidalSpec& spec) {
  return {{"like", name},
          {"layout", to_string(spec.layout)},
          {"spacing", to_string(spec.spacing)},
          {"base", spec.base.get()},
          {"zero_position", spec.zero_position}};
}

std::string sinusoidal_text(const SinusoidalSpec& spec) {
  return fmt::format("sinusoidal {}, spacing {}, base {}, offset {}", to_string(spec.layout),
                     to_string(spec.spacing), spec.base.get(), spec.position_offset);
}

}  // namespace rotary::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/sinusoidal_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/failure.hpp"
#include "cli/position_list.hpp"
#include "cli/tensor_input.hpp"
#include "rotary/positions.hpp"

namespace rotary::cli {
namespace {

constexpr std::string_view general = "sinusoidal";
constexpr std::string_view padded = "fairseq";

// The paper's where a name says no more.
constexpr std::array<std::pair<std::string_view, SinusoidalSpec (*)(std::int64_t)>, 6> known = {{
    {"transformer", transformer_sinusoidal},
    {"marian", marian_sinusoidal},
    {"whisper", whisper_sinusoidal},
    {"musicgen", musicgen_sinusoidal},
    {padded, whisper_sinusoidal},
    {general, transformer_sinusoidal},
}};

template <class Enum, std::size_t count>
Enum choose_among(std::string_view option, std::string_view text,
                  const std::array<Enum, count>& all) {
  std::vector<std::pair<std::string_view, Enum>> choices;
  choices.reserve(count);
  for (const Enum each : all) choices.emplace_back(to_string(each), each);
  return choose<Enum>(option, text, choices);
}

void read_general(SinusoidalSpec& spec, const SinusoidalOptions& options) {
  if (!options.layout || !options.spacing) {
    throw Failure(
        ExitCode::usage,
        "sinusoidal needs --layout (interleaved, sin_then_cos or cos_then_sin) and --spacing "
        "(even or ends)");
  }
  spec.layout = choose_among("--layout", *options.layout, all_sinusoidal_layouts);
  spec.spacing = choose_among("--spacing", *options.spacing, all_sinusoidal_spacings);
}

void read_padded(SinusoidalSpec& spec, const SinusoidalOptions& options) {
  if (!options.padding_idx) {
    throw Failure(
        ExitCode::usage,
        "fairseq needs --padding-idx N, the id of its padding token (1 in most models): its "
        "positions begin behind it");
  }
  const std::int64_t padding = parse_int64("--padding-idx", *options.padding_idx);
  if (padding < 0 || padding == INT64_MAX)
    throw Failure(ExitCode::usage,
                  fmt::format("--padding-idx must be in [0, 2^63 - 1), got {}", padding));
  spec = fairseq_sinusoidal(spec.dim, padding);
}

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
  const auto row = std::ranges::find(known, name, [](const auto& each) { return each.first; });
  if (row == known.end()) fail_choice(like.option, name, sinusoidal_names());
  SinusoidalSpec spec = row->second(dim);
  if (name != general && (options.layout || options.spacing))
    throw Failure(ExitCode::usage,
                  fmt::format("--layout and --spacing are for sinusoidal: {} has its own", name));
  if (name != padded && options.padding_idx)
    throw Failure(ExitCode::usage,
                  fmt::format("--padding-idx is for fairseq: {} has no padding", name));
  if (name == general) read_general(spec, options);
  if (name == padded && options.offset)
    throw Failure(ExitCode::usage,
                  "--offset is not for fairseq, whose positions begin at --padding-idx + 1");
  if (name == padded) read_padded(spec, options);
  if (options.base) spec.base = parse_double("--base", *options.base);
  if (options.offset) spec.position_offset = parse_int64("--offset", *options.offset);
  return spec;
}

SinusoidalRows make_rows(const SinusoidalName& like, const SinusoidalOptions& options,
                         const RowsRequest& request) {
  if (request.positions.ends_with(".npy")) {
    throw Failure(
        ExitCode::usage,
        fmt::format("--positions must be a list here, such as 0:16; got '{}', and a file is for "
                    "rotary encode --x",
                    request.positions));
  }
  const std::int64_t dim = parse_int64("--dim", request.dim);
  const Sinusoidal sinusoidal = value_or_fail(make_sinusoidal(read_sinusoidal(like, options, dim)));
  const DType dtype = parse_answer_dtype(request.dtype, request.out);
  SinusoidalRows rows{.spec = sinusoidal.spec,
                      .dtype = dtype,
                      .positions = parse_positions(
                          "--positions", request.positions,
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
  std::size_t width = std::string_view("position").size();
  for (const std::int64_t position : rows.positions)
    width = std::max(width, fmt::formatted_size("{}", position));
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{:>{}}  {:>7}  {:>24}\n", "position", width, "feature", "value");
  const int digits = rows.dtype == DType::f64 ? 17 : 9;
  const auto dim = static_cast<std::size_t>(rows.spec.dim);
  const std::vector<double> numbers = rows.numbers.doubles();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    fmt::format_to(out, "{:>{}}  {:>7}  {:>24.{}g}\n", rows.positions[i / dim], width, i % dim,
                   numbers[i], digits);
  }
  return text;
}

void write_sinusoidal(JsonWriter& json, std::string_view name, const SinusoidalSpec& spec) {
  json.begin_object();
  json.member("like", name);
  json.member("layout", to_string(spec.layout));
  json.member("spacing", to_string(spec.spacing));
  json.member("base", spec.base.get());
  json.member("zero_position", spec.zero_position);
  json.end_object();
}

std::string sinusoidal_text(const SinusoidalSpec& spec) {
  return fmt::format("sinusoidal {}, spacing {}, base {}, offset {}", to_string(spec.layout),
                     to_string(spec.spacing), spec.base.get(), spec.position_offset);
}

void write_rows(JsonWriter& json, const SinusoidalRows& rows) {
  const auto dim = static_cast<std::size_t>(rows.spec.dim);
  const std::vector<double> numbers = rows.numbers.doubles();
  json.begin_array();
  for (std::size_t first = 0; first < numbers.size(); first += dim)
    json.value(std::span<const double>(numbers).subspan(first, dim));
  json.end_array();
}

}  // namespace rotary::cli

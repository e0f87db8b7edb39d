// SPDX-License-Identifier: Apache-2.0
// rotary table CONFIG: the cos and sin rows of given positions, in the shape in which other code
// holds them, because they are the first thing that someone who ports a model compares.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands/table_kinds.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "cli/json_writer.hpp"
#include "cli/model_input.hpp"
#include "cli/npy/npy.hpp"
#include "cli/npz/npz.hpp"
#include "cli/position_list.hpp"
#include "cli/printable.hpp"
#include "cli/spec_settings.hpp"
#include "cli/warning.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/rotations.hpp"

namespace rotary::cli {
namespace {

enum class Form {
  half_width,  // cos and sin [tokens, rotary_dim/2]: one number for each pair
  hf,       // cos and sin [tokens, rotary_dim]: one for each feature, as Transformers builds them
  complex,  // cos + i sin [tokens, rotary_dim/2]
};

Form parse_form(std::string_view text) {
  return choose<Form>(
      "--form", text,
      {{"half-width", Form::half_width}, {"hf", Form::hf}, {"complex", Form::complex}});
}

DType parse_tensors(std::string_view text) {
  return choose<DType>("--dtype", text,
                       {{"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}});
}

std::optional<Role> parse_role(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return choose<Role>("--role", *text, {{"query", Role::query}, {"key", Role::key}});
}

struct Table {
  Form form = Form::half_width;
  std::optional<std::string> layer_type;
  Pairing pairing;
  double attention_factor = 1;
  std::vector<std::int64_t> positions;
  std::int64_t columns = 0;
  std::vector<float> cos;  // [tokens][columns]
  std::vector<float> sin;  // [tokens][columns]

  [[nodiscard]] std::int64_t tokens() const { return static_cast<std::int64_t>(positions.size()); }
  [[nodiscard]] std::span<const float> row(const std::vector<float>& rows,
                                           std::size_t token) const {
    const auto width = static_cast<std::size_t>(columns);
    return std::span(rows).subspan(token * width, width);
  }
};

constexpr std::string_view usual_form = "half-width";

// One row of pairs as the columns of the form.
void append_columns(std::vector<float>& rows, std::span<const float> pairs, Form form,
                    Pairing pairing) {
  const bool interleaved = pairing == Pairing::interleaved;
  for (const float value : pairs) {
    rows.push_back(value);
    if (form == Form::hf && interleaved) rows.push_back(value);
  }
  if (form == Form::hf && !interleaved) rows.insert(rows.end(), pairs.begin(), pairs.end());
}

Table make_table(const TableArguments& arguments, const ModelSpec& model) {
  const std::size_t chosen =
      choose_rotary(model, {.layer = {}, .layer_type = arguments.layer_type});
  const Frequencies frequencies = frequencies_of(model, chosen, arguments.model);
  const HeadWindow& window = frequencies.window;
  const Form form = parse_form(arguments.form.value_or(std::string(usual_form)));
  const std::int64_t columns = form == Form::hf ? window.rotary_dim : window.pairs();
  Table table{.form = form,
              .layer_type = model.rotary[chosen].layer_type,
              .pairing = window.pairing,
              .attention_factor = frequencies.attention_factor,
              .positions = parse_positions(
                  "--positions", *arguments.positions,
                  {.numbers_each = 2 * static_cast<std::uint64_t>(columns), .out = arguments.out}),
              .columns = columns,
              .cos = {},
              .sin = {}};
  const Rotations rotations =
      value_or_fail(make_rotations(frequencies, positions_of(table.positions),
                                   {.role = parse_role(arguments.role),
                                    .tensors = parse_tensors(arguments.dtype.value_or("f32"))}));
  const auto numbers = static_cast<std::size_t>(table.tokens() * columns);
  table.cos.reserve(numbers);
  table.sin.reserve(numbers);
  for (std::int64_t token = 0; token < table.tokens(); ++token) {
    append_columns(table.cos, rotations.cos(0, token), form, window.pairing);
    append_columns(table.sin, rotations.sin(0, token), form, window.pairing);
  }
  return table;
}

std::string npy_of(const std::vector<float>& rows, const Table& table) {
  const std::vector<std::int64_t> shape = {table.tokens(), table.columns};
  return write_npy(NpyType::f32, shape, std::as_bytes(std::span(rows)));
}

std::string complex_npy(const Table& table) {
  std::vector<float> pairs;
  pairs.reserve(2 * table.cos.size());
  for (std::size_t i = 0; i < table.cos.size(); ++i) {
    pairs.push_back(table.cos[i]);
    pairs.push_back(table.sin[i]);
  }
  const std::vector<std::int64_t> shape = {table.tokens(), table.columns};
  return write_npy(NpyType::c64, shape, std::as_bytes(std::span<const float>(pairs)));
}

std::string file_of(const Table& table, const std::string& path) {
  const bool archive = path.ends_with(".npz");
  if (table.form == Form::complex) {
    std::string npy = complex_npy(table);
    if (!archive) return npy;
    const NpzEntry entry{.name = "freqs_cis", .npy = std::move(npy)};
    return write_npz(std::span(&entry, 1));
  }
  if (archive) {
    const std::vector<NpzEntry> entries = {{.name = "cos", .npy = npy_of(table.cos, table)},
                                           {.name = "sin", .npy = npy_of(table.sin, table)}};
    return write_npz(entries);
  }
  std::vector<float> both = table.cos;
  both.insert(both.end(), table.sin.begin(), table.sin.end());
  const std::vector<std::int64_t> shape = {2, table.tokens(), table.columns};
  return write_npy(NpyType::f32, shape, std::as_bytes(std::span<const float>(both)));
}

std::string text_of(const Table& table) {
  std::size_t width = std::string_view("position").size();
  for (const std::int64_t position : table.positions) {
    width = std::max(width, fmt::formatted_size("{}", position));
  }
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{:>{}}  {:>7}  {:>16}  {:>16}\n", "position", width,
                 table.form == Form::hf ? "feature" : "pair", "cos", "sin");
  for (std::size_t token = 0; token < table.positions.size(); ++token) {
    const auto cos = table.row(table.cos, token);
    const auto sin = table.row(table.sin, token);
    for (std::size_t column = 0; column < cos.size(); ++column) {
      fmt::format_to(out, "{:>{}}  {:>7}  {:>16.9g}  {:>16.9g}\n", table.positions[token], width,
                     column, cos[column], sin[column]);
    }
  }
  return text;
}

void write_rows(JsonWriter& json, std::string_view name, const Table& table,
                const std::vector<float>& rows) {
  json.key(name);
  json.begin_array();
  for (std::size_t token = 0; token < table.positions.size(); ++token) {
    json.begin_array();
    for (const float value : table.row(rows, token)) json.value(value);
    json.end_array();
  }
  json.end_array();
}

std::string json_of(const Table& table, const TableArguments& arguments, const ModelSpec& model) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.member("encoding", "rotary");
  json.member("form", arguments.form.value_or(std::string(usual_form)));
  json.member("layer_type", table.layer_type);
  json.member("role", arguments.role);
  json.member("pairing", to_string(table.pairing));
  json.member("attention_factor", table.attention_factor);
  json.array("shape", std::vector{table.tokens(), table.columns});
  json.member("output", arguments.out);
  if (!arguments.out) {
    json.array("positions", table.positions);
    write_rows(json, "cos", table, table.cos);
    write_rows(json, "sin", table, table.sin);
  }
  json.array("warnings", model.warnings);
  json.end_object();
  return std::move(json).finish();
}

// How the layers of a model without rotary embedding know positions, and where that is to be seen.
[[noreturn]] void fail_without_rotary(const ModelSpec& model) {
  std::string reason = "the model has no rotary embedding";
  if (!model.layers.empty()) {
    const LayerEncoding encoding = model.layers.front().encoding;
    reason += fmt::format(": its first layer has {}", to_string(encoding));
    if (encoding == LayerEncoding::alibi) reason += " (`rotary table alibi`)";
    if (encoding == LayerEncoding::t5_bias) reason += " (`rotary table t5`)";
    if (encoding == LayerEncoding::sinusoidal)
      reason += " (`rotary table transformer`, `whisper`, ...)";
    if (encoding == LayerEncoding::learned) reason += " (`rotary encode --table`)";
  }
  throw Failure(ExitCode::unsupported, reason);
}

}  // namespace

std::string table_of_model(const TableArguments& arguments, OutputForm form) {
  if (arguments.dtype && arguments.model.numerics.value_or("exact") != "transformers") {
    throw Failure(ExitCode::usage,
                  "--dtype of a config is for --numerics transformers, which rounds to it");
  }
  const ModelSpec model = names_config(arguments.name()) ? read_model(arguments.model)
                                                         : model_of_settings(arguments.model);
  print_warnings("table", model.warnings);
  if (model.rotary.empty()) fail_without_rotary(model);
  const Table table = make_table(arguments, model);
  if (arguments.out) {
    const OutputFile file{.path = *arguments.out, .bytes = file_of(table, *arguments.out)};
    write_files(std::span(&file, 1), arguments.overwrite());
  }
  if (form == OutputForm::json) return json_of(table, arguments, model);
  if (!arguments.out) return text_of(table);
  return fmt::format("{}: {} tokens x {} columns, form {}\n", printable(*arguments.out),
                     table.tokens(), table.columns,
                     arguments.form.value_or(std::string(usual_form)));
}

}  // namespace rotary::cli

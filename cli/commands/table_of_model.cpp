// SPDX-License-Identifier: Apache-2.0
// rotary table CONFIG: cos and sin in the shapes that other programs use, to check a port.
#include "cli/commands/table_of_model.hpp"

#include "apps/npy/npy.hpp"
#include "cli/commands/commands.hpp"
#include "cli/npz/npz.hpp"
#include "rotary/frequencies.hpp"
namespace rotary::cli {
namespace {

struct Table {
  Form form = Form::half_width;
  std::optional<std::string> layer_type;
  Pairing pairing;
  double attention_factor = 1;
  Coordinates positions;
  std::int64_t columns = 0;
  std::vector<float> cos = {};  // [tokens][columns]
  std::vector<float> sin = {};  // [tokens][columns]

  [[nodiscard]] std::vector<std::int64_t> shape() const {
    return {static_cast<std::int64_t>(positions.tokens()), columns};
  }
};

// Appends a row in the layout of the form. pairs: one number for each pair.
void append_columns(std::vector<float>& rows, std::span<const float> pairs, Form form,
                    Pairing pairing) {
  const bool interleaved = !writes_halves(pairing);
  for (const float value : pairs) {
    rows.push_back(value);
    if (form == Form::hf && interleaved) rows.push_back(value);
  }
  if (form == Form::hf && !interleaved) rows.insert(rows.end(), pairs.begin(), pairs.end());
}

Table make_table(const TableArguments& arguments, const ModelSpec& model) {
  const std::size_t chosen = choose_rotary(model, {.layer_type = arguments.layer_type});
  const Frequencies frequencies = frequencies_of(model, chosen, arguments.model);
  const HeadWindow& window = frequencies.window;
  const Form form = arguments.form.second;
  const std::int64_t columns = form == Form::hf ? window.rotary_dim : window.pairs();
  Table table{.form = form,
              .layer_type = model.rotary[chosen].layer_type,
              .pairing = window.pairing,
              .attention_factor = frequencies.attention_factor,
              .positions = arguments.positions->coordinates(
                  frequencies.axes.count, {.numbers_each = 2 * static_cast<std::uint64_t>(columns),
                                           .out = arguments.output.path}),
              .columns = columns};
  const Rotations rotations = value_or_fail(
      make_rotations(frequencies, positions_of(table.positions.numbers, 1, table.positions.axes),
                     {.role = arguments.role, .tensors = arguments.dtype.value_or(DType::f32)}));
  table.cos.reserve(table.positions.tokens() * static_cast<std::size_t>(columns));
  table.sin.reserve(table.cos.capacity());
  for (std::int64_t token = 0; token < table.shape()[0]; ++token) {
    append_columns(table.cos, rotations.cos(0, token), form, window.pairing);
    append_columns(table.sin, rotations.sin(0, token), form, window.pairing);
  }
  return table;
}

std::string npy_of(NpyType type, std::vector<std::int64_t> shape, std::span<const float> numbers) {
  return write_npy(type, shape, std::as_bytes(numbers));
}

std::string file_of(const Table& table, const std::string& path) {
  const bool is_archive = path.ends_with(".npz");
  if (is_archive && table.form != Form::complex) {
    const std::array<NpzEntry, 2> entries = {
        {{.name = "cos", .npy = npy_of(NpyType::f32, table.shape(), table.cos)},
         {.name = "sin", .npy = npy_of(NpyType::f32, table.shape(), table.sin)}}};
    return write_npz(entries);
  }
  std::vector<float> both;
  both.reserve(2 * table.cos.size());
  if (table.form != Form::complex) {
    both = table.cos;
    both.insert(both.end(), table.sin.begin(), table.sin.end());
    return npy_of(NpyType::f32, {2, table.shape()[0], table.columns}, both);
  }
  for (std::size_t i = 0; i < table.cos.size(); ++i)
    both.insert(both.end(), {table.cos[i], table.sin[i]});
  std::string npy = npy_of(NpyType::c64, table.shape(), both);
  if (!is_archive) return npy;
  const NpzEntry entry{.name = "freqs_cis", .npy = std::move(npy)};
  return write_npz(std::span(&entry, 1));
}

std::string text_of(const Table& table) {
  const auto width = static_cast<std::size_t>(table.columns);
  const std::string_view of_column = table.form == Form::hf ? "feature" : "pair";
  return text_table({{"position"}, {std::string(of_column), 7}, {"cos", 16}, {"sin", 16}},
                    table.cos.size(), [&](std::size_t row, std::size_t column) {
                      if (column == 0)
                        return fmt::format("{}", fmt::join(table.positions.of(row / width), "/"));
                      if (column == 1) return fmt::format("{}", row % width);
                      return fmt::format("{:.9g}", (column == 2 ? table.cos : table.sin)[row]);
                    });
}

// [tokens][columns].
Json rows_json(const std::vector<float>& numbers, std::int64_t columns) {
  Json rows = Json::array();
  for (auto row = numbers.begin(); row != numbers.end(); row += columns)
    rows.push_back(Json(std::vector<float>(row, row + columns)));
  return rows;
}

Json json_of(const Table& table, const TableArguments& arguments, const ModelSpec& model) {
  Json json = {{"schema_version", 1},
               {"encoding", "rotary"},
               {"form", arguments.form.first},
               {"layer_type", table.layer_type},
               {"role", arguments.role ? Json(to_string(*arguments.role)) : Json()},
               {"pairing", to_string(table.pairing)},
               {"attention_factor", table.attention_factor},
               {"shape", table.shape()},
               {"output", arguments.output.path}};
  if (!arguments.output.path) {
    json["positions"] = table.positions.numbers;
    if (table.positions.axes > 1) {  // the coordinates of each token
      json["positions"] = Json::array();
      for (std::size_t token = 0; token < table.positions.tokens(); ++token)
        json["positions"].push_back(table.positions.of(token));
    }
    json["cos"] = rows_json(table.cos, table.columns);
    json["sin"] = rows_json(table.sin, table.columns);
  }
  json["warnings"] = model.warnings;
  return json;
}

}  // namespace

std::string table_of_model(const TableArguments& arguments, OutputForm form) {
  if (arguments.dtype == DType::f64) fail_choice("--dtype", "f64", {"f32", "bf16", "f16"});
  const ModelSpec model = names_config(arguments.name()) ? read_model(arguments.model)
                                                         : model_of_settings(arguments.model);
  print_warnings("table", model.warnings);
  if (model.rotary.empty()) {
    std::string reason = "the model has no rotary embedding";
    const auto encoding =
        model.layers.empty() ? LayerEncoding::none : model.layers.front().encoding;
    if (!model.layers.empty())
      reason += fmt::format(": its first layer has {}", to_string(encoding));
    if (encoding == LayerEncoding::alibi) reason += " (`rotary table alibi`)";
    if (encoding == LayerEncoding::t5_bias) reason += " (`rotary table t5`)";
    if (encoding == LayerEncoding::sinusoidal)
      reason += " (`rotary table transformer`, `whisper`, ...)";
    if (encoding == LayerEncoding::learned) reason += " (`rotary encode --table`)";
    throw Failure(ExitCode::unsupported, reason);
  }
  const Table table = make_table(arguments, model);
  const auto& path = arguments.output.path;
  if (path) arguments.output.write(file_of(table, *path));
  if (form == OutputForm::json) return printed(json_of(table, arguments, model));
  if (!path) return text_of(table);
  return fmt::format("{}: {} tokens x {} columns, form {}\n", printable(*path), table.shape()[0],
                     table.columns, arguments.form.first);
}

}  // namespace rotary::cli

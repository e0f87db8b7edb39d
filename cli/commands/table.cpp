// SPDX-License-Identifier: Apache-2.0
// rotary table: the cos and sin rows of given positions, in the shape in which other code holds
// them, because they are the first thing that someone who ports a model compares.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "cli/json_writer.hpp"
#include "cli/model_input.hpp"
#include "cli/model_options.hpp"
#include "cli/npy/npy.hpp"
#include "cli/npz/npz.hpp"
#include "cli/position_list.hpp"
#include "cli/warning.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/rotations.hpp"

namespace rotary::cli {
namespace {

// Numbers in one answer: 1 GiB in a file; as text, what a terminal or a JSON reader can take.
constexpr std::uint64_t most_numbers_in_file = std::uint64_t{1} << 28;
constexpr std::uint64_t most_numbers_as_text = std::uint64_t{1} << 22;

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

struct Arguments {
  ModelOptions model;
  std::string positions;
  std::string form = "half-width";
  std::optional<std::string> dtype;
  std::optional<std::string> layer_type;
  std::optional<std::string> out;
  bool force = false;
};

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

bool ends_with(const std::optional<std::string>& path, std::string_view ending) {
  return path && path->ends_with(ending);
}

void check_arguments(const Arguments& arguments) {
  if (arguments.dtype && arguments.model.numerics.value_or("exact") != "transformers") {
    throw Failure(ExitCode::usage, "--dtype is for --numerics transformers, which rounds to it");
  }
  if (!arguments.out) return;
  if (!ends_with(arguments.out, ".npz") && !ends_with(arguments.out, ".npy")) {
    throw Failure(ExitCode::usage,
                  fmt::format("--out must end in .npz or .npy, got '{}'", *arguments.out));
  }
  check_outputs(std::span(&*arguments.out, 1),
                arguments.force ? Overwrite::allow : Overwrite::refuse);
}

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

std::vector<std::int64_t> read_positions(const Arguments& arguments, std::int64_t columns) {
  const std::uint64_t most_numbers = arguments.out ? most_numbers_in_file : most_numbers_as_text;
  return parse_positions("--positions", arguments.positions,
                         most_numbers / static_cast<std::uint64_t>(2 * columns));
}

Table make_table(const Arguments& arguments, const ModelSpec& model) {
  const std::size_t chosen =
      choose_rotary(model, {.layer = {}, .layer_type = arguments.layer_type});
  const Frequencies frequencies = frequencies_of(model, chosen, arguments.model);
  const HeadWindow& window = frequencies.window;
  const Form form = parse_form(arguments.form);
  const std::int64_t columns = form == Form::hf ? window.rotary_dim : window.pairs();
  Table table{.form = form,
              .layer_type = model.rotary[chosen].layer_type,
              .pairing = window.pairing,
              .attention_factor = frequencies.attention_factor,
              .positions = read_positions(arguments, columns),
              .columns = columns,
              .cos = {},
              .sin = {}};
  const Rotations rotations =
      value_or_fail(make_rotations(frequencies, positions_of(table.positions),
                                   {.tensors = parse_tensors(arguments.dtype.value_or("f32"))}));
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

std::string json_of(const Table& table, const Arguments& arguments, const ModelSpec& model) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.member("form", arguments.form);
  json.member("layer_type", table.layer_type);
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

std::string run_table(const Arguments& arguments, OutputForm output_form) {
  check_arguments(arguments);
  const ModelSpec model = read_model(arguments.model);
  print_warnings("table", model.warnings);
  const Table table = make_table(arguments, model);
  if (arguments.out) {
    const OutputFile file{.path = *arguments.out, .bytes = file_of(table, *arguments.out)};
    write_files(std::span(&file, 1), arguments.force ? Overwrite::allow : Overwrite::refuse);
  }
  if (output_form == OutputForm::json) return json_of(table, arguments, model);
  if (!arguments.out) return text_of(table);
  return fmt::format("{}: {} tokens x {} columns, form {}\n", *arguments.out, table.tokens(),
                     table.columns, arguments.form);
}

Run declare(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("CONFIG", arguments->model.config, std::string(config_help))->required();
  app.add_option("--positions", arguments->positions,
                 "START:STOP (STOP excluded), one position, or several of these between commas")
      ->required()
      ->type_name("P");
  app.add_option(
         "--form", arguments->form,
         "half-width: cos and sin, one for each pair (the default; as in vLLM); hf: one for "
         "each feature, as Transformers builds them; complex: cos + i sin")
      ->type_name("F");
  app.add_option("--layer-type", arguments->layer_type,
                 "the config's name for the layers you mean, when a model has several")
      ->type_name("T");
  declare_model_options(app, arguments->model);
  app.add_option("--dtype", arguments->dtype,
                 "f32 (the default), bf16 or f16: of q and k, to which --numerics transformers "
                 "rounds the rows of most models")
      ->type_name("D");
  app.add_option("--out", arguments->out,
                 ".npz: arrays cos and sin (complex: freqs_cis); .npy: one array "
                 "[2, tokens, columns], cos first (complex: [tokens, columns])")
      ->type_name("FILE");
  app.add_flag("--force", arguments->force, "replace an output that exists");
  return [arguments](OutputForm form) { return run_table(*arguments, form); };
}

}  // namespace

constinit const Command table_command{
    .name = "table",
    .summary = "Print or save the cos and sin rows of given positions",
    .examples =
        "  rotary table config.json --positions 0:16\n"
        "  rotary table config.json --positions -4:4,131071 --form hf --out rows.npz\n"
        "  rotary table config.json --positions 4096 --json\n",
    .usage =
        "  rotary table CONFIG --positions LIST [--form half-width|hf|complex]\n"
        "               [--layer-type T] [--pairing P] [--context N]\n"
        "               [--numerics exact|transformers|ggml] [--dtype f32|bf16|f16]\n"
        "               [--set KEY=VALUE]...\n"
        "               [--out FILE.npz|FILE.npy [--force]] [--json]\n",
    .declare = declare,
};

}  // namespace rotary::cli

// SPDX-License-Identifier: Apache-2.0
// rotary table: prints or saves an encoding as a table by position or distance. The name determines
// the kind of encoding and the options that apply.
#include "cli/commands/commands.hpp"
#include "cli/commands/table_of_model.hpp"
#include "cli/model_cards.hpp"
#include "cli/tensor_input.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"

namespace rotary::cli {
namespace table_call {
namespace {

enum Kind : unsigned { model = 1, sinusoidal = 2, bias = 4, window = 8 };

constexpr unsigned by_position = Kind::model | Kind::sinusoidal;
constexpr unsigned by_distance = Kind::bias | Kind::window;

constexpr std::string_view shaw = "shaw";

// Encodings without a table: the reason, and what to use instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> elsewhere = {{
    {"fire",
     "fire depends on the query's own position, not on key - query alone: `rotary bias fire --rows "
     "LIST --cols LIST` shows it"},
    {"cope", "the positions of cope depend on the scores: add_cope() of rotary/cope.hpp"},
    {"learned", "a learned table is a separate file: `rotary encode --table FILE` adds its rows"},
}};

bool is_among(std::string_view name, const std::vector<std::string_view>& names) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string_view> encoding_names() {
  std::vector<std::string_view> names = sinusoidal_names();
  for (const std::string_view name : bias_names())
    if (name != "fire") names.push_back(name);
  for (const std::string_view name : {shaw, rope_name, xpos_name}) names.push_back(name);
  return names;
}

Kind kind_of(const std::string& name) {
  if (names_config(name) || name == rope_name || name == xpos_name) return Kind::model;
  for (const auto& [other, reason] : elsewhere) require(name != other, "{}", reason);
  if (is_among(name, sinusoidal_names())) return Kind::sinusoidal;
  if (is_among(name, bias_names())) return Kind::bias;
  if (name == shaw) return Kind::window;
  fail_unknown_card(name,
                    fmt::format("; nor is it an encoding: {}", fmt::join(encoding_names(), ", ")));
}

std::string kinds_text(unsigned kinds) {
  std::vector<std::string_view> parts;
  if ((kinds & Kind::model) != 0) parts.emplace_back("rotary embedding");
  if ((kinds & Kind::sinusoidal) != 0) parts.emplace_back("sinusoidal encodings");
  if ((kinds & Kind::bias) != 0) parts.emplace_back("relative biases");
  if ((kinds & Kind::window) != 0) parts.emplace_back("shaw");
  return fmt::format("{}", fmt::join(parts, " and "));
}

// An encoding's table, and how to show it. `rows` and `text` run only if needed.
struct Table {
  std::string_view encoding, dtype;
  const NpyArray& numbers;
  Json facts;
  std::function<Json()> rows;  // members to add to the facts
  std::function<std::string()> text;
  std::string saved;  // describes the saved file
};

std::string answer(const TableArguments& arguments, OutputForm form, const Table& table) {
  const auto& path = arguments.output.path;
  arguments.output.write(table.numbers.view());
  if (form == OutputForm::text)
    return path ? fmt::format("{}: {}\n", printable(*path), table.saved) : table.text();
  Json json = {{"schema_version", 1},  {"encoding", table.encoding},   {"name", arguments.name()},
               {"dtype", table.dtype}, {"shape", table.numbers.shape}, {"output", path}};
  json.update(table.facts);
  if (!path) json.update(table.rows());
  return printed(json);
}

std::string table_of_sinusoidal(const TableArguments& arguments, OutputForm form) {
  require(arguments.dim.has_value(), "{} needs --dim D and --positions LIST", arguments.name());
  const SinusoidalRows rows =
      make_rows({.option = "NAME", .name = arguments.name()}, arguments.sinusoidal,
                {.dim = *arguments.dim,
                 .positions = *arguments.positions,
                 .dtype = answer_dtype(arguments.dtype, arguments.output.path),
                 .out = arguments.output.path});
  return answer(
      arguments, form,
      {.encoding = "sinusoidal",
       .dtype = to_string(rows.dtype),
       .numbers = rows.numbers,
       .facts = {{"sinusoidal", sinusoidal_json(arguments.name(), rows.spec)},
                 {"offset", rows.spec.position_offset}},
       .rows = [&]() -> Json {
         return {{"positions", rows.positions}, {"rows", numbers_json(rows.numbers)}};
       },
       .text = [&] { return rows_text(rows); },
       .saved = fmt::format("{} positions x {} features, {}\n{}", rows.positions.size(),
                            rows.spec.dim, to_string(rows.dtype), sinusoidal_text(rows.spec))});
}

// [heads, distances]. Calls fill_distances() for each run of consecutive distances.
NpyArray bias_numbers(const RelativeBias& bias, DType dtype,
                      const std::vector<std::int64_t>& distances) {
  const std::int64_t heads = head_count(bias);
  const auto count = static_cast<std::int64_t>(distances.size());
  NpyArray numbers{.type = npy_type(dtype), .shape = {heads, count}, .data = {}};
  const std::size_t bytes_each = size_in_bytes(numbers.type);
  numbers.data.resize(static_cast<std::size_t>(heads * count) * bytes_each);
  for (std::size_t first = 0, last = 0; first < distances.size(); first = last) {
    for (last = first + 1; last < distances.size(); ++last)
      if (distances[last - 1] + 1 != distances[last]) break;
    const ScoresView view{
        .data = numbers.data.data() + first * bytes_each,
        .dtype = dtype,
        .extents = {.heads = heads, .queries = 1, .keys = static_cast<std::int64_t>(last - first)},
        .strides = {.batch = heads * count, .head = count, .query = count}};
    ok_or_fail(fill_distances(view, bias, distances[first]), "--distances");
  }
  return numbers;
}

std::string bias_text(const std::vector<std::int64_t>& distances, const NpyArray& array,
                      std::int64_t first_head) {
  const bool is_double = array.type == NpyType::f64;
  const std::vector<double> numbers = array.doubles();
  std::vector<Column> columns = {{"key - query"}};
  for (std::int64_t head = 0; head < array.shape[0]; ++head)
    columns.push_back({fmt::format("head {}", first_head + head), is_double ? 24U : 15U});
  return text_table(columns, distances.size(), [&](std::size_t row, std::size_t column) {
    if (column == 0) return fmt::format("{}", distances[row]);
    return fmt::format("{:.{}g}", numbers[(column - 1) * distances.size() + row] + 0.0,  // -0 as 0
                       is_double ? 17 : 9);
  });
}

std::vector<std::int64_t> distances_of(const TableArguments& arguments, std::int64_t heads) {
  return arguments.distances->numbers(
      {.numbers_each = static_cast<std::uint64_t>(heads), .out = arguments.output.path});
}

std::string table_of_bias(const TableArguments& arguments, OutputForm form) {
  const DType dtype = answer_dtype(arguments.dtype, arguments.output.path);
  BiasOptions options = arguments.bias;
  options.name = arguments.name();
  options.settings = arguments.model.resolving.overrides;
  const OwnedBias owned = read_bias(options);
  require(depends_on_distance_alone(owned.bias),
          "{0} here depends on the key's own position, not on key - query alone: `rotary bias {0} "
          "--rows LIST --cols LIST` with the same --heads and --set shows it",
          arguments.name());
  const auto distances = distances_of(arguments, head_count(owned.bias));
  const NpyArray numbers = bias_numbers(owned.bias, dtype, distances);
  return answer(arguments, form,
                {.encoding = "relative",
                 .dtype = to_string(dtype),
                 .numbers = numbers,
                 .facts = {{"first_head", first_head(owned.bias)}},
                 .rows = [&]() -> Json {
                   return {{"distances", distances}, {"bias", numbers_json(numbers)}};
                 },
                 .text = [&] { return bias_text(distances, numbers, first_head(owned.bias)); },
                 .saved = fmt::format("{} heads x {} distances, {}", numbers.shape[0],
                                      distances.size(), to_string(dtype))});
}

// The row of Shaw's table for each distance.
std::string table_of_window(const TableArguments& arguments, OutputForm form) {
  require(arguments.left && arguments.right,
          "shaw needs --left N and --right N, how far the window reaches on each side");
  const ShawWindow window{.left = *arguments.left, .right = *arguments.right};
  static_cast<void>(value_or_fail(shaw_row(0, window), "shaw"));
  const auto distances = distances_of(arguments, 1);
  std::vector<std::int64_t> rows;
  rows.reserve(distances.size());
  for (const std::int64_t distance : distances)
    rows.push_back(value_or_fail(shaw_row(distance, window)));
  const auto bytes = std::as_bytes(std::span(rows));
  const NpyArray numbers{.type = NpyType::i64,
                         .shape = {static_cast<std::int64_t>(rows.size())},
                         .data = {bytes.begin(), bytes.end()}};
  return answer(
      arguments, form,
      {.encoding = "relative",
       .dtype = "i64",
       .numbers = numbers,
       .facts = {{"left", window.left}, {"right", window.right}},
       .rows = [&]() -> Json {
         return {{"distances", distances}, {"rows", rows}};
       },
       .text =
           [&] {
             return text_table({{"key - query"}, {"row", 13}}, rows.size(),
                               [&](std::size_t row, std::size_t column) {
                                 return fmt::format("{}", (column == 0 ? distances : rows)[row]);
                               });
           },
       .saved =
           fmt::format("rows of {} distances, of {} in the table", rows.size(), window.rows())});
}

std::string run_table(const TableArguments& arguments, OutputForm form) {
  const Kind kind = kind_of(arguments.name());
  require(
      (kind & by_position) != 0 ? arguments.positions.has_value() : arguments.distances.has_value(),
      "{} needs {}", arguments.name(),
      (kind & by_position) != 0 ? "--positions LIST, such as 0:16"
                                : "--distances LIST, key - query, such as -8:9");
  arguments.output.check({".npz", ".npy"});
  if (kind == Kind::model) return table_of_model(arguments, form);
  require(!arguments.output.path || arguments.output.path->ends_with(".npy"),
          "--out must end in .npy for {}, got '{}'", arguments.name(),
          arguments.output.path.value_or(""));
  if (kind == Kind::sinusoidal) return table_of_sinusoidal(arguments, form);
  return kind == Kind::bias ? table_of_bias(arguments, form) : table_of_window(arguments, form);
}

void declare_uses(OptionParser& parser, const TableArguments& a) {
  const auto only = [&](OptionParser::Names options, unsigned kinds, std::string_view more = "") {
    parser.only(options, kinds_text(kinds) + std::string(more),
                [&a, kinds] { return (kinds & kind_of(a.name())) != 0; });
  };
  only({"--positions"}, by_position,
       "; relative encodings take --distances LIST, key - query, such as -8:9");
  only({"--distances"}, by_distance, "; encodings by position take --positions LIST, such as 0:16");
  only({"--dtype"}, by_position | Kind::bias);
  only({"--form", "--layer-type", "--role", "--pairing", "--context", "--numerics", "--part",
        "--key", "--overrides", "--flags"},
       Kind::model);
  only({"--set"}, Kind::model | Kind::bias);
  only({"--dim", "--layout", "--spacing", "--base", "--offset", "--padding-idx"}, Kind::sinusoidal);
  only({"--heads", "--parameters"}, Kind::bias);
  only({"--left", "--right"}, Kind::window);
  parser.only({"--dtype"}, "--numerics transformers, which rounds to it, where it is of a config",
              [&a] {
                return kind_of(a.name()) != Kind::model ||
                       a.model.resolving.numerics == Numerics::transformers;
              });
  parser.only({"--layer-type", "--part", "--overrides", "--flags"}, "a config",
              [&a] { return names_config(a.name()); });
}

void declare(OptionParser& parser, TableArguments& arguments) {
  parser
      .add("NAME", arguments.model.config,
           fmt::format("{}; or an encoding that needs none: {}. A file or a card wins", config_help,
                       fmt::join(encoding_names(), ", ")))
      .required();
  parser.add("--positions P", arguments.positions, positions(),
             "of a config or a sinusoidal encoding: START:STOP (STOP excluded), one position, "
             "or several of these between commas; of a config of several axes also their "
             "coordinates, between slashes: 0/3/5 is a token, 0/0:4/0:6 a grid, row by row");
  parser.add("--distances P", arguments.distances, positions(),
             "of a relative encoding, key - query, likewise: -8:9");
  parser.add("--form", arguments.form, one_by(&NamedForm::first, forms),
             "half-width: cos and sin, one for each pair (the default; as in vLLM); hf: one for "
             "each feature, as Transformers builds them; complex: cos + i sin");
  declare_layer_type(parser, arguments.layer_type);
  parser.add("--role", arguments.role, one_of(std::array{Role::query, Role::key}),
             "of xpos: whose rows");
  declare_model_options(parser, arguments.model);
  parser.replace_help(
      "--set", fmt::format("{}. Of rope and xpos the members of a spec: head_dim, base, pairing, "
                           "... (docs/schema/rotary-spec.schema.json). Of a relative bias {}",
                           config_settings_help, bias_settings_help()));
  parser.add("--dim D", arguments.dim, integer(), "features of a sinusoidal encoding");
  declare_sinusoidal_options(parser, arguments.sinusoidal);
  parser.add("--offset N", arguments.sinusoidal.offset, integer(),
             "of a sinusoidal encoding: added to each position (0)");
  declare_bias_options(parser, arguments.bias);
  parser.add("--left N", arguments.left, integer(),
             "of shaw: how far the window reaches before the query");
  parser.add("--right N", arguments.right, integer(), "of shaw: how far it reaches after it");
  parser.add("--dtype f32|f64|f16|bf16", arguments.dtype, one_of(all_dtypes),
             "of an encoding's numbers: f32 (the default), f64; with --out also f16, bf16. Of "
             "a config: that of q and k, f32, bf16 or f16, to which --numerics transformers "
             "rounds the rows of most models");
  declare_output(parser, arguments.output,
                 "of a config .npz: arrays cos and sin (complex: freqs_cis), or .npy: one array "
                 "[2, tokens, columns], cos first (complex: [tokens, columns]); of an encoding "
                 ".npy: [positions, features], [heads, distances], of shaw [distances]");
  declare_uses(parser, arguments);
}

}  // namespace
}  // namespace table_call

constinit const Command table_command{
    .name = "table",
    .summary = "Print or save a position encoding as a table",
    .examples =
        "  rotary table config.json --positions 0:16\n"
        "  rotary table config.json --positions -4:4,131071 --form hf --out rows.npz\n"
        "  rotary table llama-3.1-8b --positions 4096 --json\n"
        "  rotary table rope --set head_dim=8 --set base=10000 --pairing half --positions 0:4\n"
        "  rotary table rope --set head_dim=8 --set base=10000 --pairing half \\\n"
        "      --set 'axes={\"pairs\": [2, 2], \"exponents\": \"own\"}' --positions 0:2/0:3\n"
        "  rotary table whisper --dim 8 --positions 0:4\n"
        "  rotary table alibi --heads 8 --distances -8:1\n"
        "  rotary table kerple_log --heads 2 --set p=1 --set a=0.5,2 --distances -4095,0\n"
        "  rotary table shaw --left 4 --right 4 --distances -8:9\n",
    .declare = declared<table_call::declare, table_call::run_table>,
};

}  // namespace rotary::cli

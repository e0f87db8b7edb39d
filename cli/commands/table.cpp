// SPDX-License-Identifier: Apache-2.0
// rotary table: what an encoding is made of, as a table by position or by distance: which kind it
// is follows from the name, and with it which options have a meaning.
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

constexpr std::string_view shaw = "shaw";

// Encodings whose table is not to be had from a name: why, and what to do.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> elsewhere = {{
    {"fire",
     "fire depends on the query's own position, not on key - query alone: `rotary bias fire --rows "
     "LIST --cols LIST` shows it"},
    {"cope", "the positions of cope depend on the scores: add_cope() of rotary/cope.hpp"},
    {"learned", "a learned table is a file of its own: `rotary encode --table FILE` adds its rows"},
}};

bool is_among(std::string_view name, const std::vector<std::string_view>& names) {
  return std::ranges::find(names, name) != names.end();
}

// The encodings that have a table.
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

// Options that would do nothing are refused: who gave one meant something.
void check_options(const TableArguments& a, Kind kind) {
  struct Row {
    std::string_view option;
    bool given;
    unsigned kinds;
  };
  const unsigned by_position = Kind::model | Kind::sinusoidal;
  const unsigned by_distance = Kind::bias | Kind::window;
  const std::array<Row, 19> rows = {{
      {"--positions", a.positions.has_value(), by_position},
      {"--distances", a.distances.has_value(), by_distance},
      {"--dtype", a.dtype.has_value(), by_position | Kind::bias},
      {"--form", a.form.has_value(), Kind::model},
      {"--layer-type", a.layer_type.has_value(), Kind::model},
      {"--role", a.role.has_value(), Kind::model},
      {"--pairing", a.model.pairing.has_value(), Kind::model},
      {"--context", a.model.context.has_value(), Kind::model},
      {"--numerics", a.model.numerics.has_value(), Kind::model},
      {"--set", !a.model.settings.empty(), Kind::model | Kind::bias},
      {"--dim", a.dim.has_value(), Kind::sinusoidal},
      {"--layout", a.sinusoidal.layout.has_value(), Kind::sinusoidal},
      {"--spacing", a.sinusoidal.spacing.has_value(), Kind::sinusoidal},
      {"--base", a.sinusoidal.base.has_value(), Kind::sinusoidal},
      {"--offset", a.sinusoidal.offset.has_value(), Kind::sinusoidal},
      {"--padding-idx", a.sinusoidal.padding_idx.has_value(), Kind::sinusoidal},
      {"--heads", a.bias.heads.has_value(), Kind::bias},
      {"--parameters", a.bias.parameters.has_value(), Kind::bias},
      {"--left and --right", a.left || a.right, Kind::window},
  }};
  const std::string_view wanted = (kind & by_position) != 0
                                      ? "--positions LIST, such as 0:16"
                                      : "--distances LIST, key - query, such as -8:9";
  for (const auto& [option, given, kinds] : rows) {
    if (!given || (kinds & kind) != 0) continue;
    const bool needs_other = option == "--positions" || option == "--distances";
    fail_usage("{} is for {}; {} takes {}", option, kinds_text(kinds), a.name(),
               needs_other ? wanted : "none");
  }
  require((kind & by_position) != 0 ? a.positions.has_value() : a.distances.has_value(),
          "{} needs {}", a.name(), wanted);
}

// An encoding's table as it is answered. Rows are made only where they are printed.
struct Table {
  std::string_view encoding, dtype;
  const NpyArray& numbers;
  Json facts;
  std::function<Json()> rows;  // members beside the facts
  std::function<std::string()> text;
  std::string saved;  // what a file has
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
                 .dtype = arguments.dtype,
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

// [heads, distances]: a call of fill_distances for each run of consecutive distances.
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
  return parse_positions(
      "--distances", *arguments.distances,
      {.numbers_each = static_cast<std::uint64_t>(heads), .out = arguments.output.path});
}

std::string table_of_bias(const TableArguments& arguments, OutputForm form) {
  const DType dtype = parse_answer_dtype(arguments.dtype, arguments.output.path);
  BiasOptions options = arguments.bias;
  options.name = arguments.name();
  options.settings = arguments.model.settings;
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

// The row of Shaw's window for each distance.
std::string table_of_window(const TableArguments& arguments, OutputForm form) {
  require(arguments.left && arguments.right,
          "shaw needs --left N and --right N, how far the window reaches on each side");
  const ShawWindow window{.left = parse_int64("--left", *arguments.left),
                          .right = parse_int64("--right", *arguments.right)};
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
  check_options(arguments, kind);
  arguments.output.check({".npz", ".npy"});
  if (kind == Kind::model) return table_of_model(arguments, form);
  require(!arguments.output.path || arguments.output.path->ends_with(".npy"),
          "--out must end in .npy for {}, got '{}'", arguments.name(),
          arguments.output.path.value_or(""));
  if (kind == Kind::sinusoidal) return table_of_sinusoidal(arguments, form);
  return kind == Kind::bias ? table_of_bias(arguments, form) : table_of_window(arguments, form);
}

void declare_model(OptionParser& parser, TableArguments& arguments) {
  parser.add("--form half-width|hf|complex", arguments.form,
             "half-width: cos and sin, one for each pair (the default; as in vLLM); hf: one for "
             "each feature, as Transformers builds them; complex: cos + i sin");
  declare_layer_type(parser, arguments.layer_type);
  parser.add("--role query|key", arguments.role, "of xpos: whose rows");
  declare_model_options(parser, arguments.model);
  parser.replace_help(
      "--set", fmt::format("{}. Of rope and xpos the members of a spec: head_dim, base, pairing, "
                           "... (docs/schema/rotary-spec.schema.json). Of a relative bias {}",
                           config_settings_help, bias_settings_help()));
}

Run declare(OptionParser& parser) {
  const auto arguments = std::make_shared<TableArguments>();
  parser
      .add("NAME", arguments->model.config,
           fmt::format("{}; or an encoding that needs none: {}. A file or a card wins", config_help,
                       fmt::join(encoding_names(), ", ")))
      .required();
  parser.add("--positions P", arguments->positions,
             "of a config or a sinusoidal encoding: START:STOP (STOP excluded), one position, "
             "or several of these between commas; of a config of several axes also their "
             "coordinates, between slashes: 0/3/5 is a token, 0/0:4/0:6 a grid, row by row");
  parser.add("--distances P", arguments->distances,
             "of a relative encoding, key - query, likewise: -8:9");
  declare_model(parser, *arguments);
  parser.add("--dim D", arguments->dim, "features of a sinusoidal encoding");
  declare_sinusoidal_options(parser, arguments->sinusoidal);
  parser.add("--offset N", arguments->sinusoidal.offset,
             "of a sinusoidal encoding: added to each position (0)");
  declare_bias_options(parser, arguments->bias);
  parser.add("--left N", arguments->left, "of shaw: how far the window reaches before the query");
  parser.add("--right N", arguments->right, "of shaw: how far it reaches after it");
  parser.add("--dtype f32|f64|f16|bf16", arguments->dtype,
             "of an encoding's numbers: f32 (the default), f64; with --out also f16, bf16. Of "
             "a config: that of q and k, f32, bf16 or f16, to which --numerics transformers "
             "rounds the rows of most models");
  declare_output(parser, arguments->output,
                 "of a config .npz: arrays cos and sin (complex: freqs_cis), or .npy: one array "
                 "[2, tokens, columns], cos first (complex: [tokens, columns]); of an encoding "
                 ".npy: [positions, features], [heads, distances], of shaw [distances]");
  return [arguments](OutputForm form) { return run_table(*arguments, form); };
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
    .declare = table_call::declare,
};

}  // namespace rotary::cli

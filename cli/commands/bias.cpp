// SPDX-License-Identifier: Apache-2.0
// rotary bias: shows the biases of a relative encoding, the slopes of ALiBi or the buckets of T5.
#include "cli/bias_input.hpp"
#include "cli/commands/commands.hpp"
#include "cli/tensor_input.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::cli {
namespace bias_call {
namespace {

struct Arguments {
  BiasOptions bias;
  std::optional<PositionList> rows, cols;
  std::optional<DType> dtype;
  OutputOption output;
  bool list = false;
};

// Checks the name first: with a wrong name, the other requirements mean nothing.
void check_arguments(const Arguments& a) {
  const std::string& name = a.bias.name;
  require(name != "shaw",
          "shaw adds vectors to keys and values, not numbers to scores: `rotary table shaw` shows "
          "which row of its table a distance takes");
  require(name != "cope",
          "the positions of cope depend on the scores: add_cope() of rotary/cope.hpp");
  const auto names = bias_names();
  if (std::ranges::find(names, name) == names.end()) fail_choice("NAME", name, names);
  require(!a.list || (!a.rows && !a.cols && !a.output.path),
          "--list and --rows, --cols, --out exclude each other");
  require(a.list || (a.rows && a.cols),
          "--rows and --cols are required, such as --rows 0:4 --cols 0:4; or --list");
  a.output.check({".npy"});
}

struct Block {
  std::int64_t first_head = 0;
  std::vector<std::int64_t> rows = {};
  std::vector<std::int64_t> cols = {};
  NpyArray numbers = {};  // [heads][rows][cols]
};

// The block's numbers are double for printing, and of type --dtype for --out.
Block make_block(const Arguments& arguments, const RelativeBias& bias) {
  const auto& out = arguments.output.path;
  const DType dtype = out ? arguments.dtype.value_or(DType::f32) : DType::f64;
  const auto heads = static_cast<std::uint64_t>(head_count(bias));
  Block block{.first_head = first_head(bias)};
  block.rows = arguments.rows->numbers({.numbers_each = heads, .out = out});
  block.cols = arguments.cols->numbers({.numbers_each = heads * block.rows.size(), .out = out});
  const ScoresExtents n{.heads = head_count(bias),
                        .queries = static_cast<std::int64_t>(block.rows.size()),
                        .keys = static_cast<std::int64_t>(block.cols.size())};
  block.numbers = {.type = npy_type(dtype), .shape = {n.heads, n.queries, n.keys}, .data = {}};
  block.numbers.data.resize(static_cast<std::size_t>(n.heads * n.queries * n.keys) *
                            size_in_bytes(block.numbers.type));
  const ScoresView view{
      .data = block.numbers.data.data(), .dtype = dtype, .extents = n, .strides = strides_bhqk(n)};
  ok_or_fail(fill_bias(view, bias, BiasPositions{.queries = block.rows, .keys = block.cols}));
  return block;
}

// Nine digits distinguish neighbours at large distances. KERPLE's -0 is shown as 0.
std::string number_text(double value) { return fmt::format("{:.9g}", value + 0.0); }

// A table for each head; all columns have one width.
std::string text_of(const Block& block) {
  const auto numbers = block.numbers.elements<double>();
  std::size_t width = 12;
  for (const double value : numbers) width = std::max(width, number_text(value).size());
  for (const auto& labels : {std::span(block.rows), std::span(block.cols)})
    for (const std::int64_t label : labels)
      width = std::max(width, fmt::format("{}", label).size());
  std::vector<Column> columns = {{"query \\ key", width}};
  for (const std::int64_t col : block.cols) columns.push_back({fmt::format("{}", col), width});
  std::string text;
  for (std::int64_t head = 0; head < block.numbers.shape[0]; ++head) {
    const auto before = static_cast<std::size_t>(head) * block.rows.size();
    text += fmt::format("{}head {}\n", head == 0 ? "" : "\n", block.first_head + head);
    const auto cell = [&](std::size_t row, std::size_t column) {
      if (column == 0) return fmt::format("{}", block.rows[row]);
      return number_text(numbers[(before + row) * block.cols.size() + column - 1]);
    };
    text += text_table(columns, block.rows.size(), cell, " ");
  }
  return text;
}

Json json_of(const Block& block, const Arguments& arguments) {
  const bool is_saved = arguments.output.path.has_value();
  Json json = {{"schema_version", 1},
               {"name", arguments.bias.name},
               {"shape", block.numbers.shape},
               {"output", arguments.output.path},
               {"dtype", is_saved ? to_string(arguments.dtype.value_or(DType::f32)) : "f64"}};
  if (is_saved) return json;
  json["rows"] = block.rows;
  json["cols"] = block.cols;
  json["bias"] = numbers_json(block.numbers);
  return json;
}

std::string run_block(const Arguments& arguments, OutputForm form) {
  const Block block = make_block(arguments, read_bias(arguments.bias).bias);
  const auto& path = arguments.output.path;
  arguments.output.write(block.numbers.view());
  if (form == OutputForm::json) return printed(json_of(block, arguments));
  if (!path) return text_of(block);
  return fmt::format("{}: {} heads x {} rows x {} columns, {}\n", printable(*path),
                     block.numbers.shape[0], block.rows.size(), block.cols.size(),
                     to_string(arguments.dtype.value_or(DType::f32)));
}

// The range of key - query in a bucket; an absent end is infinite.
struct BucketSpan {
  std::int64_t bucket = 0;
  std::optional<std::int64_t> first, last;
};

std::vector<BucketSpan> bucket_spans(const T5Buckets& buckets) {
  constexpr std::int64_t most_distance = std::int64_t{1} << 22;
  require(buckets.max_distance <= most_distance,
          "--list takes a max_distance of at most {}, got {}", most_distance, buckets.max_distance);
  std::vector<BucketSpan> spans;
  for (std::int64_t at = -buckets.max_distance; at <= buckets.max_distance; ++at) {
    const std::int64_t bucket = value_or_fail(t5_bucket(at, buckets));
    if (spans.empty())
      spans.push_back({.bucket = bucket, .first = {}, .last = at});
    else if (spans.back().bucket == bucket)
      spans.back().last = at;
    else
      spans.push_back({.bucket = bucket, .first = at, .last = at});
  }
  spans.back().last.reset();
  return spans;
}

std::string list_buckets(const Arguments& arguments, OutputForm form) {
  require(!arguments.bias.heads && !arguments.bias.parameters,
          "--list of t5 takes neither --heads nor --parameters: buckets serve all heads");
  const auto spans = bucket_spans(read_t5_buckets(arguments.bias));
  if (form == OutputForm::json) {
    return printed({{"schema_version", 1},
                    {"name", "t5"},
                    {"buckets", json_array(spans, [](const BucketSpan& span) -> Json {
                       return {{"bucket", span.bucket}, {"first", span.first}, {"last", span.last}};
                     })}});
  }
  const auto end_text = [](const std::optional<std::int64_t>& position) {
    return position ? fmt::format("{}", *position) : "...";
  };
  std::vector<TextRow> rows;
  for (const auto& [bucket, first, last] : spans)
    rows.push_back({fmt::format("{}", bucket),
                    first == last ? end_text(first)
                                  : fmt::format("{} to {}", end_text(first), end_text(last))});
  return text_table({{"bucket"}, left("key - query")}, rows);
}

std::string list_slopes(const Arguments& arguments, OutputForm form) {
  const OwnedBias owned = read_bias(arguments.bias);
  const std::vector<double> slopes = value_or_fail(alibi_slopes(std::get<Alibi>(owned.bias)));
  if (form == OutputForm::json)
    return printed({{"schema_version", 1}, {"name", "alibi"}, {"slopes", slopes}});
  const auto first = static_cast<std::size_t>(first_head(owned.bias));
  std::vector<TextRow> rows;
  for (const double slope : slopes)
    rows.push_back({fmt::format("{}", first + rows.size()), fmt::format("{}", slope)});
  return text_table({{"head"}, left("slope")}, rows);
}

std::string run_bias(const Arguments& arguments, OutputForm form) {
  check_arguments(arguments);
  if (!arguments.list) return run_block(arguments, form);
  if (arguments.bias.name == "t5") return list_buckets(arguments, form);
  if (arguments.bias.name == "alibi") return list_slopes(arguments, form);
  fail_usage("--list is for t5 and alibi, got '{}'", arguments.bias.name);
}

void declare(OptionParser& parser, Arguments& arguments) {
  parser.add("NAME", arguments.bias.name, fmt::format("{}", fmt::join(bias_names(), ", ")))
      .required();
  declare_bias_options(parser, arguments.bias);
  parser.add("--rows P", arguments.rows, positions(),
             "positions of the queries: START:STOP (STOP excluded), one position, or several of "
             "these between commas");
  parser.add("--cols P", arguments.cols, positions(), "positions of the keys, likewise");
  parser.add("--set KEY=VALUE", arguments.bias.settings, setting(),
             fmt::format("{}. May be repeated", bias_settings_help()));
  parser.add("--list", arguments.list, "print the slopes of alibi or the buckets of t5 instead");
  parser.add("--dtype f32|f64|f16|bf16", arguments.dtype, one_of(all_dtypes), "of --out (f32)");
  declare_output(parser, arguments.output, ".npy: [heads, rows, columns]");
  parser.only({"--dtype"}, "--out: text and JSON have the double", {"--out"});
}

}  // namespace
}  // namespace bias_call

constinit const Command bias_command{
    .name = "bias",
    .summary = "Print or save what a relative encoding adds to scores",
    .examples =
        "  rotary bias alibi --heads 4 --rows 0:6 --cols 0:6\n"
        "  rotary bias alibi --heads 12 --list\n"
        "  rotary bias t5 --set direction=causal --list\n"
        "  rotary bias t5 --set direction=bidirectional --parameters table.npy \\\n"
        "      --rows 0:512 --cols 0:512 --out bias.npy\n"
        "  rotary bias kerple_log --heads 2 --set p=1 --set a=0.5,2 --rows 4095 --cols 0,4095\n",
    .declare = declared<bias_call::declare, bias_call::run_bias>,
};

}  // namespace rotary::cli

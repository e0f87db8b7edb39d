// SPDX-License-Identifier: Apache-2.0
// rotary bias: what a relative encoding adds to the scores of given queries and keys, to look at or
// to compare with another program's; or what it is made of, the slopes of ALiBi, the buckets of T5.
#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "cli/bias_input.hpp"
#include "cli/commands/commands.hpp"
#include "cli/encoding_options.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "cli/json_writer.hpp"
#include "cli/npy/npy.hpp"
#include "cli/position_list.hpp"
#include "cli/printable.hpp"
#include "cli/tensor_input.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::cli {
namespace {

struct Arguments {
  BiasOptions bias;
  std::optional<std::string> rows, cols, out, dtype;
  bool list = false;
  bool force = false;
};

struct Block {
  std::string_view name;
  std::int64_t heads = 0;
  std::int64_t first_head = 0;
  std::vector<std::int64_t> rows = {};
  std::vector<std::int64_t> cols = {};
  std::vector<double> values = {};  // [heads][rows][cols]

  [[nodiscard]] ScoresExtents extents() const {
    return {.heads = heads,
            .queries = static_cast<std::int64_t>(rows.size()),
            .keys = static_cast<std::int64_t>(cols.size())};
  }
  [[nodiscard]] std::span<const double> row(std::size_t head, std::size_t query) const {
    return std::span(values).subspan((head * rows.size() + query) * cols.size(), cols.size());
  }
};

// A name first: what else is missing depends on it.
void check_name(const std::string& name) {
  const auto names = bias_names();
  if (std::ranges::find(names, name) != names.end()) return;
  if (name == "shaw") {
    throw Failure(
        ExitCode::usage,
        "shaw adds a vector to what meets in a score, no number: `rotary table shaw` shows "
        "which row of its table a distance takes");
  }
  if (name == "cope") {
    throw Failure(ExitCode::usage,
                  "the positions of cope depend on the scores: add_cope() of rotary/cope.hpp");
  }
  fail_choice("NAME", name, names);
}

void check_arguments(const Arguments& arguments) {
  check_name(arguments.bias.name);
  if (arguments.dtype && !arguments.out)
    throw Failure(ExitCode::usage, "--dtype is for --out: text and JSON have the double");
  if (arguments.list) {
    if (arguments.rows || arguments.cols || arguments.out)
      throw Failure(ExitCode::usage, "--list and --rows, --cols, --out exclude each other");
    return;
  }
  if (!arguments.rows || !arguments.cols)
    throw Failure(ExitCode::usage, "--rows and --cols are required, or --list");
  if (!arguments.out) return;
  if (!arguments.out->ends_with(".npy"))
    throw Failure(ExitCode::usage, fmt::format("--out must end in .npy, got '{}'", *arguments.out));
  check_outputs(std::span(&*arguments.out, 1),
                arguments.force ? Overwrite::allow : Overwrite::refuse);
}

Status fill(const Block& block, const RelativeBias& bias, DType dtype, void* data) {
  const ScoresExtents extents = block.extents();
  const ScoresView view{
      .data = data, .dtype = dtype, .extents = extents, .strides = strides_bhqk(extents)};
  return fill_bias(view, bias, BiasPositions{.queries = block.rows, .keys = block.cols});
}

Block make_block(const Arguments& arguments, const RelativeBias& bias) {
  Block block{.name = to_string(bias), .heads = head_count(bias), .first_head = first_head(bias)};
  const auto heads = static_cast<std::uint64_t>(block.heads);
  block.rows =
      parse_positions("--rows", *arguments.rows, {.numbers_each = heads, .out = arguments.out});
  block.cols = parse_positions("--cols", *arguments.cols,
                               {.numbers_each = heads * block.rows.size(), .out = arguments.out});
  return block;
}

std::string npy_of(const Block& block, const RelativeBias& bias, DType dtype) {
  const ScoresExtents n = block.extents();
  const std::vector<std::int64_t> shape = {n.heads, n.queries, n.keys};
  std::vector<std::byte> data(static_cast<std::size_t>(n.heads * n.queries * n.keys) *
                              size_in_bytes(npy_type(dtype)));
  ok_or_fail(fill(block, bias, dtype, data.data()));
  return write_npy(npy_type(dtype), shape, data);
}

// Enough digits to tell neighbours far from the start apart. -0, as of KERPLE, is shown as 0.
std::string number_text(double value) { return fmt::format("{:.9g}", value + 0.0); }

// Of all columns, labels included.
std::size_t column_width(const Block& block) {
  std::size_t width = 12;
  for (const auto& labels : {std::span(block.rows), std::span(block.cols)}) {
    for (const std::int64_t label : labels)
      width = std::max(width, fmt::formatted_size("{}", label));
  }
  for (const double value : block.values) width = std::max(width, number_text(value).size());
  return width;
}

std::string text_of(const Block& block) {
  const std::size_t width = column_width(block);
  std::string text;
  auto out = std::back_inserter(text);
  for (std::size_t head = 0; head < static_cast<std::size_t>(block.heads); ++head) {
    fmt::format_to(out, "{}head {}\n{:>{}}", head == 0 ? "" : "\n",
                   block.first_head + static_cast<std::int64_t>(head), "query \\ key", width);
    for (const std::int64_t col : block.cols) fmt::format_to(out, " {:>{}}", col, width);
    text += '\n';
    for (std::size_t row = 0; row < block.rows.size(); ++row) {
      fmt::format_to(out, "{:>{}}", block.rows[row], width);
      for (const double value : block.row(head, row))
        fmt::format_to(out, " {:>{}}", number_text(value), width);
      text += '\n';
    }
  }
  return text;
}

void write_values(JsonWriter& json, const Block& block) {
  json.key("bias");
  json.begin_array();
  for (std::size_t head = 0; head < static_cast<std::size_t>(block.heads); ++head) {
    json.begin_array();
    for (std::size_t row = 0; row < block.rows.size(); ++row) {
      json.begin_array();
      for (const double value : block.row(head, row)) json.value(value);
      json.end_array();
    }
    json.end_array();
  }
  json.end_array();
}

std::string json_of(const Block& block, const Arguments& arguments) {
  const ScoresExtents n = block.extents();
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.member("name", block.name);
  json.array("shape", std::vector{n.heads, n.queries, n.keys});
  json.member("output", arguments.out);
  json.member("dtype", arguments.out ? arguments.dtype.value_or("f32") : "f64");
  if (!arguments.out) {
    json.array("rows", block.rows);
    json.array("cols", block.cols);
    write_values(json, block);
  }
  json.end_object();
  return std::move(json).finish();
}

std::string run_block(const Arguments& arguments, OutputForm form) {
  const DType dtype = parse_dtype(arguments.dtype.value_or("f32"));
  const OwnedBias owned = read_bias(arguments.bias);
  Block block = make_block(arguments, owned.bias);
  if (arguments.out) {
    const OutputFile file{.path = *arguments.out, .bytes = npy_of(block, owned.bias, dtype)};
    write_files(std::span(&file, 1), arguments.force ? Overwrite::allow : Overwrite::refuse);
  } else {
    const ScoresExtents n = block.extents();
    block.values.resize(static_cast<std::size_t>(n.heads * n.queries * n.keys));
    ok_or_fail(fill(block, owned.bias, DType::f64, block.values.data()));
  }
  if (form == OutputForm::json) return json_of(block, arguments);
  if (!arguments.out) return text_of(block);
  return fmt::format("{}: {} heads x {} rows x {} columns, {}\n", printable(*arguments.out),
                     block.heads, block.rows.size(), block.cols.size(),
                     arguments.dtype.value_or("f32"));
}

// Relative positions, key - query, that share a bucket; nothing where they go on without end.
struct BucketSpan {
  std::int64_t bucket = 0;
  std::optional<std::int64_t> first, last;
};

std::vector<BucketSpan> bucket_spans(const T5Buckets& buckets) {
  constexpr std::int64_t most_distance = std::int64_t{1} << 22;
  if (buckets.max_distance > most_distance) {
    throw Failure(ExitCode::usage, fmt::format("--list takes a max_distance of at most {}, got {}",
                                               most_distance, buckets.max_distance));
  }
  std::vector<BucketSpan> spans;
  for (std::int64_t at = -buckets.max_distance; at <= buckets.max_distance; ++at) {
    const std::int64_t bucket = value_or_fail(t5_bucket(at, buckets));
    if (spans.empty()) {
      spans.push_back({.bucket = bucket, .first = {}, .last = at});
    } else if (spans.back().bucket == bucket) {
      spans.back().last = at;
    } else {
      spans.push_back({.bucket = bucket, .first = at, .last = at});
    }
  }
  spans.back().last.reset();
  return spans;
}

std::string position_text(const std::optional<std::int64_t>& position) {
  return position ? fmt::format("{}", *position) : "...";
}

std::string list_buckets(const Arguments& arguments, OutputForm form) {
  if (arguments.bias.heads || arguments.bias.parameters) {
    throw Failure(ExitCode::usage,
                  "--list of t5 takes neither --heads nor --parameters: buckets serve all heads");
  }
  const auto spans = bucket_spans(read_t5_buckets(arguments.bias));
  if (form == OutputForm::text) {
    std::string text = "bucket  key - query\n";
    for (const auto& [bucket, first, last] : spans) {
      text += first == last ? fmt::format("{:>6}  {}\n", bucket, *first)
                            : fmt::format("{:>6}  {} to {}\n", bucket, position_text(first),
                                          position_text(last));
    }
    return text;
  }
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.member("name", "t5");
  json.key("buckets");
  json.begin_array();
  for (const auto& [bucket, first, last] : spans) {
    json.begin_object();
    json.member("bucket", bucket);
    json.member("first", first);
    json.member("last", last);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).finish();
}

std::string list_slopes(const Arguments& arguments, OutputForm form) {
  const OwnedBias owned = read_bias(arguments.bias);
  const auto& alibi = std::get<Alibi>(owned.bias);
  const std::vector<double> slopes = value_or_fail(alibi_slopes(alibi));
  if (form == OutputForm::json) {
    JsonWriter json;
    json.begin_object();
    json.member("schema_version", 1);
    json.member("name", "alibi");
    json.array("slopes", slopes);
    json.end_object();
    return std::move(json).finish();
  }
  std::string text = "head  slope\n";
  for (std::size_t head = 0; head < slopes.size(); ++head)
    text += fmt::format("{:>4}  {}\n", static_cast<std::int64_t>(head) + alibi.first_head,
                        slopes[head]);
  return text;
}

std::string run_bias(const Arguments& arguments, OutputForm form) {
  check_arguments(arguments);
  if (!arguments.list) return run_block(arguments, form);
  if (arguments.bias.name == "t5") return list_buckets(arguments, form);
  if (arguments.bias.name == "alibi") return list_slopes(arguments, form);
  throw Failure(ExitCode::usage,
                fmt::format("--list is for t5 and alibi, got '{}'", arguments.bias.name));
}

Run declare(OptionParser& parser) {
  const auto arguments = std::make_shared<Arguments>();
  parser.add("NAME", arguments->bias.name, fmt::format("{}", fmt::join(bias_names(), ", ")))
      .required();
  declare_bias_options(parser, arguments->bias);
  parser.add("--rows P", arguments->rows,
             "where the queries stand: START:STOP (STOP excluded), one position, or several of "
             "these between commas");
  parser.add("--cols P", arguments->cols, "where the keys stand, likewise");
  parser.add("--set KEY=VALUE", arguments->bias.settings,
             fmt::format("{}. May be repeated", bias_settings_help()));
  parser.add("--list", arguments->list,
             "in place of a block: the slopes of alibi, the buckets of t5");
  parser.add("--dtype f32|f64|f16|bf16", arguments->dtype, "of --out (f32)");
  parser.add("--out FILE", arguments->out, ".npy: [heads, rows, columns]");
  parser.add("--force", arguments->force, "replace an output that exists");
  return [arguments](OutputForm form) { return run_bias(*arguments, form); };
}

}  // namespace

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
    .declare = declare,
};

}  // namespace rotary::cli

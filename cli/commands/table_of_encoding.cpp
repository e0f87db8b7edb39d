// SPDX-License-Identifier: Apache-2.0
// rotary table of an encoding that needs no model: sinusoidal rows by position, relative biases and
// Shaw's rows by distance.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands/table_kinds.hpp"
#include "cli/failure.hpp"
#include "cli/position_list.hpp"
#include "cli/printable.hpp"
#include "cli/tensor_input.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"

namespace rotary::cli {
namespace {

void check_npy(const TableArguments& arguments) {
  if (!arguments.out || arguments.out->ends_with(".npy")) return;
  throw Failure(ExitCode::usage, fmt::format("--out must end in .npy for {}, got '{}'",
                                             arguments.name(), *arguments.out));
}

void write_if_asked(const TableArguments& arguments, const NpyArray& numbers) {
  if (!arguments.out) return;
  const OutputFile file{.path = *arguments.out, .bytes = write_npy(numbers)};
  write_files(std::span(&file, 1), arguments.overwrite());
}

// The members that all encodings have.
JsonWriter begin_json(const TableArguments& arguments, std::string_view encoding,
                      const NpyArray& numbers, std::string_view dtype) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.member("encoding", encoding);
  json.member("name", arguments.name());
  json.member("dtype", dtype);
  json.array("shape", numbers.shape);
  json.member("output", arguments.out);
  return json;
}

// Distances are columns of the array and lines of the text.
struct Distances {
  std::vector<std::int64_t> listed;
  NpyArray numbers;
};

std::size_t width_of(const std::vector<std::int64_t>& distances) {
  std::size_t width = std::string_view("key - query").size();
  for (const std::int64_t distance : distances)
    width = std::max(width, fmt::formatted_size("{}", distance));
  return width;
}

// A call of fill_distances for each run of consecutive distances.
void fill(Distances& table, const RelativeBias& bias, DType dtype) {
  const std::int64_t heads = head_count(bias);
  const auto count = static_cast<std::int64_t>(table.listed.size());
  table.numbers = {.type = npy_type(dtype), .shape = {heads, count}, .data = {}};
  const std::size_t bytes_each = size_in_bytes(table.numbers.type);
  table.numbers.data.resize(static_cast<std::size_t>(heads * count) * bytes_each);
  for (std::size_t first = 0, last = 0; first < table.listed.size(); first = last) {
    for (last = first + 1; last < table.listed.size(); ++last)
      if (table.listed[last - 1] + 1 != table.listed[last]) break;
    const ScoresExtents extents{
        .heads = heads, .queries = 1, .keys = static_cast<std::int64_t>(last - first)};
    const ScoresView view{.data = table.numbers.data.data() + first * bytes_each,
                          .dtype = dtype,
                          .extents = extents,
                          .strides = {.batch = heads * count, .head = count, .query = count}};
    ok_or_fail(fill_distances(view, bias, table.listed[first]), "--distances");
  }
}

Distances make_bias_table(const TableArguments& arguments, const RelativeBias& bias, DType dtype) {
  if (!depends_on_distance_alone(bias)) {
    throw Failure(
        ExitCode::usage,
        fmt::format("{} here depends on the key's own position, not on key - query alone: "
                    "`rotary bias {} --rows LIST --cols LIST` with the same --heads and --set "
                    "shows it",
                    arguments.name(), arguments.name()));
  }
  const auto heads = static_cast<std::uint64_t>(head_count(bias));
  Distances table{.listed = parse_positions("--distances", *arguments.distances,
                                            {.numbers_each = heads, .out = arguments.out}),
                  .numbers = {}};
  fill(table, bias, dtype);
  return table;
}

std::string text_of(const Distances& table, std::int64_t first_head) {
  const std::size_t width = width_of(table.listed);
  const std::size_t count = table.listed.size();
  const bool is_double = table.numbers.type == NpyType::f64;
  const int column = is_double ? 24 : 15;
  const int digits = is_double ? 17 : 9;
  const std::vector<double> numbers = table.numbers.doubles();
  std::string text = fmt::format("{:>{}}", "key - query", width);
  auto out = std::back_inserter(text);
  for (std::int64_t head = 0; head < table.numbers.shape[0]; ++head)
    fmt::format_to(out, "  {:>{}}", fmt::format("head {}", first_head + head), column);
  text += '\n';
  for (std::size_t at = 0; at < count; ++at) {
    fmt::format_to(out, "{:>{}}", table.listed[at], width);
    for (std::size_t i = at; i < numbers.size(); i += count)
      fmt::format_to(out, "  {:>{}.{}g}", numbers[i] + 0.0, column, digits);  // -0 as 0
    text += '\n';
  }
  return text;
}

}  // namespace

std::string table_of_sinusoidal(const TableArguments& arguments, OutputForm form) {
  check_npy(arguments);
  if (!arguments.dim || !arguments.positions) {
    throw Failure(ExitCode::usage,
                  fmt::format("{} needs --dim D and --positions LIST", arguments.name()));
  }
  const SinusoidalRows rows =
      make_rows({.option = "NAME", .name = arguments.name()}, arguments.sinusoidal,
                {.dim = *arguments.dim,
                 .positions = *arguments.positions,
                 .dtype = arguments.dtype,
                 .out = arguments.out});
  write_if_asked(arguments, rows.numbers);
  if (form == OutputForm::json) {
    JsonWriter json = begin_json(arguments, "sinusoidal", rows.numbers, to_string(rows.dtype));
    json.key("sinusoidal");
    write_sinusoidal(json, arguments.name(), rows.spec);
    json.member("offset", rows.spec.position_offset);
    if (!arguments.out) {
      json.array("positions", rows.positions);
      json.key("rows");
      write_rows(json, rows);
    }
    json.end_object();
    return std::move(json).finish();
  }
  if (!arguments.out) return rows_text(rows);
  return fmt::format("{}: {} positions x {} features, {}\n{}\n", printable(*arguments.out),
                     rows.positions.size(), rows.spec.dim, to_string(rows.dtype),
                     sinusoidal_text(rows.spec));
}

std::string table_of_bias(const TableArguments& arguments, OutputForm form) {
  check_npy(arguments);
  const DType dtype = parse_answer_dtype(arguments.dtype, arguments.out);
  BiasOptions options = arguments.bias;
  options.name = arguments.name();
  options.settings = arguments.model.settings;
  const OwnedBias owned = read_bias(options);
  const Distances table = make_bias_table(arguments, owned.bias, dtype);
  const std::int64_t heads = table.numbers.shape[0];
  write_if_asked(arguments, table.numbers);
  if (form == OutputForm::json) {
    JsonWriter json = begin_json(arguments, "relative", table.numbers, to_string(dtype));
    json.member("first_head", first_head(owned.bias));
    if (!arguments.out) {
      json.array("distances", table.listed);
      json.key("bias");
      json.begin_array();
      const std::vector<double> numbers = table.numbers.doubles();
      const std::size_t count = table.listed.size();
      for (std::size_t head = 0; head < static_cast<std::size_t>(heads); ++head)
        json.value(std::span<const double>(numbers).subspan(head * count, count));
      json.end_array();
    }
    json.end_object();
    return std::move(json).finish();
  }
  if (!arguments.out) return text_of(table, first_head(owned.bias));
  return fmt::format("{}: {} heads x {} distances, {}\n", printable(*arguments.out), heads,
                     table.listed.size(), to_string(dtype));
}

std::string table_of_window(const TableArguments& arguments, OutputForm form) {
  check_npy(arguments);
  if (!arguments.left || !arguments.right) {
    throw Failure(ExitCode::usage,
                  "shaw needs --left N and --right N, how far the window reaches on each side");
  }
  const ShawWindow window{.left = parse_int64("--left", *arguments.left),
                          .right = parse_int64("--right", *arguments.right)};
  static_cast<void>(value_or_fail(shaw_row(0, window), "shaw"));
  const auto distances = parse_positions("--distances", *arguments.distances,
                                         {.numbers_each = 1, .out = arguments.out});
  std::vector<std::int64_t> rows;
  rows.reserve(distances.size());
  for (const std::int64_t distance : distances)
    rows.push_back(value_or_fail(shaw_row(distance, window)));
  const auto bytes = std::as_bytes(std::span(rows));
  const NpyArray numbers{.type = NpyType::i64,
                         .shape = {static_cast<std::int64_t>(rows.size())},
                         .data = {bytes.begin(), bytes.end()}};
  write_if_asked(arguments, numbers);
  if (form == OutputForm::json) {
    JsonWriter json = begin_json(arguments, "relative", numbers, "i64");
    json.member("left", window.left);
    json.member("right", window.right);
    if (!arguments.out) {
      json.array("distances", distances);
      json.array("rows", rows);
    }
    json.end_object();
    return std::move(json).finish();
  }
  if (arguments.out) {
    return fmt::format("{}: rows of {} distances, of {} in the table\n", printable(*arguments.out),
                       rows.size(), window.rows());
  }
  const std::size_t width = width_of(distances);
  std::string text = fmt::format("{:>{}}  {:>13}\n", "key - query", width, "row");
  for (std::size_t at = 0; at < rows.size(); ++at)
    text += fmt::format("{:>{}}  {:>13}\n", distances[at], width, rows[at]);
  return text;
}

}  // namespace rotary::cli

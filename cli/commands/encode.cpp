// SPDX-License-Identifier: Apache-2.0
// rotary encode: adds sinusoidal or learned rows to embeddings, or prints sinusoidal rows.
#include <cctype>
#include <cmath>

#include "cli/commands/commands.hpp"
#include "cli/sinusoidal_input.hpp"
#include "cli/tensor_input.hpp"
#include "rotary/absolute.hpp"

namespace rotary::cli {
namespace encode_call {
namespace {

// The factor for the embeddings, from their dimension.
using Scale = std::function<double(std::int64_t dim)>;

Scale read_scale(std::string_view option, std::string_view text) {
  if (text == "sqrt-dim")
    return [](std::int64_t dim) { return std::sqrt(static_cast<double>(dim)); };
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text.front())) != 0)
    fail_choice(option, text, {"a finite number", "sqrt-dim"});
  return [scale = parse_double(option, text)](std::int64_t) { return scale; };
}

struct Arguments {
  std::optional<std::string> like, table, x;
  std::optional<std::string> positions;  // a list; with x also a file
  std::optional<std::int64_t> dim, first_position;
  std::optional<Scale> scale;
  std::optional<DType> dtype;
  SinusoidalOptions sinusoidal;
  OutputOption output;

  [[nodiscard]] SinusoidalName name() const { return {.option = "--like", .name = *like}; }
};

// `rows` is filled only if rows are printed.
struct Done {
  std::optional<SinusoidalSpec> spec = {};
  std::int64_t offset = 0;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  Json positions = {};  // positions of the embeddings
  std::optional<SinusoidalRows> rows = {};
};

// Makes sinusoidal rows of the listed positions, for a file or to be printed.
Done rows_alone(const Arguments& arguments) {
  require(!arguments.positions->ends_with(".npy"),
          "--positions must be a list here, such as 0:16; got '{}', and a file is for rotary "
          "encode --x",
          *arguments.positions);
  SinusoidalRows rows = make_rows(arguments.name(), arguments.sinusoidal,
                                  {.dim = *arguments.dim,
                                   .positions = {"--positions", *arguments.positions},
                                   .dtype = answer_dtype(arguments.dtype, arguments.output.path),
                                   .out = arguments.output.path});
  Done done{.spec = rows.spec,
            .offset = rows.spec.position_offset,
            .dtype = rows.dtype,
            .shape = rows.numbers.shape,
            .positions = {{"first", nullptr}, {"file", nullptr}}};
  arguments.output.write(rows.numbers.view());
  if (!arguments.output.path) done.rows = std::move(rows);
  return done;
}

ConstTableView table_view(const TokensTensor& table, const TokensTensor& x) {
  require(table.array.shape.size() == 2, "--table must have the shape [rows, features], got {}",
          shape_text(table.array.shape));
  require(table.dtype == x.dtype,
          "--table must have the dtype of --x, {}; got {}: convert one of them with array.astype",
          to_string(x.dtype), to_string(table.dtype));
  require(table.extents.features == x.extents.features,
          "--table must have the {} features of --x, got {}", x.extents.features,
          table.extents.features);
  return {.data = table.array.data.data(),
          .dtype = table.dtype,
          .rows = table.extents.tokens,
          .features = table.extents.features,
          .row_stride = table.extents.features};
}

Done add_rows(const Arguments& arguments) {
  const std::optional<DType> dtype = arguments.dtype;
  TokenPlaces places = read_places(arguments.first_position, arguments.positions);
  TokensTensor x = read_tokens("--x", *arguments.x, dtype);
  const Extents extents{.batch = x.extents.batch, .tokens = x.extents.tokens};
  const Positions positions = places.of(extents, Layout::bthd);
  require(!arguments.table || !places.array || places.array->type != NpyType::f64,
          "--positions of a table must be int32 or int64, got float64");
  Done done{
      .dtype = x.dtype, .shape = x.array.shape, .positions = places.json(arguments.positions)};
  const TokensView view = x.view();
  if (arguments.table) {
    const TokensTensor table = read_tokens("--table", *arguments.table, dtype);
    done.offset = arguments.sinusoidal.offset.value_or(0);
    ok_or_fail(add_learned(
        view, view,
        {.table = table_view(table, x), .rows = {.indices = positions, .offset = done.offset}}));
  } else {
    done.spec = read_sinusoidal(arguments.name(), arguments.sinusoidal, x.extents.features);
    done.offset = done.spec->position_offset;
    ok_or_fail(add_sinusoidal(
        view, view, value_or_fail(make_sinusoidal(*done.spec)), positions,
        {.embedding_scale = arguments.scale ? (*arguments.scale)(x.extents.features) : 1}));
  }
  arguments.output.write(x.array.view());
  return done;
}

Json json_of(const Arguments& arguments, const Done& done) {
  Json json = {{"schema_version", 1},
               {"encoding", done.spec ? "sinusoidal" : "learned"},
               {"sinusoidal", done.spec ? sinusoidal_json(*arguments.like, *done.spec) : Json()},
               {"table", arguments.table},
               {"offset", done.offset},
               {"dtype", to_string(done.dtype)},
               {"shape", done.shape},
               {"input", arguments.x},
               {"output", arguments.output.path},
               {"positions", done.positions}};
  if (!done.rows) return json;
  json["positions"]["listed"] = done.rows->positions;
  json["rows"] = numbers_json(done.rows->numbers);
  return json;
}

std::string run_encode(const Arguments& arguments, OutputForm form) {
  const Arguments& a = arguments;
  require(a.like || a.table, "one of --like and --table is required");
  require(!a.like || !a.table,
          "--like and --table exclude each other: encode twice to add both encodings");
  require(!a.table || a.x, "--table needs --x, the embeddings to which its rows are added");
  require(!a.x || a.output.path, "--x and --out must be given together");
  require(!a.x || !a.dim, "--dim is that of --x where embeddings are given");
  require(a.x || (a.dim && a.positions),
          "--dim and --positions are required for the rows alone, --x to add them");
  check_standard_input({a.x, a.table, a.x ? a.positions : std::nullopt});
  a.output.check({".npy"});
  const Done done = arguments.x ? add_rows(arguments) : rows_alone(arguments);
  if (form == OutputForm::json) return printed(json_of(arguments, done));
  if (done.rows) return rows_text(*done.rows);
  return fmt::format(
      "{}: {} {}\n{}\n", printable(*arguments.output.path), shape_text(done.shape),
      to_string(done.dtype),
      done.spec ? sinusoidal_text(*done.spec)
                : fmt::format("table {}, offset {}", printable(*arguments.table), done.offset));
}

void declare(OptionParser& parser, Arguments& arguments) {
  parser.add("--like NAME", arguments.like,
             fmt::format("a sinusoidal encoding: {} (docs/theory/absolute.md says what "
                         "differs)",
                         fmt::join(sinusoidal_names(), ", ")));
  parser.add("--table FILE", arguments.table, "a learned table: an NPY file [rows, features]");
  declare_sinusoidal_options(parser, arguments.sinusoidal);
  parser.add("--offset N", arguments.sinusoidal.offset, integer(),
             "added to each position: 2 for the tables of OPT and BART, padding_idx + 1 for "
             "RoBERTa's (0)");
  parser.add("--x FILE", arguments.x,
             "embeddings: an NPY file [tokens, features] or [batch, tokens, features], '-' "
             "for standard input");
  declare_output(parser, arguments.output, "the result: .npy");
  parser.add("--dim D", arguments.dim, integer(), "features of the rows, without --x");
  parser.add("--positions P", arguments.positions,
             "without --x: START:STOP (STOP excluded), one position, or several of these "
             "between commas; with --x an NPY file, [tokens] or [batch, tokens], of int32, "
             "int64 or (sinusoidal) float64");
  parser.add("--first-position N", arguments.first_position, integer(),
             "position of the first token of --x; the others follow (0)");
  parser.add("--scale S", arguments.scale, Value<Scale>{.name = "", .read = read_scale},
             "factor of --x before the sum: a number, or sqrt-dim (1)");
  parser.add("--dtype", arguments.dtype, one_of(all_dtypes),
             "of the rows (f32), or of --x (as in the file; "
             "bf16, held as uint16, must be given)");
  parser.only({"--layout", "--spacing", "--base", "--padding-idx", "--scale"}, "--like",
              {"--like"});
  parser.only({"--scale", "--first-position"}, "the embeddings, --x", {"--x"});
  parser.exclusive("--first-position", "--positions");
}

}  // namespace
}  // namespace encode_call

constinit const Command encode_command{
    .name = "encode",
    .summary = "Add an absolute encoding to embeddings that NumPy saved",
    .examples =
        "  rotary encode --like transformer --dim 8 --positions 0:4\n"
        "  rotary encode --like marian --x x.npy --scale sqrt-dim --out encoded.npy\n"
        "  rotary encode --table wpe.npy --first-position 512 --x x.npy --out encoded.npy\n",
    .declare = declared<encode_call::declare, encode_call::run_encode>,
};

}  // namespace rotary::cli

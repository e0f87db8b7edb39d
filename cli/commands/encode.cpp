// SPDX-License-Identifier: Apache-2.0
// rotary encode: an absolute encoding, sinusoidal or a learned table, added to embeddings that
// NumPy saved; or the rows of a sinusoidal encoding themselves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
#include "cli/position_list.hpp"
#include "cli/tensor_input.hpp"
#include "rotary/absolute.hpp"

namespace rotary::cli {
namespace {

// Numbers in one answer: 1 GiB in a file; as text, what a terminal or a JSON reader can take.
constexpr std::uint64_t most_numbers_in_file = std::uint64_t{1} << 28;
constexpr std::uint64_t most_numbers_as_text = std::uint64_t{1} << 22;

struct Arguments {
  std::optional<std::string> like, table, x, out;
  std::optional<std::string> dim, positions, first_position;
  std::optional<std::string> base, offset, padding_idx, scale, dtype;
  bool force = false;

  [[nodiscard]] Overwrite overwrite() const { return force ? Overwrite::allow : Overwrite::refuse; }
};

enum class Model { transformer, marian, whisper, musicgen, fairseq };

void require(bool holds, std::string_view requirement) {
  if (!holds) throw Failure(ExitCode::usage, std::string(requirement));
}

// Everything that can be refused without reading a file.
void check_arguments(const Arguments& a) {
  require(a.like.has_value() != a.table.has_value(), "one of --like and --table is required");
  require(!a.table || a.x, "--table needs --x, the embeddings to which its rows are added");
  require(!a.table || (!a.base && !a.padding_idx && !a.scale),
          "--base, --padding-idx and --scale are for --like");
  require(!a.x || a.out, "--x and --out must be given together");
  require(!a.x || !a.dim, "--dim is that of --x where embeddings are given");
  require(!a.scale || a.x, "--scale is of the embeddings, --x");
  require(a.x || (a.dim && a.positions),
          "--dim and --positions are required for the rows alone, --x to add them");
  require(!a.first_position || a.x, "--first-position needs --x; the rows alone take --positions");
  require(!a.first_position || !a.positions, "--first-position and --positions exclude each other");
  int from_standard_input = 0;
  for (const auto& path : {a.x, a.table, a.x ? a.positions : std::nullopt}) {
    from_standard_input += path == "-" ? 1 : 0;
  }
  require(from_standard_input <= 1, "only one input can be '-', standard input");
  if (!a.out) return;
  require(a.out->ends_with(".npy"), fmt::format("--out must end in .npy, got '{}'", *a.out));
  check_outputs(std::span(&*a.out, 1), a.overwrite());
}

SinusoidalSpec spec_of(const Arguments& arguments, std::int64_t dim) {
  const auto model = choose<Model>("--like", *arguments.like,
                                   {{"transformer", Model::transformer},
                                    {"marian", Model::marian},
                                    {"whisper", Model::whisper},
                                    {"musicgen", Model::musicgen},
                                    {"fairseq", Model::fairseq}});
  require((model == Model::fairseq) == arguments.padding_idx.has_value(),
          "--padding-idx must be given for --like fairseq, whose positions begin behind it, and "
          "for no other");
  SinusoidalSpec spec = transformer_sinusoidal(dim);
  if (model == Model::marian) spec = marian_sinusoidal(dim);
  if (model == Model::whisper) spec = whisper_sinusoidal(dim);
  if (model == Model::musicgen) spec = musicgen_sinusoidal(dim);
  if (model == Model::fairseq) {
    const std::int64_t padding = parse_int64("--padding-idx", *arguments.padding_idx);
    require(padding >= 0 && padding < INT64_MAX,
            fmt::format("--padding-idx must be in [0, 2^63 - 1), got {}", padding));
    spec = fairseq_sinusoidal(dim, padding);
  }
  if (arguments.base) spec.base = parse_double("--base", *arguments.base);
  if (arguments.offset) spec.position_offset = parse_int64("--offset", *arguments.offset);
  return spec;
}

double scale_of(const Arguments& arguments, std::int64_t dim) {
  if (!arguments.scale) return 1;
  if (*arguments.scale == "sqrt-dim") return std::sqrt(static_cast<double>(dim));
  return parse_double("--scale", *arguments.scale);
}

// What was done, for the summary.
struct Done {
  std::optional<SinusoidalSpec> spec;
  std::int64_t offset = 0;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::optional<std::int64_t> first_position;
  std::vector<std::int64_t> positions;  // of rows that are shown here
  std::vector<double> rows;             // [positions][dim], where they are not in a file
};

// Sinusoidal rows of listed positions: into a file, or kept to be shown.
Done make_rows(const Arguments& arguments) {
  const std::int64_t dim = parse_int64("--dim", *arguments.dim);
  const SinusoidalSpec spec = spec_of(arguments, dim);
  const Sinusoidal sinusoidal = value_or_fail(make_sinusoidal(spec));
  const std::uint64_t most = arguments.out ? most_numbers_in_file : most_numbers_as_text;
  const auto positions =
      parse_positions("--positions", *arguments.positions, most / static_cast<std::uint64_t>(dim));
  const DType dtype = parse_dtype(arguments.dtype.value_or("f32"));
  require(arguments.out || dtype == DType::f32 || dtype == DType::f64,
          "--dtype must be f32 or f64 without --out");
  const auto tokens = static_cast<std::int64_t>(positions.size());
  const TokenExtents extents{.tokens = tokens, .features = dim};
  std::vector<std::byte> bytes(static_cast<std::size_t>(tokens * dim * size_in_bytes(dtype)));
  const TokensView view{
      .data = bytes.data(), .dtype = dtype, .extents = extents, .strides = strides_btd(extents)};
  ok_or_fail(fill_sinusoidal(view, sinusoidal, positions_of(positions)));
  Done done{.spec = spec,
            .offset = spec.position_offset,
            .dtype = dtype,
            .shape = {tokens, dim},
            .first_position = {},
            .positions = positions,
            .rows = {}};
  if (arguments.out) {
    const OutputFile file{.path = *arguments.out,
                          .bytes = write_npy(npy_type(dtype), done.shape, bytes)};
    write_files(std::span(&file, 1), arguments.overwrite());
  } else if (dtype == DType::f32) {
    const auto* const floats = reinterpret_cast<const float*>(bytes.data());
    done.rows.assign(floats, floats + tokens * dim);
  } else {
    const auto* const doubles = reinterpret_cast<const double*>(bytes.data());
    done.rows.assign(doubles, doubles + tokens * dim);
  }
  return done;
}

ConstTableView table_view(const TokensTensor& table) {
  if (table.array.shape.size() != 2) {
    throw Failure(ExitCode::usage, fmt::format("--table must have the shape [rows, features], got "
                                               "{}",
                                               shape_text(table.array.shape)));
  }
  return {.data = table.array.data.data(),
          .dtype = table.dtype,
          .rows = table.extents.tokens,
          .features = table.extents.features,
          .row_stride = table.extents.features};
}

// Rows added to the embeddings of --x.
Done add_rows(const Arguments& arguments) {
  std::optional<DType> dtype;
  if (arguments.dtype) dtype = parse_dtype(*arguments.dtype);
  std::int64_t first = 0;
  if (arguments.first_position) first = parse_int64("--first-position", *arguments.first_position);
  TokensTensor x = read_tokens("--x", *arguments.x, dtype);
  std::optional<NpyArray> array;
  Positions positions = ConsecutivePositions{.first = first, .tokens = x.extents.tokens};
  if (arguments.positions) {
    array = read_npy_file(*arguments.positions);
    const Extents extents{.batch = x.extents.batch, .tokens = x.extents.tokens};
    positions = positions_from(*array, extents, Layout::bthd);
  }
  Done done{.spec = {},
            .offset = 0,
            .dtype = x.dtype,
            .shape = x.array.shape,
            .first_position = array ? std::nullopt : std::optional(first),
            .positions = {},
            .rows = {}};
  const TokensView view = x.view();
  if (arguments.table) {
    const TokensTensor table = read_tokens("--table", *arguments.table, dtype);
    if (arguments.offset) done.offset = parse_int64("--offset", *arguments.offset);
    ok_or_fail(add_learned(
        view, view,
        {.table = table_view(table), .rows = {.indices = positions, .offset = done.offset}}));
  } else {
    done.spec = spec_of(arguments, x.extents.features);
    done.offset = done.spec->position_offset;
    ok_or_fail(add_sinusoidal(view, view, value_or_fail(make_sinusoidal(*done.spec)), positions,
                              {.embedding_scale = scale_of(arguments, x.extents.features)}));
  }
  const OutputFile file{.path = *arguments.out,
                        .bytes = write_npy(x.array.type, x.array.shape, x.array.data)};
  write_files(std::span(&file, 1), arguments.overwrite());
  return done;
}

std::string encoding_text(const Arguments& arguments, const Done& done) {
  if (!done.spec) return fmt::format("table {}, offset {}", *arguments.table, done.offset);
  return fmt::format("sinusoidal {}, spacing {}, base {}, offset {}", to_string(done.spec->layout),
                     to_string(done.spec->spacing), done.spec->base.get(), done.offset);
}

std::string text_of(const Arguments& arguments, const Done& done) {
  if (arguments.out) {
    return fmt::format("{}: {} {}\n{}\n", *arguments.out, shape_text(done.shape),
                       to_string(done.dtype), encoding_text(arguments, done));
  }
  std::size_t width = std::string_view("position").size();
  for (const std::int64_t position : done.positions) {
    width = std::max(width, fmt::formatted_size("{}", position));
  }
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{:>{}}  {:>7}  {:>24}\n", "position", width, "feature", "value");
  const int digits = done.dtype == DType::f64 ? 17 : 9;
  const auto dim = static_cast<std::size_t>(done.shape[1]);
  for (std::size_t i = 0; i < done.rows.size(); ++i) {
    fmt::format_to(out, "{:>{}}  {:>7}  {:>24.{}g}\n", done.positions[i / dim], width, i % dim,
                   done.rows[i], digits);
  }
  return text;
}

std::string json_of(const Arguments& arguments, const Done& done) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.member("encoding", done.spec ? "sinusoidal" : "learned");
  json.key("sinusoidal");
  if (done.spec) {
    json.begin_object();
    json.member("like", arguments.like);
    json.member("layout", to_string(done.spec->layout));
    json.member("spacing", to_string(done.spec->spacing));
    json.member("base", done.spec->base.get());
    json.member("zero_position", done.spec->zero_position);
    json.end_object();
  } else {
    json.null();
  }
  json.member("table", arguments.table);
  json.member("offset", done.offset);
  json.member("dtype", to_string(done.dtype));
  json.array("shape", done.shape);
  json.member("input", arguments.x);
  json.member("output", arguments.out);
  json.key("positions");
  json.begin_object();
  json.member("first", done.first_position);
  json.member("file", arguments.x ? arguments.positions : std::nullopt);
  if (!arguments.out) json.array("listed", done.positions);
  json.end_object();
  if (!arguments.out) {
    json.key("rows");
    json.begin_array();
    const auto dim = static_cast<std::size_t>(done.shape[1]);
    for (std::size_t row = 0; row < done.positions.size(); ++row) {
      json.value(std::span<const double>(done.rows).subspan(row * dim, dim));
    }
    json.end_array();
  }
  json.end_object();
  return std::move(json).finish();
}

std::string run_encode(const Arguments& arguments, OutputForm form) {
  check_arguments(arguments);
  const Done done = arguments.x ? add_rows(arguments) : make_rows(arguments);
  return form == OutputForm::json ? json_of(arguments, done) : text_of(arguments, done);
}

void declare_encoding(CLI::App& app, Arguments& arguments) {
  app.add_option("--like", arguments.like,
                 "a sinusoidal encoding: transformer (the paper's), marian, whisper, musicgen or "
                 "fairseq (docs/theory/absolute.md says what differs)")
      ->type_name("NAME");
  app.add_option("--table", arguments.table, "a learned table: an NPY file [rows, features]")
      ->type_name("FILE");
  app.add_option("--base", arguments.base, "of the sinusoidal frequencies (10000)")->type_name("B");
  app.add_option("--offset", arguments.offset,
                 "added to each position: 2 for the tables of OPT and BART, padding_idx + 1 for "
                 "RoBERTa's (0)")
      ->type_name("N");
  app.add_option("--padding-idx", arguments.padding_idx,
                 "of fairseq: positions begin at N + 1, and the token at position -1 is padding, "
                 "whose row is 0")
      ->type_name("N");
}

Run declare(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  declare_encoding(app, *arguments);
  app.add_option("--x", arguments->x,
                 "embeddings: an NPY file [tokens, features] or [batch, tokens, features], '-' "
                 "for standard input")
      ->type_name("FILE");
  app.add_option("--out", arguments->out, "where the result goes: .npy")->type_name("FILE");
  app.add_flag("--force", arguments->force, "replace an output that exists");
  app.add_option("--dim", arguments->dim, "features of the rows, without --x")->type_name("D");
  app.add_option("--positions", arguments->positions,
                 "without --x: START:STOP (STOP excluded), one position, or several of these "
                 "between commas; with --x an NPY file, [tokens] or [batch, tokens], of int32, "
                 "int64 or (sinusoidal) float64")
      ->type_name("P");
  app.add_option("--first-position", arguments->first_position,
                 "where the first token of --x stands, the others follow (0)")
      ->type_name("N");
  app.add_option("--scale", arguments->scale,
                 "what --x is multiplied by first: a number, or sqrt-dim (1)")
      ->type_name("S");
  app.add_option("--dtype", arguments->dtype,
                 "of the rows, f32 (the default), bf16, f16 or f64; of --x, as the file says by "
                 "itself, but bf16 (held as uint16) must be said")
      ->type_name("D");
  return [arguments](OutputForm form) { return run_encode(*arguments, form); };
}

}  // namespace

constinit const Command encode_command{
    .name = "encode",
    .summary = "Add an absolute encoding to embeddings that NumPy saved",
    .examples =
        "  rotary encode --like transformer --dim 8 --positions 0:4\n"
        "  rotary encode --like marian --x x.npy --scale sqrt-dim --out encoded.npy\n"
        "  rotary encode --table wpe.npy --first-position 512 --x x.npy --out encoded.npy\n",
    .usage =
        "  rotary encode --like NAME --dim D --positions LIST [--out FILE.npy [--force]]\n"
        "                [--base B] [--offset N] [--padding-idx N] [--dtype D] [--json]\n"
        "  rotary encode (--like NAME [--base B] [--padding-idx N] [--scale S] |\n"
        "                 --table FILE) [--offset N] --x FILE --out FILE.npy [--force]\n"
        "                [--first-position N | --positions FILE] [--dtype D] [--json]\n",
    .declare = declare,
};

}  // namespace rotary::cli

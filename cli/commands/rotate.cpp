// SPDX-License-Identifier: Apache-2.0
// rotary rotate: queries and keys that NumPy saved, rotated as a model's config says, into files
// that NumPy loads.
#include "rotary/rotate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
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
#include "cli/printable.hpp"
#include "cli/tensor_input.hpp"
#include "cli/warning.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/rotations.hpp"

namespace rotary::cli {
namespace {

struct Arguments {
  ModelOptions model;
  std::optional<std::string> q, k, out_q, out_k;
  std::string layout;
  std::optional<std::string> first_position;
  std::optional<std::string> positions;
  std::optional<std::string> dtype;
  std::string direction = "forward";
  std::optional<std::string> layer;
  std::optional<std::string> layer_type;
  bool force = false;

  [[nodiscard]] Overwrite overwrite() const { return force ? Overwrite::allow : Overwrite::refuse; }
};

struct Job {
  std::string_view name;  // "q" or "k"
  std::string input;
  std::string output;
  Tensor tensor;
};

// Where the tokens stand: array when a file says so, otherwise first, first + 1, ...
struct TokenPlaces {
  std::int64_t first = 0;
  std::optional<NpyArray> array;

  [[nodiscard]] Positions of(const Extents& extents, Layout layout) const {
    if (array) return positions_from(*array, extents, layout);
    return ConsecutivePositions{.first = first, .tokens = extents.tokens};
  }
};

Direction parse_direction(const std::string& text) {
  return choose<Direction>("--direction", text,
                           {{"forward", Direction::forward},
                            {"inverse", Direction::inverse},
                            {"transpose", Direction::transpose}});
}

// Everything that can be refused without reading a file.
void check_arguments(const Arguments& arguments) {
  if (!arguments.q && !arguments.k) {
    throw Failure(ExitCode::usage, "at least one of --q and --k is required");
  }
  if (arguments.q.has_value() != arguments.out_q.has_value()) {
    throw Failure(ExitCode::usage, "--q and --out-q must be given together");
  }
  if (arguments.k.has_value() != arguments.out_k.has_value()) {
    throw Failure(ExitCode::usage, "--k and --out-k must be given together");
  }
  if (arguments.first_position && arguments.positions) {
    throw Failure(ExitCode::usage, "--first-position and --positions exclude each other");
  }
  int from_standard_input = 0;
  for (const auto& path :
       {arguments.q, arguments.k, arguments.positions, std::optional(arguments.model.config)}) {
    from_standard_input += path == "-" ? 1 : 0;
  }
  if (from_standard_input > 1) {
    throw Failure(ExitCode::usage, "only one input can be '-', standard input");
  }
  std::vector<std::string> outputs;
  if (arguments.out_q) outputs.push_back(*arguments.out_q);
  if (arguments.out_k) outputs.push_back(*arguments.out_k);
  check_outputs(outputs, arguments.overwrite());
}

std::vector<Job> read_jobs(const Arguments& arguments, Layout layout) {
  TensorForm form{.layout = layout, .dtype = {}};
  if (arguments.dtype) form.dtype = parse_dtype(*arguments.dtype);
  std::vector<Job> jobs;
  if (arguments.q) {
    jobs.push_back({.name = "q",
                    .input = *arguments.q,
                    .output = *arguments.out_q,
                    .tensor = read_tensor("--q", *arguments.q, form)});
  }
  if (arguments.k) {
    jobs.push_back({.name = "k",
                    .input = *arguments.k,
                    .output = *arguments.out_k,
                    .tensor = read_tensor("--k", *arguments.k, form)});
  }
  const Extents& first = jobs.front().tensor.extents;
  const Extents& last = jobs.back().tensor.extents;
  if (first.batch != last.batch || first.tokens != last.tokens) {
    throw Failure(ExitCode::usage,
                  fmt::format("--q and --k must agree in batch and tokens, got {} and {}",
                              shape_text(jobs.front().tensor.array.shape),
                              shape_text(jobs.back().tensor.array.shape)));
  }
  const NpyType first_type = jobs.front().tensor.array.type;
  const NpyType last_type = jobs.back().tensor.array.type;
  if (first_type != last_type) {
    throw Failure(ExitCode::usage,
                  fmt::format("--q and --k must have the same type, got '{}' and '{}'",
                              descr_of(first_type), descr_of(last_type)));
  }
  return jobs;
}

TokenPlaces read_places(const Arguments& arguments) {
  TokenPlaces places;
  if (arguments.first_position) {
    places.first = parse_int64("--first-position", *arguments.first_position);
  }
  if (arguments.positions) places.array = read_positions_file(*arguments.positions);
  return places;
}

LayerChoice layer_choice(const Arguments& arguments) {
  LayerChoice choice{.layer = {}, .layer_type = arguments.layer_type};
  if (arguments.layer) choice.layer = parse_int64("--layer", *arguments.layer);
  return choice;
}

void write_outputs(const std::vector<Job>& jobs, Overwrite overwrite) {
  std::vector<OutputFile> files;
  for (const Job& job : jobs) {
    const NpyArray& array = job.tensor.array;
    files.push_back({.path = job.output, .bytes = write_npy(array.type, array.shape, array.data)});
  }
  write_files(files, overwrite);
}

// What was done, for the summary.
struct Done {
  const std::vector<Job>& jobs;
  const TokenPlaces& places;
  const HeadWindow& window;
  const ModelSpec& model;
  const RotarySpec& spec;
  std::string_view instruction_set;
};

std::string text_of(const Arguments& arguments, const Done& done) {
  std::string text;
  for (const Job& job : done.jobs) {
    text += fmt::format("{}: {} {} {} -> {}\n", job.name, arguments.layout,
                        shape_text(job.tensor.array.shape), to_string(job.tensor.dtype),
                        printable(job.output));
  }
  const std::string places = done.places.array
                                 ? "positions from " + printable(*arguments.positions)
                                 : fmt::format("first position {}", done.places.first);
  const std::string context =
      arguments.model.context ? fmt::format("context {}, ", *arguments.model.context) : "";
  return text + fmt::format("{}, {}, {}{} pairing, {} of {} features, numerics {}, {}\n",
                            arguments.direction, places, context, to_string(done.window.pairing),
                            done.window.rotary_dim, done.window.head_dim, numerics_text(done.spec),
                            done.instruction_set);
}

std::string json_of(const Arguments& arguments, const Done& done) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.member("direction", arguments.direction);
  json.member("layout", arguments.layout);
  json.member("dtype", to_string(done.jobs.front().tensor.dtype));
  json.member("pairing", to_string(done.window.pairing));
  json.member("head_dim", done.window.head_dim);
  json.member("rotary_dim", done.window.rotary_dim);
  json.member("first_feature", done.window.first_feature);
  json.member("numerics", to_string(done.spec.numerics));
  json.member("rounding", to_string(done.spec.rounding));
  json.key("positions");
  json.begin_object();
  json.member("first", done.places.array ? std::nullopt : std::optional(done.places.first));
  json.member("file", arguments.positions);
  json.end_object();
  json.key("tensors");
  json.begin_array();
  for (const Job& job : done.jobs) {
    json.begin_object();
    json.member("name", job.name);
    json.array("shape", job.tensor.array.shape);
    json.member("input", job.input);
    json.member("output", job.output);
    json.end_object();
  }
  json.end_array();
  json.member("instruction_set", done.instruction_set);
  json.array("warnings", done.model.warnings);
  json.end_object();
  return std::move(json).finish();
}

// What the model also does to queries, and this command does not.
void warn_about_queries(const Arguments& arguments, const ModelSpec& model, std::size_t chosen) {
  if (!arguments.q) return;
  const bool is_tempered = std::ranges::any_of(model.layers, [&](const ModelLayer& layer) {
    return layer.encoding == LayerEncoding::rotary && layer.rotary == chosen &&
           layer.query_temperature != QueryTemperature(NoTemperature{});
  });
  if (!is_tempered) return;
  print_warnings("rotate", std::vector<std::string>{
                               "the model also multiplies its queries by a factor that grows with "
                               "the position (rotary inspect shows it), which is not done here"});
}

// Whole heads of a model with latent attention, of which a slice turns.
void check_head(const Job& job, const ModelRotary& rotary) {
  const std::int64_t features = job.tensor.extents.features;
  const std::int64_t whole = rotary.nope_head_dim + rotary.spec.head_dim;
  if (rotary.nope_head_dim == 0 || features != whole) return;
  throw Failure(ExitCode::usage,
                fmt::format("--{0} must hold the {1} features that turn, got whole heads of {2}: "
                            "save {0}[..., {3}:], which follow the {3} that do not turn",
                            job.name, rotary.spec.head_dim, whole, rotary.nope_head_dim));
}

std::string run_rotate(const Arguments& arguments, OutputForm form) {
  check_arguments(arguments);
  const Layout layout = parse_layout(arguments.layout);
  const Direction direction = parse_direction(arguments.direction);
  const ModelSpec model = read_model(arguments.model);
  print_warnings("rotate", model.warnings);
  const std::size_t chosen = choose_rotary(model, layer_choice(arguments));
  warn_about_queries(arguments, model, chosen);
  const Frequencies frequencies = frequencies_of(model, chosen, arguments.model);

  const TokenPlaces places = read_places(arguments);
  std::vector<Job> jobs = read_jobs(arguments, layout);
  const Tensor& tensor = jobs.front().tensor;
  const RowDType rows = tensor.dtype == DType::f64 ? RowDType::f64 : RowDType::f32;
  const Rotations rotations = value_or_fail(make_rotations(
      frequencies, places.of(tensor.extents, layout), {.rows = rows, .tensors = tensor.dtype}));
  for (Job& job : jobs) {
    check_head(job, model.rotary[chosen]);
    const HeadsView view = job.tensor.view();
    ok_or_fail(rotate(view, view, rotations, {.direction = direction}),
               "--" + std::string(job.name));
  }
  const Done done{.jobs = jobs,
                  .places = places,
                  .window = frequencies.window,
                  .model = model,
                  .spec = model.rotary[chosen].spec,
                  .instruction_set = value_or_fail(instruction_set())};
  write_outputs(jobs, arguments.overwrite());
  return form == OutputForm::json ? json_of(arguments, done) : text_of(arguments, done);
}

void declare_tensors(OptionParser& parser, Arguments& arguments) {
  parser.add("--q FILE", arguments.q, "queries: an NPY file, '-' for standard input");
  parser.add("--k FILE", arguments.k, "keys: an NPY file");
  parser.add("--out-q FILE", arguments.out_q, "rotated queries");
  parser.add("--out-k FILE", arguments.out_k, "rotated keys");
  parser.add("--force", arguments.force, "replace outputs that exist");
  parser
      .add("--layout bthd|bhtd|thd", arguments.layout,
           "order of the axes: bthd [batch, tokens, heads, features], bhtd [batch, heads, "
           "tokens, features], thd [tokens, heads, features]")
      .required();
  parser.add("--dtype f32|bf16|f16|f64", arguments.dtype,
             "of q and k: files say it by themselves, but bf16 (held as uint16) must be said");
}

Run declare(OptionParser& parser) {
  const auto arguments = std::make_shared<Arguments>();
  parser.add("--config FILE", arguments->model.config, std::string(config_help)).required();
  declare_tensors(parser, *arguments);
  parser.add("--first-position N", arguments->first_position,
             "where the first token stands, the others follow (0)");
  parser.add("--positions FILE", arguments->positions,
             "where each token stands: an NPY file, [tokens] or [batch, tokens], of int32, "
             "int64 or, for positions between integers, float64");
  parser.add("--direction forward|inverse|transpose", arguments->direction,
             "inverse undoes forward (the default); transpose is the backward pass");
  declare_model_options(parser, arguments->model);
  parser.add("--layer I", arguments->layer, "which layer's rotation, counted from 0");
  parser.add("--layer-type T", arguments->layer_type,
             "or which kind of layer, by the config's name for it");
  return [arguments](OutputForm form) { return run_rotate(*arguments, form); };
}

}  // namespace

constinit const Command rotate_command{
    .name = "rotate",
    .summary = "Rotate queries and keys that NumPy saved",
    .examples =
        "  rotary rotate --config config.json --layout bthd --q q.npy --out-q q_rotated.npy\n"
        "  rotary rotate --config config.json --layout thd --dtype bf16 --positions p.npy \\\n"
        "      --q q.npy --k k.npy --out-q q_rotated.npy --out-k k_rotated.npy\n"
        "  rotary rotate --config config.json --layout bhtd --direction inverse \\\n"
        "      --first-position 4096 --k cached.npy --out-k plain.npy\n",
    .declare = declare,
};

}  // namespace rotary::cli

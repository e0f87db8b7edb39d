// SPDX-License-Identifier: Apache-2.0
// rotary rotate: rotates queries and keys of NPY files as a model's config says.
#include "rotary/rotate.hpp"

#include "cli/commands/commands.hpp"
#include "cli/hidden_size.hpp"
#include "cli/tensor_input.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/rotations.hpp"

namespace rotary::cli {
namespace rotate_call {
namespace {

using NamedDirection = std::pair<std::string_view, Direction>;
constexpr std::array<NamedDirection, 3> directions = {{{"forward", Direction::forward},
                                                       {"inverse", Direction::inverse},
                                                       {"transpose", Direction::transpose}}};

struct Arguments {
  ModelOptions model;
  Layout layout = Layout::bthd;
  NamedDirection direction = directions.front();
  std::optional<std::string> q, k, out_q, out_k, positions;
  std::optional<std::int64_t> first_position;
  std::optional<DType> dtype;
  LayerChoice layer;
  Overwrite overwrite = Overwrite::refuse;
};

struct Job {
  std::string_view name;  // "q" or "k"
  std::string input;
  std::string output;
  Tensor tensor;
};

// The checks that need no file.
void check_arguments(const Arguments& arguments) {
  require(arguments.q || arguments.k, "at least one of --q and --k is required");
  check_standard_input({arguments.q, arguments.k, arguments.positions, arguments.model.config});
  std::vector<std::string> outputs;
  if (arguments.out_q) outputs.push_back(*arguments.out_q);
  if (arguments.out_k) outputs.push_back(*arguments.out_k);
  check_outputs(outputs, arguments.overwrite);
}

std::vector<Job> read_jobs(const Arguments& arguments) {
  const TensorForm form{.layout = arguments.layout, .dtype = arguments.dtype};
  std::vector<Job> jobs;
  const auto read = [&](std::string_view name, const auto& input, const auto& output) {
    if (!input) return;
    Tensor tensor = read_tensor(fmt::format("--{}", name), *input, form);
    jobs.push_back({name, *input, *output, std::move(tensor)});
  };
  read("q", arguments.q, arguments.out_q);
  read("k", arguments.k, arguments.out_k);
  const Tensor& first = jobs.front().tensor;
  const Tensor& last = jobs.back().tensor;
  require(first.extents.batch == last.extents.batch && first.extents.tokens == last.extents.tokens,
          "--q and --k must agree in batch and tokens, got {} and {}",
          shape_text(first.array.shape), shape_text(last.array.shape));
  require(first.array.type == last.array.type,
          "--q and --k must have the same type, got '{}' and '{}'", descr_of(first.array.type),
          descr_of(last.array.type));
  return jobs;
}

struct Done {
  const Arguments& arguments;
  const std::vector<Job>& jobs;
  const TokenPlaces& places;
  const Frequencies& frequencies;
  const RotarySpec& spec;
};

Json json_of(const Done& done, const ModelSpec& model) {
  const HeadWindow& window = done.frequencies.window;
  return {{"schema_version", 1},
          {"direction", done.arguments.direction.first},
          {"layout", to_string(done.arguments.layout)},
          {"dtype", to_string(done.jobs.front().tensor.dtype)},
          {"pairing", to_string(window.pairing)},
          {"head_dim", window.head_dim},
          {"rotary_dim", window.rotary_dim},
          {"first_feature", window.first_feature},
          {"axes", done.frequencies.axes.count},
          {"numerics", to_string(done.spec.numerics)},
          {"rounding", to_string(done.frequencies.rounding)},
          {"positions", done.places.json(done.arguments.positions)},
          {"tensors", json_array(done.jobs,
                                 [](const Job& job) -> Json {
                                   return {{"name", job.name},
                                           {"shape", job.tensor.array.shape},
                                           {"input", job.input},
                                           {"output", job.output}};
                                 })},
          {"instruction_set", value_or_fail(instruction_set())},
          {"warnings", model.warnings}};
}

std::string text_of(const Done& done) {
  const HeadWindow& window = done.frequencies.window;
  const std::int64_t axes = done.frequencies.axes.count;
  const Arguments& arguments = done.arguments;
  std::string text;
  for (const Job& job : done.jobs) {
    text += fmt::format("{}: {} {} {} -> {}\n", job.name, to_string(arguments.layout),
                        shape_text(job.tensor.array.shape), to_string(job.tensor.dtype),
                        printable(job.output));
  }
  const std::string places = done.places.array
                                 ? "positions from " + printable(*arguments.positions)
                                 : fmt::format("first position {}", done.places.first);
  const auto context_tokens = arguments.model.resolving.context_tokens;
  const std::string context = context_tokens ? fmt::format("context {}, ", *context_tokens) : "";
  return text + fmt::format("{}, {}{}, {}{} pairing, {} of {} features, numerics {}, {}\n",
                            arguments.direction.first, places,
                            axes > 1 ? fmt::format(", {} axes", axes) : "", context,
                            to_string(window.pairing), window.rotary_dim, window.head_dim,
                            numerics_text(done.spec), value_or_fail(instruction_set()));
}

// Warns if the model also multiplies queries by a factor, which this command does not apply.
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

// Suspects a wrong layout if the number of tokens is a head count of the model and the number of
// heads is not.
std::vector<std::string> layout_warnings(const std::vector<Job>& jobs, std::string_view config,
                                         const Arguments& arguments) {
  const std::vector<std::int64_t> counts = head_counts_of(config, arguments.model.resolving);
  const auto is_count = [&](std::int64_t n) { return std::ranges::count(counts, n) != 0; };
  std::vector<std::string> warnings;
  for (const Job& job : jobs) {
    const auto& [batch, tokens, heads, features] = job.tensor.extents;
    if (!is_count(tokens) || is_count(heads)) continue;
    warnings.push_back(
        fmt::format("--{} has {} tokens, as many as the model has heads, and {} heads, which it "
                    "has not: is its "
                    "layout not {}?",
                    job.name, tokens, heads, to_string(arguments.layout)));
  }
  return warnings;
}

// Refuses full heads of latent attention, of which only a slice rotates.
void check_head(const Job& job, const ModelRotary& rotary) {
  const std::int64_t features = job.tensor.extents.features;
  const std::int64_t whole = rotary.nope_head_dim + rotary.spec.head_dim;
  require(
      rotary.nope_head_dim == 0 || features != whole,
      "--{0} must hold the {1} features that rotate, got full heads of {2}: save {0}[..., {3}:], "
      "which follow the {3} that do not rotate",
      job.name, rotary.spec.head_dim, whole, rotary.nope_head_dim);
}

std::string run_rotate(const Arguments& arguments, OutputForm form) {
  check_arguments(arguments);
  const ConfigFile config =
      is_rope(arguments.model) ? ConfigFile{.json = "{}"} : read_config(arguments.model.config);
  ModelSpec model = is_rope(arguments.model)
                        ? model_of_settings(arguments.model)
                        : model_of(config, arguments.model.config, arguments.model.resolving);
  print_warnings("rotate", model.warnings);
  const std::size_t chosen = choose_rotary(model, arguments.layer);
  warn_about_queries(arguments, model, chosen);
  const Frequencies frequencies = frequencies_of(model, chosen, arguments.model);

  const TokenPlaces places = read_places(arguments.first_position, arguments.positions);
  std::vector<Job> jobs = read_jobs(arguments);
  const std::vector<std::string> suspicious = layout_warnings(jobs, config.json, arguments);
  print_warnings("rotate", suspicious);
  model.warnings.insert(model.warnings.end(), suspicious.begin(), suspicious.end());
  const Tensor& tensor = jobs.front().tensor;
  const RowDType rows = tensor.dtype == DType::f64 ? RowDType::f64 : RowDType::f32;
  Positions positions = places.of(tensor.extents, arguments.layout, frequencies.axes.count);
  // An empty tensor may claim any number of tokens, so no rows are made for it.
  if (std::ranges::all_of(jobs, [](const Job& job) { return job.tensor.array.data.empty(); })) {
    for (Job& job : jobs) job.tensor.extents.tokens = 0;
    positions = ConsecutivePositions{};
  }
  const Rotations rotations = value_or_fail(
      make_rotations(frequencies, positions, {.rows = rows, .tensors = tensor.dtype}));
  for (Job& job : jobs) {
    check_head(job, model.rotary[chosen]);
    const HeadsView view = job.tensor.view();
    ok_or_fail(rotate(view, view, rotations, {.direction = arguments.direction.second}),
               "--" + std::string(job.name));
  }
  const Done done{arguments, jobs, places, frequencies, model.rotary[chosen].spec};
  // Made before any file is written, because it may run out of memory.
  std::string summary = form == OutputForm::json ? printed(json_of(done, model)) : text_of(done);
  std::vector<StreamedFile> files;
  for (const Job& job : jobs)
    files.push_back({.path = job.output, .fill = [&job](const Write& write) {
                       write_npy(job.tensor.array.view(), write);
                     }});
  write_files(files, arguments.overwrite);
  return summary;
}

void declare(OptionParser& parser, Arguments& arguments) {
  parser
      .add("--config FILE", arguments.model.config,
           fmt::format("{}; or rope, with --set", config_help))
      .required();
  parser.add("--q FILE", arguments.q, "queries: an NPY file, '-' for standard input");
  parser.add("--k FILE", arguments.k, "keys: an NPY file");
  parser.add("--out-q FILE", arguments.out_q, "rotated queries");
  parser.add("--out-k FILE", arguments.out_k, "rotated keys");
  declare_force(parser, arguments.overwrite);
  parser
      .add("--layout", arguments.layout, one_of(all_layouts),
           "order of the axes: bthd [batch, tokens, heads, features], bhtd [batch, heads, "
           "tokens, features], thd [tokens, heads, features]")
      .required();
  parser.add("--dtype", arguments.dtype, one_of(all_dtypes),
             "of q and k (as in the files; bf16, held as uint16, must be given)");
  parser.add("--first-position N", arguments.first_position, integer(),
             "position of the first token; the others follow (0)");
  parser.add("--positions FILE", arguments.positions,
             "position of each token: an NPY file, [tokens] or [batch, tokens], for several axes "
             "[axes, tokens] or [axes, batch, tokens], of int32, int64 or, for "
             "positions between integers, float64");
  parser.add("--direction", arguments.direction, one_by(&NamedDirection::first, directions),
             "inverse undoes forward (the default); transpose is the backward pass");
  declare_model_options(parser, arguments.model);
  parser.replace_help("--set", fmt::format("{}. Of rope the members of a spec: head_dim, base, "
                                           "pairing, axes, ... "
                                           "(docs/schema/rotary-spec.schema.json)",
                                           config_settings_help));
  parser.add("--layer I", arguments.layer.layer, integer(),
             "which layer's rotation, counted from 0");
  parser.add("--layer-type T", arguments.layer.layer_type,
             "or its kind of layer, by the config's name for it");
  parser.together("--q", "--out-q");
  parser.together("--k", "--out-k");
  parser.exclusive("--first-position", "--positions");
  parser.only({"--part", "--layer", "--layer-type"}, "a config",
              [&arguments] { return !is_rope(arguments.model); });
}

}  // namespace
}  // namespace rotate_call

constinit const Command rotate_command{
    .name = "rotate",
    .summary = "Rotate queries and keys that NumPy saved",
    .examples =
        "  rotary rotate --config config.json --layout bthd --q q.npy --out-q q_rotated.npy\n"
        "  rotary rotate --config config.json --layout thd --dtype bf16 --positions p.npy \\\n"
        "      --q q.npy --k k.npy --out-q q_rotated.npy --out-k k_rotated.npy\n"
        "  rotary rotate --config config.json --layout bhtd --direction inverse \\\n"
        "      --first-position 4096 --k cached.npy --out-k plain.npy\n"
        "  rotary rotate --config rope --set head_dim=80 --set base=10000 --set pairing=half \\\n"
        "      --set 'axes={\"pairs\": [20, 20], \"exponents\": \"own\"}' \\\n"
        "      --layout thd --positions rows_and_columns.npy --q q.npy --out-q q_rotated.npy\n",
    .declare = declared<rotate_call::declare, rotate_call::run_rotate>,
};

}  // namespace rotary::cli

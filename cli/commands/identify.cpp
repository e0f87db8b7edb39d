// SPDX-License-Identifier: Apache-2.0
// rotary identify: from numbers of a program before and after its rotary embedding, what it did:
// what the config says, or which mistake.
#include "rotary/identify.hpp"

#include "cli/commands/commands.hpp"
#include "cli/identify/identification.hpp"
#include "cli/identify/observed.hpp"
#include "cli/tensor_input.hpp"

namespace rotary::cli {
namespace identify_call {
namespace {

struct Arguments {
  ModelOptions model;
  std::optional<std::string> trace, before, after, ours, theirs, cos, sin, inv_freq, positions,
      first_position, layout, dtype, call, tensor, layer, layer_type, causes;
};

// Exactly one kind of input.
void check_arguments(const Arguments& a) {
  require(a.before.has_value() == a.after.has_value(), "--before and --after go together");
  require(a.ours.has_value() == a.theirs.has_value(), "--ours and --theirs go together");
  require(a.cos.has_value() == a.sin.has_value(), "--cos and --sin go together");
  const auto kinds =
      std::ranges::count(std::array{a.trace.has_value(), a.before.has_value(), a.ours.has_value(),
                                    a.cos.has_value(), a.inv_freq.has_value()},
                         true);
  require(kinds == 1,
          "identify needs numbers of one kind: TRACE, --before and --after, --ours and --theirs, "
          "--cos and --sin, or --inv-freq; got {} of them",
          kinds);
  require(!a.positions || !a.first_position, "--first-position and --positions exclude each other");
  require(a.trace || (!a.call && !a.tensor), "--call and --tensor are for a TRACE");
  require(!a.ours || !a.model.config.empty(),
          "--ours and --theirs need --config: it says how --ours was rotated");
  require(!a.ours || a.positions || a.first_position,
          "--ours and --theirs need --positions or --first-position: they say what to undo");
}

// The files of heads, by name.
struct HeadFiles {
  std::string before;
  std::string after;
  std::optional<std::string> positions;
};

HeadFiles files_of(const Arguments& a) {
  if (a.before) return {*a.before, *a.after, a.positions};
  if (a.ours) return {*a.ours, *a.theirs, a.positions};
  require(a.trace->ends_with(".npz") || a.trace->ends_with(".safetensors"),
          "TRACE must be an .npz or a .safetensors file, got {}", *a.trace);
  const std::int64_t call = a.call ? parse_int64("--call", *a.call) : 0;
  const std::string tensor = a.tensor.value_or("q");
  const std::string prefix = fmt::format("{}.", call);
  HeadFiles files{.before = fmt::format("{}:{}{}.before", *a.trace, prefix, tensor),
                  .after = fmt::format("{}:{}{}.after", *a.trace, prefix, tensor),
                  .positions = a.positions};
  const std::string positions = prefix + "positions";
  if (!a.positions && !a.first_position && has_array(*a.trace, positions))
    files.positions = fmt::format("{}:{}", *a.trace, positions);
  return files;
}

// [tokens], [batch, tokens], or with the axes of coordinates in front of these.
TokenArray<std::int64_t> positions_of_file(const IntegerArray& file, std::int64_t axes) {
  const auto& shape = file.shape;
  require(!shape.empty() && shape.size() <= 3,
          "--positions must have the shape [tokens], [batch, tokens] or [axes, batch, tokens], got "
          "{}",
          shape_text(shape));
  const bool has_axes = shape.size() == 3 || (shape.size() == 2 && axes > 1 && shape[0] == axes);
  const bool has_batch = shape.size() == 3 || (shape.size() == 2 && !has_axes);
  TokenArray<std::int64_t> positions{.data = file.numbers.data(), .tokens = shape.back()};
  if (has_batch) {
    positions.batch = shape[shape.size() - 2];
    positions.batch_stride = shape.back();
  }
  if (has_axes && shape[0] > 1) {
    positions.axes = shape[0];
    positions.axis_stride = positions.batch * shape.back();
  }
  return positions;
}

IdentifyOptions options_of(const Arguments& a) {
  IdentifyOptions options;
  if (a.causes) options.most_causes = parse_between("--causes", *a.causes, {1, 2});
  if (a.ours) options.before = BeforeState::rotated_as_configured;
  const ResolveOptions resolving = resolve_options(a.model);
  options.context_tokens = resolving.context_tokens;
  if (a.model.config.empty()) return options;
  options.model = read_model(a.model);
  require(!options.model->rotary.empty(), "--config must have layers that rotate");
  print_warnings("identify", options.model->warnings);
  LayerChoice choice{.layer = {}, .layer_type = a.layer_type};
  if (a.layer) choice.layer = parse_int64("--layer", *a.layer);
  options.rotary = choose_rotary(*options.model, choice);
  return options;
}

std::int64_t axes_of(const IdentifyOptions& options) {
  if (!options.model) return 1;
  const auto& axes = options.model->rotary[options.rotary].spec.axes;
  return axes ? static_cast<std::int64_t>(axes->pairs.size()) : 1;
}

IdentifyAnswer identify_files(const Arguments& a, IdentifyOptions options) {
  const HeadFiles files = files_of(a);
  std::optional<DType> dtype;
  if (a.dtype) dtype = parse_dtype(*a.dtype);
  const FloatArray before = read_floats("--before", files.before, dtype, most_observed);
  const FloatArray after = read_floats("--after", files.after, dtype, most_observed);
  IntegerArray positions;
  std::optional<std::int64_t> tokens;
  if (files.positions) {
    positions = read_integers("--positions", *files.positions);
    options.positions = positions_of_file(positions, axes_of(options));
    tokens = positions.shape.back();
  }
  std::optional<IdentifiedLayout> best;
  for (const HeadsLayout& layout : layouts_of(before.shape, a.layout, tokens)) {
    if (a.first_position)
      options.positions =
          ConsecutivePositions{.first = parse_int64("--first-position", *a.first_position),
                               .tokens = layout.extents.tokens};
    IdentifiedLayout each = identify_heads(before, after, {layout}, options);
    if (!best || is_better(each.found, best->found)) best = std::move(each);
  }
  return {.found = std::move(best->found), .layout = best->layout, .config = a.model.config};
}

IdentifyAnswer identify_table_files(const Arguments& a, IdentifyOptions options) {
  if (a.inv_freq) {
    const FloatArray frequencies = read_floats("--inv-freq", *a.inv_freq, {}, most_pairs);
    return {.found = value_or_fail(identify_frequencies(frequencies.doubles(), 1, options)),
            .layout = {},
            .config = a.model.config};
  }
  std::optional<DType> dtype;
  if (a.dtype) dtype = parse_dtype(*a.dtype);
  const FloatArray cosines = read_floats("--cos", *a.cos, dtype, most_observed);
  const FloatArray sines = read_floats("--sin", *a.sin, dtype, most_observed);
  IntegerArray positions;
  if (a.positions) {
    positions = read_integers("--positions", *a.positions);
    options.positions = positions_of_file(positions, axes_of(options));
  } else if (a.first_position) {
    const std::int64_t tokens = cosines.shape.size() < 2 ? 0 : *(cosines.shape.end() - 2);
    options.positions = ConsecutivePositions{
        .first = parse_int64("--first-position", *a.first_position), .tokens = tokens};
  }
  return {
      .found = identify_tables(cosines, sines, options), .layout = {}, .config = a.model.config};
}

ExitCode code_of(Verdict verdict) {
  if (verdict == Verdict::another_cause) return ExitCode::check_failed;
  return verdict == Verdict::unexplained ? ExitCode::unexplained : ExitCode::ok;
}

Answer run(const Arguments& a, OutputForm form) {
  check_arguments(a);
  const IdentifyOptions options = options_of(a);
  const bool has_heads = a.trace || a.before || a.ours;
  const IdentifyAnswer answer =
      has_heads ? identify_files(a, options) : identify_table_files(a, options);
  const ExitCode code = code_of(answer.found.verdict);
  if (form == OutputForm::json) return {printed(identification_json(answer)), code};
  return {identification_text(answer), code};
}

void declare_inputs(OptionParser& parser, Arguments& a) {
  parser.add("TRACE", a.trace,
             "what the adapter of rotary trace wrote: an .npz or .safetensors file with q before "
             "and after");
  parser.add("--before FILE", a.before,
             "instead: queries or keys before, .npy, .npz or .safetensors; FILE:NAME where it has "
             "several arrays");
  parser.add("--after FILE", a.after, "and after");
  parser.add("--ours FILE", a.ours, "instead: keys of a cache that was rotated as the config says");
  parser.add("--theirs FILE", a.theirs, "and those of the same tokens in another cache");
  parser.add("--cos FILE", a.cos, "instead: cos, [tokens, pairs], each pair once or twice");
  parser.add("--sin FILE", a.sin, "and sin");
  parser.add("--inv-freq FILE", a.inv_freq, "instead: frequencies, [pairs]");
}

Run declare(OptionParser& parser) {
  const auto a = std::make_shared<Arguments>();
  declare_inputs(parser, *a);
  parser.add("--config CONFIG", a->model.config,
             fmt::format("{}; without it the numbers are described", config_help));
  parser.add("--first-position N", a->first_position,
             "the position of the first token, the others behind it; without it and --positions "
             "it is found");
  parser.add("--positions FILE", a->positions,
             "int32 or int64: [tokens], [batch, tokens] or [axes, batch, tokens]");
  parser.add("--layout td|thd|htd|bthd|bhtd", a->layout,
             "the axes: batch, tokens, heads, features; without it the one that explains most");
  parser.add("--dtype f32|bf16|f16|f64", a->dtype, "bf16: the files hold it as uint16");
  parser.add("--call N", a->call, "which call of a TRACE; 0 is the first");
  parser.add("--tensor q|k", a->tensor, "which tensor of a TRACE; q");
  parser.add("--causes 1|2", a->causes, "how many mistakes at once; 2");
  parser.add("--layer N", a->layer, "the layer whose rotary embedding it is");
  declare_layer_type(parser, a->layer_type);
  declare_model_options(parser, a->model);
  return [a](OutputForm form) { return run(*a, form); };
}

}  // namespace
}  // namespace identify_call

constinit const Command identify_command{
    .name = "identify",
    .summary = "Name what a program did to q, from numbers before and after",
    .examples =
        "  rotary identify trace.safetensors --config config.json\n"
        "  rotary identify --before q.npy --after q2.npy --config llama-3.1-8b "
        "--first-position 0\n"
        "  rotary identify --cos cos.npy --sin sin.npy --config config.json\n"
        "  rotary identify --inv-freq inv_freq.npy --config config.json\n"
        "  rotary identify --ours k.npy --theirs k2.npy --config config.json "
        "--first-position 0\n"
        "  rotary identify trace.safetensors --config config.json --json | jq .verdict\n",
    .declare = identify_call::declare,
};

}  // namespace rotary::cli

// SPDX-License-Identifier: Apache-2.0
// rotary identify: compares a program's numbers before and after its rotary embedding with the
// config, and names the mistake if they do not fit.
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
  std::optional<std::string> trace, before, after, other, ours, theirs, cos, sin, inv_freq,
      positions;
  std::optional<std::int64_t> first_position;
  std::optional<std::string_view> layout;
  std::optional<DType> dtype;
  std::int64_t call = 0;
  std::string_view tensor = "q";
  std::int64_t causes = 2;
  LayerChoice layer;

  [[nodiscard]] bool has_heads() const { return trace || before || ours; }
};

void check_arguments(const Arguments& a) {
  const auto kinds =
      std::ranges::count(std::array{a.trace.has_value(), a.before.has_value(), a.ours.has_value(),
                                    a.cos.has_value(), a.inv_freq.has_value()},
                         true);
  require(kinds == 1,
          "identify needs numbers of one kind: TRACE, --before and --after, --ours and --theirs, "
          "--cos and --sin, or --inv-freq; got {} of them",
          kinds);
  require(!a.ours || !a.model.config.empty(),
          "--ours and --theirs need --config: it says how --ours was rotated");
  require(!a.ours || a.positions || a.first_position,
          "--ours and --theirs need --positions or --first-position: they say what to undo");
  if (a.positions) refuse_position_list(*a.positions);
}

// An array of the chosen call in TRACE, if TRACE has it.
std::optional<IntegerArray> traced(const Arguments& a, std::string_view name) {
  const std::string array = fmt::format("{}.{}", a.call, name);
  if (!a.trace || !has_array(*a.trace, array)) return std::nullopt;
  return read_integers("TRACE", fmt::format("{}:{}", *a.trace, array));
}

// Mistakes in the position ids that the caller gave to a traced model.
std::vector<std::string> notes_of_ids(const Arguments& a) {
  const auto given = traced(a, "given");
  if (!given || given->shape.empty() || given->shape.size() > 3 || given->numbers.empty())
    return {};
  std::vector<std::string> notes;
  const auto reached = traced(a, "positions");
  if (reached && reached->numbers.size() == given->numbers.size() &&
      reached->numbers != given->numbers)
    notes.emplace_back("the caller gave other ids than the rotary module got");
  const auto past = traced(a, "past");
  if (!past || past->numbers.size() != 1) return notes;
  const auto found = value_or_fail(check_positions(position_ids(*given), {.past = past->numbers}));
  // Without a cache, only offsets count: packing and padding are not in the trace.
  for (const PositionFinding& each : found.findings)
    if (each.kind == "offset" || past->numbers[0] > 0) {
      notes.push_back(fmt::format("the caller's ids, behind {} cached tokens: row {}, token {}: {}",
                                  past->numbers[0], each.row, each.token, each.sentence));
      break;
    }
  return notes;
}

struct HeadFile {
  std::string_view option;
  std::string path;
};

struct HeadFiles {
  HeadFile before;
  HeadFile after;
  std::optional<std::string> positions;
};

HeadFiles files_of(const Arguments& a) {
  if (a.before) return {{"--before", *a.before}, {"--after", *a.after}, a.positions};
  if (a.ours) return {{"--ours", *a.ours}, {"--theirs", *a.theirs}, a.positions};
  require(a.trace->ends_with(".npz") || a.trace->ends_with(".safetensors"),
          "TRACE must be an .npz or a .safetensors file (else: --before FILE --after FILE), got {}",
          *a.trace);
  const std::string prefix = fmt::format("{}.", a.call);
  HeadFiles files{
      .before = {"before in TRACE", fmt::format("{}:{}{}.before", *a.trace, prefix, a.tensor)},
      .after = {"after in TRACE", fmt::format("{}:{}{}.after", *a.trace, prefix, a.tensor)},
      .positions = a.positions};
  const std::string positions = prefix + "positions";
  if (!a.positions && !a.first_position && has_array(*a.trace, positions))
    files.positions = fmt::format("{}:{}", *a.trace, positions);
  return files;
}

// The shape is [tokens] or [batch, tokens], with an optional first dimension for axes.
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
  options.most_causes = a.causes;
  if (a.ours) options.before = BeforeState::rotated_as_configured;
  options.context_tokens = a.model.resolving.context_tokens;
  if (a.model.config.empty()) return options;
  options.model = read_model(a.model);
  require(!options.model->rotary.empty(), "--config must have layers that rotate");
  print_warnings("identify", options.model->warnings);
  LayerChoice layer = a.layer;
  const auto traced_layer = traced(a, "layer");
  if (options.model->rotary.size() > 1 && !layer.layer && !layer.layer_type && traced_layer &&
      traced_layer->numbers.size() == 1)
    layer.layer = traced_layer->numbers[0];
  options.rotary = choose_rotary(*options.model, layer);
  return options;
}

std::int64_t axes_of(const IdentifyOptions& options) {
  if (!options.model) return 1;
  const auto& axes = options.model->rotary[options.rotary].spec.axes;
  return axes ? static_cast<std::int64_t>(axes->pairs.size()) : 1;
}

FloatArray read_heads(const HeadFile& file, std::optional<DType> dtype) {
  return read_floats(file.option, file.path, dtype, most_observed);
}

IdentifyAnswer identify_files(const Arguments& a, const HeadFiles& files, IdentifyOptions options) {
  const FloatArray before = read_heads(files.before, a.dtype);
  const FloatArray after = read_heads(files.after, a.dtype);
  IntegerArray positions;
  std::optional<std::int64_t> tokens;
  if (files.positions) {
    positions = read_integers("--positions", *files.positions);
    options.positions = positions_of_file(positions, axes_of(options));
    tokens = positions.shape.back();
  }
  std::optional<IdentifyAnswer> best;
  std::optional<IdentifyAnswer> faulty;
  for (const HeadsLayout& layout : layouts_of(before, a.layout, tokens)) {
    if (a.first_position)
      options.positions =
          ConsecutivePositions{.first = *a.first_position, .tokens = layout.extents.tokens};
    const IdentifyAnswer answer{.found = identify_heads(before, after, layout, options),
                                .layout = std::string(layout.name),
                                .config = a.model.config};
    if (!best || is_better(answer.found, best->found)) best = answer;
    const bool is_faulty = answer.found.verdict == Verdict::another_cause;
    if (is_faulty && (!faulty || is_better(answer.found, faulty->found))) faulty = answer;
  }
  // If the config fits in one layout and a known mistake in another, the mistake wins.
  if (best->found.verdict != Verdict::as_configured || !faulty) return *std::move(best);
  faulty->right_layout = best->layout;
  return *std::move(faulty);
}

// Reads --other in the same layout as --after.
OtherProgram identify_other(Arguments a, const IdentifyOptions& options,
                            const IdentifyAnswer& answer) {
  a.layout = *std::ranges::find(layout_names, answer.layout);
  HeadFiles files = files_of(a);
  const FloatArray after = read_heads(files.after, a.dtype);
  files.after = {"--other", *a.other};
  const FloatArray other = read_heads(files.after, a.dtype);
  OtherProgram program{.found = identify_files(a, files, options).found};
  const bool is_same = after.doubles() == other.doubles();
  program.parting = is_same ? Parting::none : parting_of(answer.found, program.found);
  return program;
}

IdentifyAnswer identify_table_files(const Arguments& a, IdentifyOptions options) {
  if (a.inv_freq) {
    const FloatArray frequencies = read_floats("--inv-freq", *a.inv_freq, {}, most_pairs);
    return {.found = value_or_fail(identify_frequencies(frequencies.doubles(), 1, options)),
            .config = a.model.config};
  }
  const FloatArray cosines = read_floats("--cos", *a.cos, a.dtype, most_observed);
  const FloatArray sines = read_floats("--sin", *a.sin, a.dtype, most_observed);
  IntegerArray positions;
  if (a.positions) {
    positions = read_integers("--positions", *a.positions);
    options.positions = positions_of_file(positions, axes_of(options));
  } else if (a.first_position) {
    const std::int64_t tokens = cosines.shape.size() < 2 ? 0 : *(cosines.shape.end() - 2);
    options.positions = ConsecutivePositions{.first = *a.first_position, .tokens = tokens};
  }
  return {.found = identify_tables(cosines, sines, options), .config = a.model.config};
}

Answer run(const Arguments& a, OutputForm form) {
  check_arguments(a);
  const IdentifyOptions options = options_of(a);
  IdentifyAnswer answer =
      a.has_heads() ? identify_files(a, files_of(a), options) : identify_table_files(a, options);
  answer.notes = notes_of_ids(a);
  const auto* const gguf = options.model && options.model->gguf ? &*options.model->gguf : nullptr;
  // A converter's row order would look like another pairing.
  if (a.trace && answer.found.verdict != Verdict::as_configured && gguf != nullptr &&
      gguf->rows == ProjectionRows::permuted)
    answer.notes.emplace_back(
        "the config is a GGUF file, whose converter reordered the rows of q and k: a trace of "
        "Transformers has the checkpoint's order, and needs its config.json");
  if (a.other) answer.other = identify_other(a, options, answer);
  const Verdict verdict = answer.found.verdict;
  const Parting parting = answer.other ? answer.other->parting : Parting::none;
  const bool is_wrong = verdict == Verdict::another_cause || parting == Parting::more;
  const bool is_unexplained = verdict == Verdict::unexplained || parting == Parting::unknown;
  const ExitCode code = is_wrong         ? ExitCode::check_failed
                        : is_unexplained ? ExitCode::unexplained
                                         : ExitCode::ok;
  if (form == OutputForm::json) return {printed(identification_json(answer)), code};
  return {identification_text(answer), code};
}

void declare_inputs(OptionParser& parser, Arguments& a) {
  parser.add("TRACE", a.trace,
             "what the adapter of rotary trace wrote: an .npz or .safetensors file with q before "
             "and after rotation");
  parser.add("--before FILE", a.before,
             "instead: queries or keys before rotation, .npy, .npz or .safetensors; FILE:NAME if "
             "it has several arrays");
  parser.add("--after FILE", a.after, "the same after rotation");
  parser.add("--other FILE", a.other,
             "another program's --after: do the two differ only by rounding?");
  parser.add("--ours FILE", a.ours, "instead: keys of a cache, rotated as the config says");
  parser.add("--theirs FILE", a.theirs, "keys of the same tokens in another cache");
  parser.add("--cos FILE", a.cos, "instead: cos, [tokens, pairs], each pair once or twice");
  parser.add("--sin FILE", a.sin, "sin, likewise");
  parser.add("--inv-freq FILE", a.inv_freq, "instead: frequencies, [pairs]");
  parser.together("--before", "--after");
  parser.together("--ours", "--theirs");
  parser.together("--cos", "--sin");
}

void declare(OptionParser& parser, Arguments& a) {
  declare_inputs(parser, a);
  parser.add("--config CONFIG", a.model.config,
             fmt::format("{}; without it the numbers are described", config_help));
  parser.add("--first-position N", a.first_position, integer(),
             "position of the first token; the others follow (found from the numbers, without "
             "--positions)");
  parser.add("--positions FILE", a.positions,
             "int32 or int64: [tokens], [batch, tokens] or [axes, batch, tokens]");
  parser.exclusive("--first-position", "--positions");
  parser.add("--layout", a.layout, one_by(std::identity{}, layout_names),
             "the axes: batch, tokens, heads, features (the layout that explains most)");
  parser.add("--dtype", a.dtype, one_of(all_dtypes), "bf16: the files hold it as uint16");
  parser.add("--call N", a.call, integer(), "which call of a TRACE, counted from 0 (0)");
  parser.add("--tensor", a.tensor,
             one_by(std::identity{}, std::array<std::string_view, 2>{"q", "k"}),
             "which tensor of a TRACE (q)");
  parser.only({"--call", "--tensor"}, "a TRACE", {"TRACE"});
  parser.only({"--other"}, "--after", {"--after"});
  parser.add("--causes 1|2", a.causes, integer({1, 2}), "how many mistakes to try at once (2)");
  parser.add("--layer N", a.layer.layer, integer(), "the layer whose rotary embedding to compare");
  declare_layer_type(parser, a.layer.layer_type);
  declare_model_options(parser, a.model);
  parser.remove("--numerics");  // predictions are exact
  parser.only({"--layer", "--layer-type", "--pairing", "--context", "--part", "--set", "--key",
               "--overrides", "--flags"},
              "a --config", {"--config"});
  parser.only({"--layout"}, "heads: TRACE, --before and --after, --ours and --theirs",
              {"TRACE", "--before", "--ours"});
  parser.only({"--dtype", "--first-position", "--positions"},
              "numbers of tokens, and not --inv-freq", {"TRACE", "--before", "--ours", "--cos"});
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
        "  rotary identify --before q.npy --after vllm.npy --other hf.npy --config config.json\n"
        "  rotary identify --ours k.npy --theirs k2.npy --config config.json "
        "--first-position 0\n"
        "  rotary identify trace.safetensors --config config.json --json | jq .verdict\n",
    .declare = declared<identify_call::declare, identify_call::run>,
};

}  // namespace rotary::cli

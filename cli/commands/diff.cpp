// SPDX-License-Identifier: Apache-2.0
// rotary diff: compares the positions of two models, or of one model in two engines.
#include "cli/commands/commands.hpp"
#include "cli/difference/difference.hpp"
#include "cli/difference/dump_comparison.hpp"
#include "rotary/model_difference.hpp"

namespace rotary::cli {
namespace diff_call {
namespace {

struct DiffOptions {
  ModelOptions model;
  std::optional<std::string> other;
  std::optional<std::string> between;
  std::optional<std::string> layer_type;
  bool allow_unknown = false;
};

Answer answer_of(const Comparison& comparison, const DiffOptions& options, OutputForm form) {
  const Agreement agreement = comparison.agreement;
  const bool is_unknown = agreement == Agreement::unknown && !options.allow_unknown;
  const ExitCode code = agreement == Agreement::different ? ExitCode::check_failed
                        : is_unknown                      ? ExitCode::unknown
                                                          : ExitCode::ok;
  if (form == OutputForm::text) return {comparison_text(comparison), code};
  return {printed(comparison_json(comparison)), code};
}

bool changes_a_file(const ResolveOptions& options) {
  return std::ranges::any_of(options.overrides, is_flag) ||
         std::ranges::any_of(options.overrides, is_merged);
}

ModelDifference compare_two(const DiffOptions& options, const std::string& with) {
  ResolveOptions resolving = options.model.resolving;
  const DumpSide one = read_side(options.model.config, resolving, options.layer_type);
  const DumpSide other = read_side(with, resolving, options.layer_type);
  require(!changes_a_file(resolving),
          "--overrides is for a config.json, --flags for a GGUF file, and neither side is one");
  for (const DumpSide* side : {&one, &other})
    if (side->model) print_warnings("diff", side->model->warnings);
  if (one.dump || other.dump) return compare_dumps(one, other, resolving.context_tokens);
  return value_or_fail(
      compare_models(*one.model, *other.model, {.context_tokens = resolving.context_tokens}));
}

// Without OTHER, compares the config after --overrides or --flags with the unchanged config.
Comparison compare_files(const DiffOptions& options) {
  const std::string other = options.other.value_or(options.model.config);
  check_standard_input({options.model.config, other});
  const std::string name(input_name(options.model.config));
  return comparison_of({options.other ? name : name + " (changed)", std::string(input_name(other))},
                       compare_two(options, other));
}

Answer run(const DiffOptions& options, OutputForm form) {
  const bool is_changed = changes_a_file(options.model.resolving);
  require(!(options.other && options.between), "diff takes OTHER or --between, got both");
  require(options.other || options.between || is_changed,
          "diff needs another model, --between, --overrides or --flags, got none");
  if (!options.between) return answer_of(compare_files(options), options, form);
  const Comparison comparison = compare_engines(options.model, *options.between);
  print_warnings("diff", comparison.readings.front().reading.model.warnings);
  return answer_of(comparison, options, form);
}

void declare(OptionParser& parser, DiffOptions& options) {
  parser
      .add("ONE", options.model.config,
           fmt::format(
               "{}; or numbers of a program: .npy or .npz with inv_freq, or with cos and sin",
               config_help))
      .required();
  parser.add("OTHER", options.other, "what to compare it with, of the same kinds");
  parser.add("--between A,B", options.between,
             fmt::format("instead of OTHER: two engines that read ONE, {}", engines_help));
  parser.add("--allow-unknown", options.allow_unknown,
             "with --between: exit code 0 also if no difference is known but one engine was never "
             "checked on such a config");
  parser.only({"--allow-unknown"}, "--between", {"--between"});
  parser.only({"--numerics"}, "two models", [&options] { return !options.between; });
  declare_layer_type(parser, options.layer_type);
  declare_model_options(parser, options.model);
  const auto dumps = [&options] {
    return (names_dump(options.model.config) ? 1 : 0) +
           (options.other && names_dump(*options.other) ? 1 : 0);
  };
  parser.only({"--layer-type"}, "a model beside numbers of a program",
              [dumps] { return dumps() == 1; });
  parser.only({"--pairing", "--numerics", "--part", "--set", "--key", "--overrides", "--flags"},
              "models", [dumps] { return dumps() < 2; });
}

}  // namespace
}  // namespace diff_call

constinit const Command diff_command{
    .name = "diff",
    .summary = "Show where the positions of two models, or engines, differ",
    .examples =
        "  rotary diff llama-3-8b.params llama-3.1-8b\n"
        "  rotary diff config.json fine-tuned/config.json --context 131072\n"
        "  rotary diff gpt-oss-20b --between transformers,llama.cpp\n"
        "  rotary diff config.json --overrides '{\"rope_theta\": 1e6}'\n"
        "  rotary diff config.json model.gguf --flags '--rope-scaling yarn --rope-scale 4'\n"
        "  rotary diff config.json --between transformers@4.55,transformers\n"
        "  rotary diff config.json --between vllm,mlx --allow-unknown\n"
        "  rotary diff config.json dumped.npz\n"
        "  rotary diff config.json qwen2.5-7b --json | jq .same\n",
    .declare = declared<diff_call::declare, diff_call::run>,
};

}  // namespace rotary::cli

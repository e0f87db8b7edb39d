// SPDX-License-Identifier: Apache-2.0
// rotary permute: reorders the weights of queries and keys for the other pairing, so that an engine
// with half pairing runs an interleaved checkpoint, and vice versa.
#include <filesystem>

#include "apps/partial_file.hpp"
#include "cli/commands/commands.hpp"
#include "cli/permute/weights.hpp"

namespace rotary::cli {
namespace permute_call {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string weights;
  std::optional<std::string> config, out;
  std::optional<Pairing> from, to;
  HeadCounts heads;
  std::vector<ConfigOverride> settings;
  Overwrite overwrite = Overwrite::refuse;

  [[nodiscard]] bool is_index() const { return weights.ends_with(".json"); }
};

// The orders of rows, each named by the pairing that reads it.
constexpr std::array orders = {Pairing::half, Pairing::interleaved};

// --config, else the config.json in the folder of the weights.
std::string config_of(const Arguments& arguments) {
  if (arguments.config) return *arguments.config;
  std::string beside = (fs::path(arguments.weights).parent_path() / "config.json").string();
  require(names_config(beside),
          "--config is required if no config.json is beside the weights: it says how wide a "
          "head is and which of its features rotate");
  return beside;
}

Pairing order_of(const RotarySpec& spec) {
  return reads_halves(spec.pairing) ? Pairing::half : Pairing::interleaved;
}

// The present order of rows: --from, else the config's.
Pairing source_order(const Arguments& arguments, const ModelSpec& model) {
  if (arguments.from) return *arguments.from;
  const Pairing order = order_of(model.rotary.front().spec);
  for (const ModelRotary& rotary : model.rotary)
    if (order_of(rotary.spec) != order)
      fail(ExitCode::unsupported, "the config's layers pair their features in different ways");
  return order;
}

void check_model(const ModelSpec& model, const std::string& config) {
  if (model.rotary.empty())
    fail(ExitCode::unsupported, "{}: no layer of this model rotates, so no order matters", config);
  for (const ModelRotary& rotary : model.rotary) {
    if (rotary.spec.blocks == 1) continue;
    fail(ExitCode::unsupported,
         "{}: features pair within {} parts of a head, for which there is no interleaved order",
         config, rotary.spec.blocks);
  }
}

Checkpoint read_checkpoint(const Arguments& arguments) {
  ModelOptions options;
  options.config = config_of(arguments);
  options.resolving.overrides = arguments.settings;
  const ConfigFile file = read_config(options.config);
  require(!file.gguf,
          "--config must be the config.json of the weights, and {} is a GGUF file, whose rows "
          "llama.cpp's converter may have moved",
          options.config);
  Checkpoint checkpoint{
      .model = model_of(file, options.config, options.resolving), .config = {}, .heads = {}};
  check_model(checkpoint.model, options.config);
  const SortedJson whole = parsed_config(file.json);
  const auto part = pointer_to(checkpoint.model.config_part);
  if (whole.contains(part)) checkpoint.config = whole.at(part);
  checkpoint.heads = head_counts(checkpoint.config, arguments.heads);
  return checkpoint;
}

std::string text_of(const Permutation& permutation, const Arguments& arguments,
                    const ModelSpec& model) {
  std::string text =
      fmt::format("from {} to {}\n\n", to_string(permutation.from), to_string(permutation.to));
  for (const PermutedTensors& tensors : permutation.permuted) {
    text += fmt::format("  {} x {}: {} {} of {} rows\n", tensors.tensors,
                        printable(shown_name(tensors.name)), tensors.heads,
                        tensors.heads == 1 ? "head" : "heads", tensors.head_dim);
  }
  text += fmt::format("  {} other {} as they were\n\n{}: written\n", permutation.copied_tensors,
                      permutation.copied_tensors == 1 ? "tensor" : "tensors",
                      printable(*arguments.out));
  const bool agrees = std::ranges::all_of(model.rotary, [&](const ModelRotary& rotary) {
    return order_of(rotary.spec) == permutation.to;
  });
  return text + fmt::format("Rotate these weights with the pairing {}{}.\n",
                            to_string(permutation.to),
                            agrees ? ", as the config says" : "; the config has the other one");
}

Json json_of(const Permutation& permutation) {
  return {{"schema_version", 1},
          {"from", to_string(permutation.from)},
          {"to", to_string(permutation.to)},
          {"permuted", json_array(permutation.permuted,
                                  [](const PermutedTensors& tensors) {
                                    return Json{{"name", tensors.name},
                                                {"tensors", tensors.tensors},
                                                {"heads", tensors.heads},
                                                {"head_dim", tensors.head_dim}};
                                  })},
          {"copied_tensors", permutation.copied_tensors},
          {"files", json_array(permutation.files, [](const WeightFile& file) {
             return Json{{"input", file.path}, {"output", file.out}};
           })}};
}

std::string run_permute(const Arguments& arguments, OutputForm form) {
  require(arguments.to.has_value(), "--to is required: half, or interleaved");
  require(arguments.out.has_value(), "--out is required: weights are never permuted in place");
  require(arguments.weights != "-", "the weights must be a file, '-' is not for them");
  const Pairing to = *arguments.to;
  const Checkpoint checkpoint = read_checkpoint(arguments);
  const Pairing from = source_order(arguments, checkpoint.model);
  require(from != to,
          "--to must differ from the present order of the rows, {}{}; for weights that were "
          "permuted before, pass --from",
          to_string(from), arguments.from ? "" : " by the config");
  const Permutation permutation =
      plan_permutation(checkpoint, arguments.weights, *arguments.out, to);
  const RemovalBySignals removal;
  std::optional<OutputFolder> folder;
  if (arguments.is_index()) folder.emplace(*arguments.out);
  std::vector<std::string> outputs;
  for (const WeightFile& file : permutation.files) outputs.push_back(file.out);
  check_outputs(outputs, arguments.overwrite);
  permute(checkpoint, permutation, arguments.overwrite);
  return form == OutputForm::json ? printed(json_of(permutation))
                                  : text_of(permutation, arguments, checkpoint.model);
}

void declare(OptionParser& parser, Arguments& arguments) {
  parser
      .add("WEIGHTS", arguments.weights,
           "a file of safetensors, or the index of several (model.safetensors.index.json)")
      .required();
  parser.add("--to", arguments.to, one_of(orders),
             "the new order: half (Llama at Hugging Face) or interleaved (Meta's checkpoints, "
             "llama.cpp's files of Llama)");
  parser.add("--from", arguments.from, one_of(orders),
             "the present order of the rows (the config's pairing)");
  parser.add(
      "--config CONFIG", arguments.config,
      "the weights' own config.json, or a model card's name (config.json beside the weights)");
  parser.add("--set KEY=VALUE", arguments.settings, setting(), std::string(config_settings_help));
  parser.add("--heads H", arguments.heads.query, integer({1, INT64_MAX}),
             "heads of queries, for fused weights (as the config says)");
  parser.add("--kv-heads H", arguments.heads.key, integer({1, INT64_MAX}),
             "heads of keys, for fused weights (as the config says)");
  parser.add("-o,--out PATH", arguments.out,
             "the file to write; for an index, the folder of the files");
  declare_force(parser, arguments.overwrite);
}

}  // namespace
}  // namespace permute_call

constinit const Command permute_command{
    .name = "permute",
    .summary = "Reorder the rows of q and k in a checkpoint for the other pairing",
    .examples =
        "  rotary permute model.safetensors --to interleaved --out permuted.safetensors\n"
        "  rotary permute model.safetensors.index.json --to interleaved --out permuted\n"
        "  rotary permute meta.safetensors --from interleaved --to half --out hf.safetensors\n",
    .declare = declared<permute_call::declare, permute_call::run_permute>,
};

}  // namespace rotary::cli

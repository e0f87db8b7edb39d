// SPDX-License-Identifier: Apache-2.0
// rotary report: writes a page about configs (cli/report/). The page needs no network.
#include <iterator>

#include "cli/commands/commands.hpp"
#include "cli/difference/difference.hpp"
#include "cli/report/contents.hpp"

namespace rotary::cli {
namespace report_call {
namespace {

// Colour-blind readers can hardly distinguish more colours on light and dark backgrounds.
constexpr std::size_t most_configs = 4;

struct Arguments {
  std::vector<std::string> configs;
  ModelOptions model;  // for every config; model.config is unused
  std::optional<std::string> between;
  OutputOption output;
};

void check(const Arguments& arguments) {
  require(arguments.configs.size() <= most_configs, "a report takes at most {} configs, got {}",
          most_configs, arguments.configs.size());
  for (std::size_t i = 0; i < arguments.configs.size(); ++i) {
    const auto before = std::span(arguments.configs).first(i);
    require(std::ranges::find(before, arguments.configs[i]) == before.end(),
            "the configs must differ, got '{}' twice", arguments.configs[i]);
  }
  require(!arguments.between || arguments.configs.size() == 1,
          "--between takes one config, which two engines read, got {}", arguments.configs.size());
  arguments.output.check();
}

// Adds the config's name, because several configs may have the same warning.
std::vector<std::string> with_name(const std::string& config,
                                   const std::vector<std::string>& warnings) {
  std::vector<std::string> named;
  named.reserve(warnings.size());
  for (const std::string& warning : warnings)
    named.push_back(fmt::format("{}: {}", config, warning));
  return named;
}

std::vector<page::NamedModel> read_models(const Arguments& arguments) {
  const ResolveOptions& options = arguments.model.resolving;
  std::vector<page::NamedModel> models;
  for (const std::string& config : arguments.configs) {
    const std::string name(input_name(config));
    ConfigFile file = read_config(config);
    ModelSpec model = model_of(file, config, options);
    models.push_back(
        {.name = name, .file = std::move(file), .options = options, .model = std::move(model)});
    print_warnings("report", with_name(name, models.back().model.warnings));
  }
  return models;
}

// Compares the first config with every other config, or one config in two engines.
std::vector<Comparison> comparisons_of(const Arguments& arguments,
                                       const std::vector<page::NamedModel>& models) {
  std::vector<Comparison> comparisons;
  const auto context_tokens = arguments.model.resolving.context_tokens;
  for (std::size_t i = 1; i < models.size(); ++i) {
    comparisons.push_back(
        comparison_of({models[0].name, models[i].name},
                      value_or_fail(compare_models(models[0].model, models[i].model,
                                                   {.context_tokens = context_tokens}))));
  }
  if (!arguments.between) return comparisons;
  ModelOptions options = arguments.model;
  options.config = arguments.configs.front();
  comparisons.push_back(compare_engines(options, *arguments.between));
  return comparisons;
}

Json summary_of(const Arguments& arguments, const Json& contents, std::size_t bytes) {
  std::vector<std::string> warnings;
  for (const Json& config : contents.at("configs"))
    std::ranges::move(with_name(config.at("name"), config.at("warnings")),
                      std::back_inserter(warnings));
  const auto encoding_json = [](const Json& subject) -> Json {
    const auto figure_name = [](const Json& placed) { return placed.at("figure").at("name"); };
    return {{"name", subject.at("name")},
            {"kind", subject.at("kind")},
            {"figures", json_array(subject.at("ranges").front().at("figures"), figure_name)}};
  };
  return {{"schema_version", 1},
          {"output", arguments.output.path},
          {"bytes", bytes},
          {"configs", arguments.configs},
          {"encodings", json_array(contents.at("subjects"), encoding_json)},
          {"warnings", warnings}};
}

std::string run_report(const Arguments& arguments, OutputForm form) {
  check(arguments);
  const std::vector<page::NamedModel> models = read_models(arguments);
  const auto context_tokens = arguments.model.resolving.context_tokens;
  Json contents = page::make_contents(models, context_tokens);
  contents["differences"] =
      json_array(comparisons_of(arguments, models), [](const Comparison& comparison) -> Json {
        return {{"one", comparison.sides.one},
                {"other", comparison.sides.other},
                {"same", comparison.agreement == Agreement::same},
                {"sentences", comparison_sentences(comparison)}};
      });
  std::string page = page::page_with(printed(contents));
  const Json summary = summary_of(arguments, contents, page.size());
  arguments.output.write(page);
  if (form == OutputForm::json) return printed(summary);
  std::string text = fmt::format("{}: {} kB\n", printable(arguments.output.path.value_or("")),
                                 (page.size() + 999) / 1000);
  for (const Json& encoding : summary.at("encodings")) {
    const auto figures = encoding.at("figures").get<std::vector<std::string>>();
    text +=
        fmt::format("  {}: {}{}\n", printable(encoding.at("name").get_ref<const std::string&>()),
                    encoding.at("kind").get_ref<const std::string&>(),
                    figures.empty() ? "" : fmt::format("; {}", fmt::join(figures, ", ")));
  }
  return text;
}

void declare(OptionParser& parser, Arguments& arguments) {
  parser
      .add("CONFIG", arguments.configs,
           fmt::format("up to {} configs, shown side by side: {}", most_configs, config_help))
      .required();
  declare_output(parser, arguments.output, "where the page goes: one HTML file").required();
  parser.add("--between A,B", arguments.between,
             fmt::format("a section on two engines that read the one config, {}", engines_help));
  declare_model_options(parser, arguments.model);
}

}  // namespace
}  // namespace report_call

constinit const Command report_command{
    .name = "report",
    .summary = "Make a page that compares what configs say about positions",
    .examples =
        "  rotary report config.json -o page.html\n"
        "  rotary report llama-3.1-8b qwen2.5-7b -o page.html\n"
        "  rotary report config.json --context 65536 --set rope_theta=1e6 -o page.html --force\n",
    .declare = declared<report_call::declare, report_call::run_report>,
};

}  // namespace rotary::cli

// SPDX-License-Identifier: Apache-2.0
// rotary report: what configs say about positions, as one page that opens in a browser without a
// network. What is on it: cli/report/.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "cli/json_writer.hpp"
#include "cli/model_input.hpp"
#include "cli/model_options.hpp"
#include "cli/printable.hpp"
#include "cli/report/report_page.hpp"
#include "cli/report/subjects.hpp"
#include "cli/warning.hpp"

namespace rotary::cli {
namespace {

// Colours that colour-blind readers can tell apart, on both grounds, are not many more.
constexpr std::size_t most_configs = 4;

struct Arguments {
  std::vector<std::string> configs;
  ModelOptions model;  // of all of them; its config is not used
  std::string out;
  bool force = false;
};

void check(const Arguments& arguments) {
  if (arguments.configs.size() > most_configs) {
    throw Failure(ExitCode::usage, fmt::format("a report takes at most {} configs, got {}",
                                               most_configs, arguments.configs.size()));
  }
  for (std::size_t i = 0; i < arguments.configs.size(); ++i) {
    const std::string& config = arguments.configs[i];
    const auto before = std::span(arguments.configs).first(i);
    if (std::ranges::find(before, config) != before.end()) {
      throw Failure(ExitCode::usage,
                    fmt::format("each config must be another one, got '{}' twice", config));
    }
  }
  const Overwrite overwrite = arguments.force ? Overwrite::allow : Overwrite::refuse;
  check_outputs(std::span(&arguments.out, 1), overwrite);
}

// Several configs may warn of the same.
std::vector<std::string> with_name(const std::string& config,
                                   const std::vector<std::string>& warnings) {
  std::vector<std::string> named;
  named.reserve(warnings.size());
  for (const std::string& warning : warnings) {
    named.push_back(fmt::format("{}: {}", config, warning));
  }
  return named;
}

std::vector<page::NamedModel> read_models(const Arguments& arguments) {
  const ResolveOptions options = resolve_options(arguments.model);
  std::vector<page::NamedModel> models;
  for (const std::string& config : arguments.configs) {
    const std::string name(input_name(config));
    std::string json = read_config(config);
    ModelSpec model = model_of(json, config, options);
    models.push_back(
        {.name = name, .json = std::move(json), .options = options, .model = std::move(model)});
    print_warnings("report", with_name(name, models.back().model.warnings));
  }
  return models;
}

std::string text_of(const Arguments& arguments, const page::Contents& contents, std::size_t bytes) {
  std::string text = fmt::format("{}: {} kB\n", printable(arguments.out), (bytes + 999) / 1000);
  for (const page::Encoding& encoding : contents.encodings) {
    std::vector<std::string> figures;
    for (const page::PlacedFigure& placed : encoding.ranges.front().figures) {
      figures.push_back(placed.figure.name);
    }
    text += fmt::format("  {}: {}{}\n", printable(encoding.name), to_string(encoding.kind),
                        figures.empty() ? "" : fmt::format("; {}", fmt::join(figures, ", ")));
  }
  return text;
}

void write_encoding(JsonWriter& json, const page::Encoding& encoding) {
  json.begin_object();
  json.member("name", encoding.name);
  json.member("kind", to_string(encoding.kind));
  json.key("figures");
  json.begin_array();
  for (const page::PlacedFigure& placed : encoding.ranges.front().figures) {
    json.value(placed.figure.name);
  }
  json.end_array();
  json.end_object();
}

std::string json_of(const Arguments& arguments, const page::Contents& contents, std::size_t bytes) {
  std::vector<std::string> warnings;
  for (const page::Card& card : contents.cards) {
    std::ranges::move(with_name(card.name, card.warnings), std::back_inserter(warnings));
  }
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.member("output", arguments.out);
  json.member("bytes", bytes);
  json.array("configs", arguments.configs);
  json.key("encodings");
  json.begin_array();
  for (const page::Encoding& encoding : contents.encodings) write_encoding(json, encoding);
  json.end_array();
  json.array("warnings", warnings);
  json.end_object();
  return std::move(json).finish();
}

std::string run_report(const Arguments& arguments, OutputForm form) {
  check(arguments);
  const std::vector<page::NamedModel> models = read_models(arguments);
  const auto context_tokens = resolve_options(arguments.model).context_tokens;
  const page::Contents contents = page::make_contents(models, context_tokens);
  const OutputFile file{.path = arguments.out,
                        .bytes = page::page_with(page::report_page(), page::json_of(contents))};
  write_files(std::span(&file, 1), arguments.force ? Overwrite::allow : Overwrite::refuse);
  return form == OutputForm::json ? json_of(arguments, contents, file.bytes.size())
                                  : text_of(arguments, contents, file.bytes.size());
}

Run declare(OptionParser& parser) {
  const auto arguments = std::make_shared<Arguments>();
  parser
      .add("CONFIG", arguments->configs,
           fmt::format("up to {} configs, shown side by side: {}", most_configs, config_help))
      .required();
  parser.add("-o,--out FILE", arguments->out, "where the page goes: one HTML file").required();
  parser.add("--force", arguments->force, "replace an output that exists");
  declare_model_options(parser, arguments->model);
  return [arguments](OutputForm form) { return run_report(*arguments, form); };
}

}  // namespace

constinit const Command report_command{
    .name = "report",
    .summary = "Make a page that compares what configs say about positions",
    .examples =
        "  rotary report config.json -o page.html\n"
        "  rotary report llama-3.1-8b qwen2.5-7b -o page.html\n"
        "  rotary report config.json --context 65536 --set rope_theta=1e6 -o page.html --force\n",
    .declare = declare,
};

}  // namespace rotary::cli

// SPDX-License-Identifier: Apache-2.0
// rotary plot: a figure of a model's positions, as a picture or as its numbers.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "cli/json.hpp"
#include "cli/model_input.hpp"
#include "cli/plot/figures.hpp"
#include "cli/plot/gnuplot.hpp"
#include "cli/plot/numbers.hpp"
#include "cli/plot/request_input.hpp"
#include "cli/printable.hpp"

namespace rotary::cli {
namespace {

struct Arguments {
  std::optional<std::string> name;
  plot::RequestOptions request;
  std::optional<std::string> out, theme;
  bool list = false;
  bool csv = false;
  bool force = false;

  [[nodiscard]] Overwrite overwrite() const noexcept {
    return force ? Overwrite::allow : Overwrite::refuse;
  }
};

std::string_view configs_text(plot::Subjects subjects) {
  switch (subjects) {
    case plot::Subjects::none:
      return "none";
    case plot::Subjects::one:
      return "one";
    case plot::Subjects::several:
      return "several";
  }
  return {};
}

std::string list_of_figures(OutputForm form) {
  if (form == OutputForm::text) {
    std::string text;
    for (const plot::FigureMaker& maker : plot::figure_makers())
      text += fmt::format("{:<12} {}\n", maker.name, maker.summary);
    return text;
  }
  const auto row = [](const plot::FigureMaker& maker) {
    return Json{{"name", maker.name},
                {"summary", maker.summary},
                {"configs", configs_text(maker.subjects)}};
  };
  return printed({{"schema_version", 1}, {"figures", json_array(plot::figure_makers(), row)}});
}

const plot::FigureMaker& maker_of(const Arguments& arguments) {
  if (const plot::FigureMaker* maker = plot::find_figure(arguments.name.value_or("")))
    return *maker;
  std::vector<std::string_view> names;
  for (const plot::FigureMaker& maker : plot::figure_makers()) names.push_back(maker.name);
  if (arguments.name) fail_choice("NAME", *arguments.name, names);
  throw Failure(ExitCode::usage,
                fmt::format("NAME is required: one of {}", fmt::join(names, ", ")));
}

plot::Drawing drawing_of(const Arguments& arguments, const std::string& path) {
  plot::Drawing drawing;
  if (path.ends_with(".png")) {
    drawing.picture = plot::Picture::png;
  } else if (!path.ends_with(".svg")) {
    throw Failure(ExitCode::usage, fmt::format("-o must end in .svg or .png, got '{}'", path));
  }
  drawing.theme = choose<plot::Theme>("--theme", arguments.theme.value_or("light"),
                                      {{"light", plot::Theme::light}, {"dark", plot::Theme::dark}});
  return drawing;
}

// Where the picture goes; absent where only numbers are asked for.
std::optional<std::string> picture_path(const Arguments& arguments, OutputForm form) {
  if (arguments.csv && form == OutputForm::json)
    throw Failure(ExitCode::usage, "--csv and --json exclude each other");
  if (arguments.out) return arguments.out;
  if (arguments.csv || form == OutputForm::json) {
    if (arguments.theme) throw Failure(ExitCode::usage, "--theme needs a picture, -o FILE");
    return std::nullopt;
  }
  return fmt::format("{}.svg", *arguments.name);
}

std::string run_plot(const Arguments& arguments, OutputForm form) {
  if (arguments.list) {
    if (arguments.name) throw Failure(ExitCode::usage, "--list takes no NAME");
    return list_of_figures(form);
  }
  const plot::FigureMaker& maker = maker_of(arguments);
  const std::optional<std::string> path = picture_path(arguments, form);
  std::optional<plot::Drawing> drawing;
  if (path) {
    drawing = drawing_of(arguments, *path);
    check_outputs(std::span(&*path, 1), arguments.overwrite());
  }
  const plot::Figure figure = maker.make(plot::read_request(maker, arguments.request));
  if (drawing) {
    const OutputFile file{.path = *path, .bytes = plot::draw(figure, *drawing)};
    write_files(std::span(&file, 1), arguments.overwrite());
  }
  if (form == OutputForm::json)
    return printed({{"schema_version", 1}, {"output", path}, {"figure", figure}});
  if (arguments.csv) return plot::csv_of(figure);
  return fmt::format("{}: {}\n{}\n", printable(*path), figure.title, figure.caption);
}

void declare_request(OptionParser& parser, plot::RequestOptions& request) {
  parser.add("CONFIG", request.configs,
             fmt::format("{}; or rope, with --set. Several are overlaid where the figure "
                         "compares. None: RoPE with d = 128 and base 10000",
                         config_help));
  declare_model_options(parser, request.model);
  parser.replace_help("--context",
                      "tokens of the context that you mean to use: a line of wavelengths; and for "
                      "rules that depend on it (dynamic, longrope)");
  parser.add("--layer-type T", request.layer_type,
             "the config's name for the layers you mean, when a model has several");
  parser.add("--last N", request.last, "the last position or distance that is drawn");
  parser.add(
      "--dim D", request.dim,
      "of tables and sinusoidal: features of the absolute encodings; of similarity: d_model; "
      "of base: d; of shaw: how far the window reaches; of alibi: heads");
  parser.add("--seed N", request.seed, "of what is random (1)");
  parser.add("--words TEXT", request.words, "of attention: words, blanks between them");
  parser.add("--table FILE", request.table,
             "of tables: a learned table, NPY of f32 or f64 [positions, features]");
}

Run declare(OptionParser& parser) {
  const auto arguments = std::make_shared<Arguments>();
  parser.add("NAME", arguments->name, "which figure: --list says what there is");
  declare_request(parser, arguments->request);
  parser.add("-o,--out FILE", arguments->out, "the picture, .svg or .png (NAME.svg)");
  parser.add("--theme light|dark", arguments->theme, "colours of the picture (light)");
  parser.add("--csv", arguments->csv, "print the numbers as CSV");
  parser.add("--list", arguments->list, "print which figures there are");
  parser.add("--force", arguments->force, "replace an output that exists");
  return [arguments](OutputForm form) { return run_plot(*arguments, form); };
}

}  // namespace

constinit const Command plot_command{
    .name = "plot",
    .summary = "Draw a figure of a model's positions, or print its numbers",
    .examples =
        "  rotary plot --list\n"
        "  rotary plot wavelengths llama-3.1-8b --context 131072 -o wavelengths.svg\n"
        "  rotary plot scaling llama-2-7b-chat llama-3.1-8b -o scaling.png --theme dark\n"
        "  rotary plot decay --csv\n"
        "  rotary plot decay rope --set head_dim=64 --set base=500000 --set pairing=half\n"
        "  rotary plot attention --words 'the dog chases the pig'\n"
        "  rotary plot tables --table wpe.npy -o tables.png\n",
    .declare = declare,
};

}  // namespace rotary::cli

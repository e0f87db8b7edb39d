// SPDX-License-Identifier: Apache-2.0
// rotary plot: draws a figure of a model's positions, or prints its numbers.
#include "cli/commands/commands.hpp"
#include "cli/plot/figures.hpp"
#include "cli/plot/gnuplot.hpp"

namespace rotary::cli {
namespace plot_call {
namespace {

struct Arguments {
  std::optional<plot::FigureMaker> maker;
  plot::RequestOptions request;
  plot::Theme theme = plot::Theme::light;
  OutputOption output;
  bool list = false;
  bool csv = false;
};

std::string list_of_figures(OutputForm form) {
  const auto makers = plot::figure_makers();
  const auto maker_json = [](const plot::FigureMaker& maker) -> Json {
    constexpr std::array subjects = {"none", "one", "several"};
    return {{"name", maker.name},
            {"summary", maker.summary},
            {"configs", subjects.at(static_cast<std::size_t>(maker.subjects))}};
  };
  if (form == OutputForm::json)
    return printed({{"schema_version", 1}, {"figures", json_array(makers, maker_json)}});
  std::string text;
  for (const plot::FigureMaker& maker : makers)
    text += fmt::format("{:<12} {}\n", maker.name, maker.summary);
  return text;
}

std::string run_plot(const Arguments& arguments, OutputForm form) {
  if (arguments.list) return list_of_figures(form);
  require(arguments.maker.has_value(), "NAME is required: one of {}",
          names_text(plot::figure_makers(), &plot::FigureMaker::name));
  const plot::FigureMaker& maker = *arguments.maker;
  const bool is_json = form == OutputForm::json;
  require(!arguments.csv || !is_json, "--csv and --json exclude each other");
  OutputOption output = arguments.output;
  if (!output.path && !arguments.csv && !is_json) output.path = fmt::format("{}.svg", maker.name);
  const auto& path = output.path;
  const bool is_png = path && path->ends_with(".png");
  require(!path || is_png || path->ends_with(".svg"), "-o must end in .svg or .png, got '{}'",
          path.value_or(""));
  output.check();
  const plot::Figure figure = maker.make(plot::read_request(maker, arguments.request));
  if (path)
    output.write(plot::draw(figure, {.picture = is_png ? plot::Picture::png : plot::Picture::svg,
                                     .theme = arguments.theme}));
  if (is_json) return printed({{"schema_version", 1}, {"output", path}, {"figure", figure}});
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
  declare_layer_type(parser, request.layer_type);
  parser.add("--last N", request.last, integer({1, INT64_MAX}),
             "the last position or distance that is drawn");
  parser.add(
      "--dim D", request.dim, integer({2, 65536}),
      "of tables and sinusoidal: features of the absolute encodings; of similarity: d_model; "
      "of base: d; of shaw: how far the window reaches; of alibi: heads");
  parser.add("--seed N", request.seed, integer({0, 1'000'000'000}), "of random numbers (1)");
  parser.add("--words TEXT", request.words, "of attention: words, blanks between them");
  parser.add("--table FILE", request.table,
             "of tables: a learned table, NPY of f32 or f64 [positions, features]");
}

// Allows the option only for figures that read it.
void declare_use(OptionParser& parser, std::string_view option, const Arguments& arguments,
                 plot::Uses use) {
  std::vector<plot::FigureMaker> readers;
  std::ranges::copy_if(plot::figure_makers(), std::back_inserter(readers),
                       [use](const plot::FigureMaker& maker) { return maker.reads(use); });
  parser.only({option}, names_text(readers, &plot::FigureMaker::name),
              [&arguments, use] { return !arguments.maker || arguments.maker->reads(use); });
}

void declare_uses(OptionParser& parser, const Arguments& arguments) {
  using plot::Uses;
  declare_use(parser, "--last", arguments, Uses::last);
  declare_use(parser, "--dim", arguments, Uses::dim);
  declare_use(parser, "--seed", arguments, Uses::seed);
  declare_use(parser, "--words", arguments, Uses::words);
  declare_use(parser, "--table", arguments, Uses::learned);
  parser.only({"--context"}, "a CONFIG, or wavelengths", [&arguments] {
    return !arguments.request.configs.empty() || !arguments.maker ||
           arguments.maker->reads(Uses::context);
  });
  parser.only({"--pairing", "--numerics", "--part", "--set", "--key", "--overrides", "--flags",
               "--layer-type"},
              "a CONFIG (rope: by --set alone)", {"CONFIG"});
  parser.only({"--theme", "--force"}, "a picture, -o FILE", [&parser, &arguments] {
    return arguments.output.path || !(arguments.csv || parser.given("--json"));
  });
  parser.alone("--list");
}

void declare(OptionParser& parser, Arguments& arguments) {
  parser.add("NAME", arguments.maker, one_by(&plot::FigureMaker::name, plot::figure_makers()),
             "which figure (--list)");
  declare_request(parser, arguments.request);
  declare_force(parser, arguments.output.overwrite);
  parser.add("-o,--out FILE", arguments.output.path, "the picture, .svg or .png (NAME.svg)");
  parser.add("--theme", arguments.theme,
             one_named<plot::Theme>({{"light", plot::Theme::light}, {"dark", plot::Theme::dark}}),
             "colours of the picture (light)");
  parser.add("--csv", arguments.csv, "print the numbers as CSV");
  parser.add("--list", arguments.list, "list the figures");
  declare_uses(parser, arguments);
}

}  // namespace
}  // namespace plot_call

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
    .declare = declared<plot_call::declare, plot_call::run_plot>,
};

}  // namespace rotary::cli

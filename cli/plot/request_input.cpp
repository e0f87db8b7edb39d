// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <sstream>

#include "apps/failure.hpp"
#include "apps/files.hpp"
#include "apps/npy/npy.hpp"
#include "apps/printable.hpp"
#include "apps/standard_streams.hpp"
#include "cli/arguments.hpp"
#include "cli/hidden_size.hpp"
#include "cli/model_input.hpp"
#include "cli/plot/makers.hpp"
#include "cli/tensor_input.hpp"

namespace rotary::cli::plot {
namespace {

constexpr std::size_t most_configs = 6;  // more lines would look too similar
constexpr NpyLimit most_cells{.elements = std::uint64_t{1} << 20};
constexpr std::int64_t most_features = 4096;  // some figures compute each pair 200,000 times

void add_subjects(std::vector<Subject>& subjects, const FigureMaker& maker,
                  const RequestOptions& options, const ModelOptions& of_config) {
  const bool is_unnamed = is_rope(of_config);
  const ConfigFile config = is_unnamed ? ConfigFile{.json = "{}"} : read_config(of_config.config);
  const ModelSpec model = is_unnamed ? model_of_settings(of_config)
                                     : model_of(config, of_config.config, of_config.resolving);
  print_warnings("plot", model.warnings);
  if (model.rotary.empty())
    fail(ExitCode::unsupported, "{}: the model has no rotary embedding",
         input_name(of_config.config));
  const bool takes_one = maker.subjects == Subjects::one || options.layer_type;
  const std::size_t first =
      takes_one ? choose_rotary(model, {.layer_type = options.layer_type}) : 0;
  const std::size_t end = takes_one ? first + 1 : model.rotary.size();
  for (std::size_t index = first; index < end; ++index) {
    const ModelRotary& rotary = model.rotary[index];
    if (rotary.spec.xpos)
      fail(ExitCode::unsupported,
           "figures are of rotations alone; the rows of xPos are not: `rotary table xpos`");
    require(rotary.spec.head_dim <= most_features,
            "{}: a figure must be about a head of at most {} features, got {}",
            input_name(of_config.config), most_features, rotary.spec.head_dim);
    Subject& subject = subjects.emplace_back(Subject{
        .name = is_unnamed ? "RoPE, " + numbers_text(rotary.spec) : printable(of_config.config),
        .spec = rotary.spec,
        .frequencies = frequencies_of(model, index, of_config),
        .trained_context_tokens = rotary.trained_context_tokens,
        .hidden_size = hidden_size_of(config.json, of_config.resolving)});
    if (model.rotary.size() > 1)
      subject.name += fmt::format(" ({})", printable(*rotary.layer_type));
  }
}

}  // namespace

Request read_request(const FigureMaker& maker, const RequestOptions& options) {
  constexpr std::array<std::size_t, 3> most = {0, 1, most_configs};  // index: Subjects
  const std::array<std::string, 3> takes = {"no", "one", fmt::format("at most {}", most_configs)};
  const auto subjects = static_cast<std::size_t>(maker.subjects);
  require(options.configs.size() <= most[subjects], "{} takes {} CONFIG, got {}", maker.name,
          takes[subjects], options.configs.size());
  Request request{.context_tokens = options.model.resolving.context_tokens};
  for (const std::string& config : options.configs) {
    ModelOptions of_config = options.model;
    of_config.config = config;
    add_subjects(request.subjects, maker, options, of_config);
  }
  require(!options.last || *options.last <= maker.most_last, "--last must be in [1, {}], got {}",
          maker.most_last, options.last.value_or(0));
  request.last = options.last;
  request.dim = options.dim;
  request.seed = static_cast<std::uint64_t>(options.seed);
  std::istringstream words(options.words.value_or(""));
  for (std::string word; std::getline(words, word, ' ');)
    if (!word.empty()) request.words.push_back(printable(word));
  if (!options.table) return request;
  const NpyArray array = read_npy_file(*options.table, most_cells);
  const auto& shape = array.shape;
  require(shape.size() == 2 && !array.data.empty(),
          "--table must be [positions, features] with numbers, got {}", shape_text(shape));
  require(array.type == NpyType::f32 || array.type == NpyType::f64,
          "--table must be of f32 or f64, got {}", descr_of(array.type));
  request.learned = HeatMap{.rows = static_cast<std::size_t>(shape[0]),
                            .columns = static_cast<std::size_t>(shape[1]),
                            .values = array.doubles(),
                            .colors = HeatMap::Colors::diverging};
  return request;
}

}  // namespace rotary::cli::plot

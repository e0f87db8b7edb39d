// SPDX-License-Identifier: Apache-2.0
// The figures. A new one needs a function in <topic>.cpp and lines in makers.hpp and figures.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/model_options.hpp"
#include "cli/plot/figure.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::cli::plot {

// One rotary embedding; a config with several gives several subjects.
struct Subject {
  std::string name;  // the config's, with the layer type if there are several
  RotarySpec spec;
  Frequencies frequencies;
  std::optional<std::int64_t> trained_context_tokens = {};
  std::optional<std::int64_t> hidden_size = {};  // features of a token, if a config has them
};

// The input of a figure. Each figure has its own defaults.
struct Request {
  std::vector<Subject> subjects = {};               // none: the figure takes usual_subject()
  std::optional<std::int64_t> context_tokens = {};  // a line of wavelengths
  std::optional<std::int64_t> last = {};            // the last position or distance, >= 1
  std::optional<std::int64_t> dim = {};             // features; alibi: heads; shaw: reach
  std::uint64_t seed = 1;                           // for random numbers
  std::vector<std::string> words = {};              // the user's own tokens
  std::optional<HeatMap> learned = {};              // a learned table [positions, features]
};

// How many configs a figure accepts.
enum class Subjects {
  none,     // for figures about no model
  one,      // for figures of one rotary embedding
  several,  // any number, overlaid
};

// The members of a request that a figure reads, besides its subjects.
enum Uses : unsigned {
  nothing = 0,
  dim = 1,
  seed = 2,
  words = 4,
  learned = 8,
  context = 16,
  last = 32,
};

using Make = Figure(const Request& request);

struct FigureMaker {
  std::string_view name;
  std::string_view summary;  // one line: what it shows
  Subjects subjects;
  unsigned uses;           // a sum of Uses
  std::int64_t most_last;  // the largest Request::last; 0 if it reads none
  Make* make_unnamed;

  [[nodiscard]] bool reads(Uses use) const noexcept {
    return use == Uses::last ? most_last > 0 : (uses & use) != 0;
  }
  // Throws Failure.
  [[nodiscard]] Figure make(const Request& request) const {
    Figure figure = make_unnamed(request);
    figure.name = name;
    return figure;
  }
};

[[nodiscard]] std::span<const FigureMaker> figure_makers() noexcept;

struct RequestOptions {
  std::vector<std::string> configs;  // files, cards, or "rope" with --set
  ModelOptions model;                // for each of them
  std::optional<std::string> layer_type, words, table;
  std::optional<std::int64_t> last, dim;
  std::int64_t seed = 1;
};

// Defined in request_input.cpp. Prints warnings. A Failure names the option, the requirement and
// the value.
[[nodiscard]] Request read_request(const FigureMaker& maker, const RequestOptions& options);

}  // namespace rotary::cli::plot

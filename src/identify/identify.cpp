// SPDX-License-Identifier: Apache-2.0
#include "rotary/identify.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/enumerators.hpp"
#include "base/extremes.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "identify/all_tokens.hpp"
#include "identify/distance.hpp"
#include "identify/position_patterns.hpp"
#include "identify/position_reading.hpp"
#include "identify/search.hpp"
#include "identify/structure.hpp"

namespace rotary {

template <>
struct Describe<CauseGroup> {
  static constexpr std::array enumerators = {
      NamedEnumerator{CauseGroup::structure, "structure"},
      NamedEnumerator{CauseGroup::attention_factor, "attention_factor"},
      NamedEnumerator{CauseGroup::direction, "direction"},
      NamedEnumerator{CauseGroup::frequencies, "frequencies"},
      NamedEnumerator{CauseGroup::positions, "positions"},
      NamedEnumerator{CauseGroup::axes, "axes"},
      NamedEnumerator{CauseGroup::precision, "precision"}};
};
template <>
struct Describe<FoundArithmetic> {
  static constexpr std::array enumerators = {
      NamedEnumerator{FoundArithmetic::exact, "exact"},
      NamedEnumerator{FoundArithmetic::float32_angles, "float32_angles"},
      NamedEnumerator{FoundArithmetic::rounded_rows, "rounded_rows"},
      NamedEnumerator{FoundArithmetic::every_step, "every_step"}};
};
template <>
struct Describe<Verdict> {
  static constexpr std::array enumerators = {
      NamedEnumerator{Verdict::as_configured, "as_configured"},
      NamedEnumerator{Verdict::another_cause, "another_cause"},
      NamedEnumerator{Verdict::described, "described"},
      NamedEnumerator{Verdict::unexplained, "unexplained"}};
};

namespace {

using identification::Candidate;
using identification::Dump;
using identification::Observed;
using identification::Operation;
using identification::Sample;
using identification::Search;
using identification::Start;

constexpr std::size_t most_explanations = 2000;
constexpr std::size_t closest_shown = 5;
// A first position's residual must be below 0.7 times this. Frequencies may still be wrong.
constexpr double most_unfitting = 0.35;
constexpr double assumed_base = 10000;

Status check_options(const IdentifyOptions& options) {
  if (options.most_causes != 1 && options.most_causes != 2)
    return invalid_argument("most_causes must be 1 or 2, got ", options.most_causes);
  if (options.before != BeforeState::unrotated &&
      options.before != BeforeState::rotated_as_configured)
    return invalid_argument("before must be unrotated or rotated_as_configured, got value ",
                            static_cast<std::int32_t>(options.before));
  const bool undoes = options.before == BeforeState::rotated_as_configured;
  if (undoes && (!options.model || !options.positions))
    return invalid_argument(
        "rotated_as_configured needs a model and positions, which say what to undo");
  if (!options.model) {
    if (options.rotary == 0) return {};
    return invalid_argument("rotary must be 0 without a model, got ", options.rotary);
  }
  const auto& embeddings = options.model->rotary;
  if (options.rotary >= embeddings.size())
    return invalid_argument("rotary must be an index of the model's ", embeddings.size(),
                            " rotary embeddings, got ", options.rotary);
  if (embeddings[options.rotary].spec.xpos)
    return unsupported("xPos makes vectors longer and shorter, which identify() does not know");
  return {};
}

// A table of cos and sin has one number per pair and no head. The spec treats it as a head whose
// paired features are half a head apart.
void use_table_window(RotarySpec& spec, const Sample& sample) {
  spec.head_dim = static_cast<std::int64_t>(sample.features);
  spec.rotary_dim.reset();
  spec.first_feature = 0;
  spec.blocks = 1;
  spec.pairing = Pairing::half;
}

Status check_table_width(const RotarySpec& spec, const Sample& sample) {
  auto window = head_window(spec);
  if (!window) return std::move(window).error();
  const auto features = static_cast<std::int64_t>(sample.features);
  if (window->rotary_dim == features) return {};
  return invalid_argument("the model turns ", window->pairs(), " pairs, and the table has ",
                          features / 2, ": look at partial_rotary_factor and head_dim");
}

// The model to start from if the caller gives none, suggested by norms and angles.
ModelSpec suggested_model(const Sample& sample) {
  const auto structure = identification::structure_of(sample, {});
  const HeadWindow& window = structure.window;
  RotarySpec spec{.head_dim = window.head_dim,
                  .rotary_dim = window.rotary_dim,
                  .first_feature = window.first_feature,
                  .base = assumed_base,
                  .pairing = window.pairing,
                  .blocks = window.blocks};
  if (sample.observed != Observed::heads) use_table_window(spec, sample);
  const auto turns = identification::measured_turns(sample, window);
  const auto base = identification::base_of_turns(turns, identification::smallest_turn(sample));
  if (base) spec.base = identification::with_few_digits(*base, 1e-2);
  ModelSpec model;
  model.rotary.push_back({.layer_type = {}, .spec = spec, .trained_context_tokens = {}});
  return model;
}

std::int64_t context_of(const IdentifyOptions& options, const Sample& sample) {
  if (options.context_tokens) return *options.context_tokens;
  double farthest = 0;
  for (const double position : sample.positions) farthest = larger(farthest, position);
  return static_cast<std::int64_t>(smaller(farthest, 0x1p40)) + 1;
}

Result<Start> start_of(const ModelSpec& model, const IdentifyOptions& options,
                       const Sample& sample) {
  const RotarySpec& spec = model.rotary[options.rotary].spec;
  Start start{.model = model,
              .rotary = options.rotary,
              .operation = {.spec = spec},
              .turning = {.window = {.head_dim = 0, .rotary_dim = 0, .pairing = Pairing::half},
                          .inv_freq = {},
                          .axis_of_pair = {},
                          .features = {}},
              .sample = sample,
              .structure = {.window = {.pairing = Pairing::half}},
              .context_tokens = context_of(options, sample)};
  start.operation.spec.numerics = Numerics::exact;
  if (sample.observed != Observed::heads) {
    if (auto status = check_table_width(spec, sample); !status) return std::move(status).error();
    use_table_window(start.operation.spec, sample);
  }
  auto turning = identification::turning_of(start.operation, start.context_tokens);
  if (!turning) return std::move(turning).error();
  start.turning = *std::move(turning);
  const auto features = static_cast<std::int64_t>(sample.features);
  if (start.turning.window.head_dim != features)
    return invalid_argument("before and after must have the model's head_dim, ",
                            start.turning.window.head_dim, ", got ", features,
                            " features: look at the axes of the dump, and at head_dim");
  start.structure = identification::structure_of(sample, start.turning.window);
  return start;
}

// Finds the first token's position, adds it to all positions and returns it. Tries no mistake, then
// each mistake, until all tokens have positions or the residual is small. Else takes the best.
std::optional<std::int64_t> find_first_position(const Start& start, Sample& sample) {
  Search search(start, 1);
  std::optional<double> found;
  double least = most_unfitting;
  for (std::size_t i = 0; i <= search.edits().size(); ++i) {
    Operation operation = search.operation_of(i == 0 ? identification::Combination{}
                                                     : identification::Combination{i - 1});
    const auto turning = identification::turning_of(operation, start.context_tokens);
    if (!turning || !identification::is_readable(operation)) continue;
    operation.position_offset = identification::first_position_of(*turning, sample);
    if (identification::positions_of_sample(*turning, sample)) {  // they need not be consecutive
      found = operation.position_offset;
      break;
    }
    const double error = identification::squared_error({operation, *turning}, sample, HUGE_VAL);
    const double residual = std::sqrt(error) / sample.norm;
    if (residual < 0.7 * least) {
      least = residual;
      found = operation.position_offset;
    }
    if (least <= 2 * identification::rounding_noise(sample.dtype)) break;
  }
  if (!found) return std::nullopt;
  for (double& position : sample.positions) position += *found;
  return static_cast<std::int64_t>(*found);
}

std::string_view sentence_of(const identification::Edit& edit, const Operation& before,
                             const Operation& after) {
  if (edit.rule != nullptr) return edit.rule->sentence;
  const Pairing configured = before.spec.pairing.get(), found = after.spec.pairing.get();
  if (configured == Pairing::half && found == Pairing::interleaved)
    return "The program pairs features 2i and 2i + 1; the config pairs i and i + d/2.";
  if (configured == Pairing::interleaved && found == Pairing::half)
    return "The program pairs features i and i + d/2; the config pairs 2i and 2i + 1.";
  return edit.hypothesis->sentence;
}

Cause cause_of(const identification::Edit& edit, const Operation& before, const Operation& after) {
  Cause cause{.hypothesis = edit.hypothesis,
              .fields = identification::differences(before.spec, after.spec),
              .rule = edit.rule != nullptr ? edit.rule->name : std::string_view(),
              .sentence = sentence_of(edit, before, after)};
  // For a mistake of structure, the edit's own field is enough.
  if (edit.field && edit.hypothesis->group == CauseGroup::structure) cause.fields.clear();
  if (edit.field) cause.fields.push_back(*edit.field);
  return cause;
}

Explanation explanation_of(const Search& search, const Candidate& candidate) {
  Explanation explanation{.causes = {},
                          .residual = candidate.residual,
                          .bit_equal = candidate.bit_equal,
                          .arithmetic = candidate.arithmetic,
                          .spec = search.operation_of(candidate.edits).spec};
  identification::Combination done;
  Operation before = search.operation_of(done);
  for (const std::size_t edit : candidate.edits) {
    done.push_back(edit);
    Operation after = search.operation_of(done);
    explanation.causes.push_back(cause_of(search.edits()[edit], before, after));
    before = std::move(after);
  }
  return explanation;
}

void find_separations(const Search& search, const Start& start, Identification& found) {
  const auto& candidates = search.candidates();
  if (found.tied < 2) return;
  const Operation best = search.operation_of(candidates.front().edits);
  if (best.positions) return;
  const std::size_t count = std::min<std::size_t>(found.tied, separated_explanations);
  for (std::size_t i = 1; i < count; ++i) {
    const Operation other = search.operation_of(candidates[i].edits);
    if (other.positions) continue;
    Explanation& explanation = found.explanations[i];
    explanation.separating_position =
        first_visible(best, other, start, identification::Coordinates::equal);
    if (!explanation.separating_position && start.operation.spec.axes)
      explanation.separating_grid =
          first_visible(best, other, start, identification::Coordinates::grid);
  }
}

Identification identification_of(const Search& search, const Start& start, bool has_model) {
  Identification found{.explanations = {},
                       .tied = std::min<std::size_t>(search.tied(), most_explanations),
                       .structure = {},
                       .turns_per_token = {},
                       .first_position = {},
                       .positions = {},
                       .dtype = start.sample.dtype,
                       .tokens = static_cast<std::int64_t>(start.sample.tokens),
                       .heads = static_cast<std::int64_t>(start.sample.heads),
                       .hypotheses = search.edits().size(),
                       .pairs = search.pairs()};
  const auto& candidates = search.candidates();
  const std::size_t shown = std::min<std::size_t>(candidates.size(), found.tied + closest_shown);
  for (std::size_t i = 0; i < shown; ++i)
    found.explanations.push_back(explanation_of(search, candidates[i]));
  if (!candidates.empty()) found.tolerance = candidates.front().tolerance;
  if (found.tied > 0) {
    found.verdict = Verdict::described;
    const bool is_right = std::ranges::all_of(candidates.front().edits, [&](std::size_t edit) {
      return search.edits()[edit].hypothesis->name == "vector_factor";
    });
    if (has_model) found.verdict = is_right ? Verdict::as_configured : Verdict::another_cause;
  }
  if (start.sample.observed == Observed::heads) found.structure = start.structure;
  found.turns_per_token = identification::measured_turns(start.sample, start.structure.window);
  find_separations(search, start, found);
  return found;
}

// Finds the positions of the dump's tokens and reports those that the explanation does not expect.
void check_tokens(const Dump& dump, const Search& search, const Start& start,
                  const identification::Turning* undone, Identification& found) {
  if (found.tied == 0) return;
  identification::Combination kept;
  const auto& edits = search.candidates().front().edits;
  for (const std::size_t edit : edits) {
    const std::string_view name = search.edits()[edit].hypothesis->name;
    if (name != "position_offset" && name != "token_positions") kept.push_back(edit);
  }
  const bool had_positions = kept.size() < edits.size();
  const Operation operation = search.operation_of(kept);
  Operation plain = operation;
  plain.position_factor = 1;
  plain.position_offset = 0;
  const auto turning = identification::turning_of(operation, start.context_tokens);
  if (!turning || !identification::is_readable(plain)) return;
  ReadPositions positions = identification::positions_of_all(
      dump, {.operation = operation,
             .turning = *turning,
             .undone = undone,
             .first_position = static_cast<double>(found.first_position.value_or(0)),
             .dtype = found.dtype});
  found.checked_tokens = positions.batch * positions.tokens;
  if (positions.unread == 0 && positions.found == positions.expected && !had_positions) return;
  const auto& hypothesis = identification::hypothesis_named(identification::pattern_of(positions));
  const bool is_offset = hypothesis.name == "position_offset";
  Explanation& best = found.explanations.front();
  if (had_positions && !is_offset) best.causes.pop_back();
  if (!had_positions || !is_offset)
    best.causes.push_back({.hypothesis = &hypothesis,
                           .fields = identification::runs_of(positions),
                           .sentence = hypothesis.sentence});
  if (!is_offset) found.tied = 1;
  best.residual = positions.residual;
  if (found.verdict == Verdict::as_configured) found.verdict = Verdict::another_cause;
  if (positions.unread > 0) {
    found.tied = 0;
    found.verdict = Verdict::unexplained;
  }
  found.positions = std::move(positions);
}

Result<Identification> identified(Sample sample, const IdentifyOptions& options, const Dump* dump) {
  const ModelSpec model = options.model ? *options.model : suggested_model(sample);
  auto start = start_of(model, options, sample);
  if (!start) return std::move(start).error();
  if (!start->turning.axis_of_pair.empty() && sample.axes != 1 &&
      sample.axes != start->operation.spec.axes->pairs.size())
    return invalid_argument("positions must have one coordinate, or one for each axis");
  const bool undoes = options.before == BeforeState::rotated_as_configured;
  if (undoes) {
    identification::undo(start->turning, sample);
    start->structure = identification::structure_of(sample, start->turning.window);
  }
  std::optional<std::int64_t> first;
  if (!sample.has_positions) {
    first = find_first_position(*start, sample);
    if (!options.context_tokens) start->context_tokens = context_of(options, sample);
  }
  if (!options.model && (sample.has_positions || first.has_value())) {
    const auto base = identification::fitted_base(*start, start->operation);
    if (base) {
      start->operation.spec.base = *base;
      auto turning = identification::turning_of(start->operation, start->context_tokens);
      if (turning) start->turning = *std::move(turning);
    }
  }
  Search search(*start, options.most_causes);
  search.run();
  Identification found = identification_of(search, *start, options.model.has_value());
  found.first_position = first;
  if (dump != nullptr)
    check_tokens(*dump, search, *start, undoes ? &start->turning : nullptr, found);
  return found;
}

// Checks the options, then identifies the dump that make() returns.
template <class Make>
Result<Identification> identified_dump(const IdentifyOptions& options, const Make& make) noexcept {
  return guarded([&]() -> Result<Identification> {
    if (auto status = check_options(options); !status) return std::move(status).error();
    const Result<Dump> dump = make();
    if (!dump) return dump.error();
    auto sample = identification::sample_of(*dump);
    if (!sample) return std::move(sample).error();
    return identified(*std::move(sample), options, &*dump);
  });
}

}  // namespace

std::string_view to_string(CauseGroup group) noexcept { return name_or_unknown(group); }
std::string_view to_string(FoundArithmetic arithmetic) noexcept {
  return name_or_unknown(arithmetic);
}
std::string_view to_string(Verdict verdict) noexcept { return name_or_unknown(verdict); }

Result<Identification> identify(const ConstHeadsView& before, const ConstHeadsView& after,
                                const IdentifyOptions& options) noexcept {
  return identified_dump(options, [&] { return identification::dump_of(before, after, options); });
}

Result<Identification> identify_rows(const CosSinView& rows, std::int64_t pairs,
                                     const IdentifyOptions& options) noexcept {
  return identified_dump(options, [&] { return identification::dump_of(rows, pairs, options); });
}

Result<Identification> identify_frequencies(std::span<const double> inv_freq,
                                            double attention_factor,
                                            const IdentifyOptions& options) noexcept {
  return guarded([&]() -> Result<Identification> {
    if (auto status = check_options(options); !status) return std::move(status).error();
    auto sample = identification::sample_of(inv_freq, attention_factor);
    if (!sample) return std::move(sample).error();
    return identified(*std::move(sample), options, nullptr);
  });
}

}  // namespace rotary

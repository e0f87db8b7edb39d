// SPDX-License-Identifier: Apache-2.0
#include "identify/search.hpp"

#include <cmath>
#include <functional>
#include <memory>
#include <tuple>

#include "base/extremes.hpp"
#include "identify/all_tokens.hpp"
#include "identify/cached_keys.hpp"
#include "identify/position_reading.hpp"

namespace rotary::identification {
namespace {

// A residual may be this many times the expected noise, which is a mean over many numbers.
constexpr double margin = 1.3;
// Residuals up to this many times the best one cannot tell candidates apart.
constexpr double most_alike = 1.1;
// If the best candidate reproduces at least this share of the numbers bit by bit, its arithmetic is
// known. Candidates whose share is lower by more than alike_bits then rank lower.
constexpr double known_bits = 0.99;
constexpr double alike_bits = 0.01;
constexpr std::size_t most_named = 2000;

constexpr std::array all_arithmetics = {FoundArithmetic::exact, FoundArithmetic::float32_angles,
                                        FoundArithmetic::rounded_rows, FoundArithmetic::every_step};

bool go_together(const Edit& one, const Edit& other) { return (one.aspects & other.aspects) == 0; }

bool is_same(const Operation& one, const Operation& other) {
  const auto beside_spec = [](const Operation& o) {
    return std::tie(o.rotates, o.cos_sin_swapped, o.reversed_frequencies, o.exponents, o.divisor,
                    o.blend, o.other_table, o.attention_factor, o.attention_power, o.vector_factor,
                    o.position_factor, o.position_offset, o.counted, o.coordinate_of_axis,
                    o.positions, o.positions_rounded, o.frequencies_rounded, o.angles_rounded,
                    o.phases, o.roundings);
  };
  if (beside_spec(one) != beside_spec(other)) return false;
  return differences(one.spec, other.spec).empty();
}

bool are_whole(const std::vector<double>& positions) {
  return std::ranges::all_of(positions, [](double each) { return each == std::nearbyint(each); });
}

// True if some position is not a whole number. Such positions fit almost any rotation.
bool fits_anything(const Operation& operation) {
  return operation.positions && !are_whole(*operation.positions);
}

double share_of_equal_bits(const std::vector<double>& predicted, const Sample& sample) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    equal += rounded_to(sample.dtype, predicted[i]) == sample.after[i] ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(predicted.size());
}

// |predicted - seen| / |seen|.
double residual_of(const std::vector<double>& predicted, const Sample& sample) {
  double sum = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const double difference = predicted[i] - sample.after[i];
    sum += difference * difference;
  }
  return std::sqrt(sum) / sample.norm;
}

}  // namespace

Search::Search(Start start, std::int64_t most_causes)
    : start_(std::move(start)), most_causes_(most_causes), edits_(edits_of(start_)) {}

Operation Search::operation_of(const Combination& combination) const {
  Operation operation = start_.operation;
  for (const std::size_t edit : combination) edits_[edit].apply(operation);
  return operation;
}

const Turning* Search::turning_of_edit(std::size_t edit) {
  if (turnings_.size() < edits_.size()) turnings_.resize(edits_.size());
  auto& known = turnings_[edit];
  if (!known) {
    auto turning = turning_of(operation_of({edit}), start_.context_tokens);
    known = turning ? std::optional(*std::move(turning)) : std::nullopt;
  }
  return *known ? &**known : nullptr;
}

// The Turning of a combination. Leaves out edits that do not change it. If none is left, returns
// the start's Turning; if one is left, that edit's cached Turning.
std::optional<Turning> Search::turning_of_combination(const Combination& combination,
                                                      const Operation& operation) {
  Combination turns;
  for (const std::size_t edit : combination)
    if ((edits_[edit].aspects & turning_aspects) != 0) turns.push_back(edit);
  if (turns.empty()) return start_.turning;
  if (turns.size() == 1) {
    const Turning* const known = turning_of_edit(turns.front());
    return known != nullptr ? std::optional(*known) : std::nullopt;
  }
  auto turning = turning_of(operation, start_.context_tokens);
  return turning ? std::optional(*std::move(turning)) : std::nullopt;
}

std::optional<Candidate> Search::tried(const Combination& combination) {
  const Operation operation = operation_of(combination);
  const auto turning = turning_of_combination(combination, operation);
  if (!turning) return std::nullopt;  // no such rotation
  const double noise =
      std::hypot(std::sqrt(turning->roundings) * rounding_noise(start_.sample.dtype),
                 angle_noise(operation, *turning, start_.sample));
  const double tolerance = margin * noise;
  const double norm = start_.sample.norm;
  // Single mistakes are computed in full, because the nearest ones are shown to the user.
  const double enough =
      combination.size() < 2 ? 4 * norm * norm : near * near * tolerance * tolerance * norm * norm;
  const double error = squared_error({operation, *turning}, start_.sample, enough);
  return Candidate{
      .edits = combination, .residual = std::sqrt(error) / norm, .tolerance = tolerance};
}

// True if an edit still changes something after the other edit. The edit of a parameter changes
// nothing if the other edit sets a rule without that parameter.
bool Search::changes(std::size_t edit, std::size_t beside) const {
  if (edits_[edit].aspects == blend_aspect) return blends(operation_of({beside}).spec.scaling);
  if ((edits_[edit].aspects & ~(original_aspect | ramp_aspect)) != 0) return true;
  const Operation before = operation_of({beside});
  const Operation after = operation_of({beside, edit});
  return static_cast<const ScalingRules&>(before.spec.scaling) !=
         static_cast<const ScalingRules&>(after.spec.scaling);
}

void Search::try_singles(std::size_t from) {
  for (std::size_t i = from; i < edits_.size(); ++i) {
    if (auto candidate = tried({i})) candidates_.push_back(*std::move(candidate));
  }
}

void Search::try_pairs(std::uint32_t aspects) {
  for (std::size_t j = 1; j < edits_.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      if (((edits_[i].aspects | edits_[j].aspects) & ~aspects) != 0) continue;
      if (!go_together(edits_[i], edits_[j]) || !changes(j, i)) continue;
      auto candidate = tried({i, j});
      if (!candidate) continue;
      ++pairs_;
      if (candidate->is_near()) candidates_.push_back(*std::move(candidate));
    }
  }
}

bool Search::explained() const noexcept {
  return std::ranges::any_of(candidates_, [](const Candidate& each) { return each.is_near(); });
}

bool Search::explained_to_the_bit() {
  return std::ranges::any_of(candidates_, [this](Candidate each) {
    if (!each.explains()) return false;
    find_arithmetic(each);
    return each.bit_equal >= known_bits;
  });
}

void Search::add_base() {
  const double configured = start_.operation.spec.base;
  const bool has_base = !std::holds_alternative<ExplicitScaling>(start_.operation.spec.scaling) &&
                        !start_.operation.spec.axes;
  const auto base = has_base ? fitted_base(start_, start_.operation) : std::nullopt;
  if (!base || *base == configured) return;
  edits_.push_back({.hypothesis = &hypothesis_named("base"),
                    .aspects = base_aspect,
                    .apply = [base](Operation& operation) { operation.spec.base = *base; }});
  try_singles(edits_.size() - 1);
}

std::optional<std::vector<double>> Search::positions_beside(const Combination& combination) {
  const Operation operation = operation_of(combination);
  if (!is_readable(operation)) return std::nullopt;
  const auto turning = turning_of_combination(combination, operation);
  return turning ? positions_of_sample(*turning, start_.sample) : std::nullopt;
}

bool Search::add_beside(Combination combination, Edit edit) {
  combination.push_back(edits_.size());
  edits_.push_back(std::move(edit));
  const auto candidate = tried(combination);
  if (candidate && candidate->is_near()) {
    candidates_.push_back(*candidate);
    return true;
  }
  edits_.pop_back();
  turnings_.resize(std::min<std::size_t>(turnings_.size(), edits_.size()));
  return false;
}

bool Search::add_token_positions(const Combination& combination,
                                 const std::vector<double>& positions) {
  if (start_.sample.observed == Observed::frequencies) return false;
  if (!combination.empty() && !are_whole(positions)) return false;
  const auto kept = std::make_shared<const std::vector<double>>(positions);
  return add_beside(combination,
                    {.hypothesis = &hypothesis_named("token_positions"),
                     .aspects = position_aspects,
                     .apply = [kept](Operation& changed) { changed.positions = kept; }});
}

void Search::add_positions_beside_edits() {
  const std::size_t count = edits_.size();
  for (std::size_t i = 0; i < count; ++i) {
    if ((edits_[i].aspects & offset_aspect) != 0) continue;
    const auto positions = positions_beside({i});
    if (!positions) continue;
    const auto rule = rule_of_positions(start_, *positions);
    const bool have_rule = rule && add_beside({i}, *rule);
    if (!have_rule) std::ignore = add_token_positions({i}, *positions);
  }
}

void Search::add_shifts() {
  constexpr std::uint32_t others = ~(frequency_aspects | attention_aspect | window_aspect);
  const std::size_t count = edits_.size();
  const auto moved = moved_alike(start_);
  for (std::size_t i = 0; i < count && moved; ++i) {
    if ((edits_[i].aspects & others) != 0) continue;
    const Turning* const other = turning_of_edit(i);
    const auto shift =
        other != nullptr ? shift_by_other(start_, *moved, edits_[i], *other) : std::nullopt;
    if (!shift || !add_beside({}, *shift)) continue;
    find_arithmetic(candidates_.back());
    return;
  }
}

void Search::find_arithmetic(Candidate& candidate) {
  const Operation operation = operation_of(candidate.edits);
  const auto exact = turning_of(operation, start_.context_tokens);
  if (!exact) return;
  Operation narrow = operation;
  narrow.spec.numerics = Numerics::transformers;
  const auto float32 = turning_of(narrow, start_.context_tokens);
  candidate.bit_equal = -1;
  for (const FoundArithmetic arithmetic : all_arithmetics) {
    const bool is_exact = arithmetic == FoundArithmetic::exact;
    const Turning& turning = is_exact || !float32 ? *exact : *float32;
    predict({operation, turning, arithmetic}, start_.sample, predicted_);
    const double share = share_of_equal_bits(predicted_, start_.sample);
    const double residual = residual_of(predicted_, start_.sample);
    const bool is_better =
        share > candidate.bit_equal + alike_bits ||
        (share >= candidate.bit_equal - alike_bits && residual < candidate.residual);
    if (!is_better && !is_exact) continue;
    candidate.bit_equal = share;
    candidate.residual = residual;
    candidate.arithmetic = arithmetic;
  }
}

// Tries other arithmetic for candidates that nearly explain the sample, and for at least four.
void Search::find_arithmetics() {
  sort_by(candidates_,
          [](const Candidate& each) { return std::pair(!each.is_near(), each.edits.size()); });
  std::size_t done = 0;
  for (Candidate& each : candidates_) {
    if (done >= most_named || (!each.is_near() && done >= 4)) break;
    find_arithmetic(each);
    ++done;
  }
}

// Number of mistakes that a candidate counts as. Separate positions for tokens count more, because
// they fit whatever a rule of positions fits.
double Search::causes_of(const Candidate& candidate) const {
  const double read = operation_of(candidate.edits).positions ? 1.5 : 0;
  return static_cast<double>(candidate.edits.size()) + read;
}

// Sorts candidates. Those that explain the sample as well as the best come first. Drops candidates
// with fractional positions if one without them explains the sample.
void Search::rank() {
  double least = -1;
  double least_tolerance = 0;
  for (const Candidate& each : candidates_) {
    if (!each.explains() || (least >= 0 && each.residual >= least)) continue;
    least = each.residual;
    least_tolerance = each.tolerance;
  }
  const double noise = rounding_noise(start_.sample.dtype);
  const double limit = larger(most_alike * least, least <= noise ? noise : least_tolerance);
  const auto is_any = [&](const Candidate& each) {
    return fits_anything(operation_of(each.edits));
  };
  const auto is_rule = [&](const Candidate& each) {
    return each.explains() && each.residual <= limit && !is_any(each);
  };
  if (std::ranges::any_of(candidates_, is_rule)) std::erase_if(candidates_, is_any);
  double most_bits = 0;
  for (const Candidate& each : candidates_)
    if (each.explains() && each.residual <= limit) most_bits = larger(most_bits, each.bit_equal);
  const auto is_tied = [&](const Candidate& each) {
    if (!each.explains() || each.residual > limit) return false;
    return most_bits < known_bits || each.bit_equal >= most_bits - alike_bits;
  };
  sort_by(candidates_, [&](const Candidate& each) {
    const bool tied = is_tied(each);
    return std::tuple(!tied, tied ? causes_of(each) : 0.0, tied ? 0.0 : each.residual);
  });
  tied_ = static_cast<std::size_t>(std::ranges::count_if(candidates_, is_tied));
  merge_equal();
}

// Merges tied candidates that are the same operation.
void Search::merge_equal() {
  std::vector<std::pair<double, Operation>> kept;
  const auto is_kept = [&](const Candidate& each) {
    Operation operation = operation_of(each.edits);
    const bool is_new = std::ranges::none_of(kept, [&](const auto& one) {
      return one.first == each.residual && is_same(one.second, operation);
    });
    if (is_new) kept.emplace_back(each.residual, std::move(operation));
    return is_new;
  };
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(tied_);
  const auto merged = std::remove_if(candidates_.begin(), end, std::not_fn(is_kept));
  tied_ = static_cast<std::size_t>(merged - candidates_.begin());
  candidates_.erase(merged, end);
}

void Search::run() {
  if (auto candidate = tried({})) candidates_.push_back(*std::move(candidate));
  const bool as_configured = explained();
  try_singles(0);
  const bool is_explained = explained();
  const bool is_known = as_configured || explained_to_the_bit();
  const auto positions = is_known ? std::nullopt : positions_beside({});
  const auto rule = positions ? rule_of_positions(start_, *positions) : std::nullopt;
  const bool have_rule = rule && add_beside({}, *rule);
  const bool have_positions =
      have_rule || (positions && !is_explained && add_token_positions({}, *positions));
  const bool positions_explain = !is_explained && have_positions && are_whole(*positions);
  if (!is_known && !positions_explain) add_base();
  // If the configured frequencies fit, only positions are wrong.
  if (most_causes_ > 1) try_pairs(positions_explain ? position_aspects : all_aspects);
  if (most_causes_ > 1 && !explained()) add_positions_beside_edits();
  find_arithmetics();
  if (std::ranges::none_of(candidates_, &Candidate::explains)) add_shifts();
  const bool is_noisy = std::ranges::none_of(candidates_, &Candidate::explains);
  if (const auto edit = is_noisy ? more_roundings(start_) : std::nullopt;
      edit && add_beside({}, *edit))
    find_arithmetic(candidates_.back());
  rank();
}

}  // namespace rotary::identification

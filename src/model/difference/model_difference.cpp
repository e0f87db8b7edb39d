// SPDX-License-Identifier: Apache-2.0
#include "rotary/model_difference.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "model/difference/enumerators.hpp"
#include "model/difference/field_differences.hpp"
#include "model/difference/rows_comparison.hpp"

namespace rotary {
namespace {

constexpr std::int64_t usual_context = 4096;
constexpr std::int64_t longest_context = std::int64_t{1} << 31;
// If every row has its own frequencies, only this number of rows is compared one by one.
constexpr std::int64_t single_rows = 1 << 16;

Status check_context(std::int64_t tokens) {
  if (tokens >= 1 && tokens <= longest_context) return {};
  return invalid_argument("context_tokens must be from 1 to 2^31, got ", tokens);
}

struct OriginalContext {
  std::optional<std::int64_t>& tokens;

  void operator()(const ParameterFacts& facts, const std::int64_t& value) {
    if (facts.name == original_context.name) tokens = value;
  }
  template <class Value>
  void operator()(const ParameterFacts& /*facts*/, const Value& /*value*/) {}
};

// The context beyond which a rule's frequencies depend on the length; nothing if they never do.
std::optional<std::int64_t> trained_tokens(const Scaling& scaling) {
  std::optional<std::int64_t> tokens;
  if (depends_on_context(scaling)) for_each_parameter(scaling, OriginalContext{tokens});
  return tokens;
}

// An embedding and the sequence lengths that its engine passes to it.
struct Side {
  const RotarySpec& spec;
  LengthPolicy policy;

  // The frequencies of the row of `position` if the sequence grows token by token to `context`.
  [[nodiscard]] Result<Frequencies> at(std::int64_t position, std::int64_t context) const {
    const bool whole = policy == LengthPolicy::whole_context;
    return make_frequencies(spec, whole ? context : position + 1);
  }
  // The first later position that may have other frequencies than these.
  [[nodiscard]] std::int64_t valid_until(const Frequencies& frequencies,
                                         std::int64_t context) const {
    if (policy == LengthPolicy::whole_context) return context;
    return std::min<std::int64_t>(context, frequencies.contexts.last);
  }
};

// The next position to compare if every row has its own frequencies. While no row differs, takes
// each position up to single_rows; otherwise powers of two and the last position.
std::int64_t next_row(std::int64_t position, bool may_be_first, std::int64_t context) {
  const bool one_by_one = may_be_first && position < single_rows;
  if (one_by_one || position + 1 >= context) return position + 1;
  const auto next = static_cast<std::uint64_t>(position) + 2;
  return std::min<std::int64_t>(static_cast<std::int64_t>(std::bit_ceil(next)), context - 1);
}

Result<RowsDifference> compare_growing(const Side& one, const Side& other, std::int64_t context) {
  const auto window = head_window(one.spec);
  if (!window) return window.error();
  const auto other_window = head_window(other.spec);
  if (!other_window) return other_window.error();
  RowsComparison rows(*window, *other_window);
  for (std::int64_t position = 0; position < context;) {
    const auto mine = one.at(position, context);
    if (!mine) return mine.error();
    const auto theirs = other.at(position, context);
    if (!theirs) return theirs.error();
    const std::int64_t end = std::min<std::int64_t>(one.valid_until(*mine, context),
                                                    other.valid_until(*theirs, context));
    rows.add(*mine, *theirs, {position, end});
    const bool may_be_first = !rows.found_first() && !rotate_alike(*mine, *theirs);
    position = end == position + 1 ? next_row(position, may_be_first, context) : end;
  }
  return std::move(rows).result();
}

// Compares a call of half the trained context that follows a call of the whole context. Empty
// unless both sides have the same trained context, `context` is longer, the policies differ, and
// neither is whole_context.
Result<std::optional<RowsDifference>> compare_after_longer(const Side& one, const Side& other,
                                                           std::int64_t context) {
  const auto trained = trained_tokens(one.spec.scaling);
  const bool remembers = one.policy != other.policy && trained &&
                         trained == trained_tokens(other.spec.scaling) && context > *trained &&
                         one.policy != LengthPolicy::whole_context &&
                         other.policy != LengthPolicy::whole_context;
  if (!remembers) return std::optional<RowsDifference>();
  const std::int64_t call = std::max<std::int64_t>(1, *trained / 2);
  const std::array calls = {context, call};
  const auto length = length_in_force(one.policy, *trained, calls);
  if (!length) return length.error();
  const auto other_length = length_in_force(other.policy, *trained, calls);
  if (!other_length) return other_length.error();
  const auto mine = make_frequencies(one.spec, *length);
  if (!mine) return mine.error();
  const auto theirs = make_frequencies(other.spec, *other_length);
  if (!theirs) return theirs.error();
  auto rows = compare_rows(*mine, *theirs, call);
  if (!rows) return std::move(rows).error();
  return std::optional<RowsDifference>(*std::move(rows));
}

void add_layer(std::vector<RotaryDifference>& pairs, std::size_t one, std::size_t other,
               std::optional<std::int64_t> layer) {
  auto found = std::ranges::find_if(
      pairs, [&](const RotaryDifference& pair) { return pair.one == one && pair.other == other; });
  if (found == pairs.end()) {
    pairs.push_back({.one = one, .other = other});
    found = pairs.end() - 1;
  }
  if (layer) found->layers.push_back(*layer);
}

// The embeddings to compare. If both models list equally many layers: those of the same layer.
// Otherwise: those with the same name, or with the same index if no name matches.
std::vector<RotaryDifference> embedding_pairs(const ModelSpec& one, const ModelSpec& other) {
  std::vector<RotaryDifference> pairs;
  if (!one.layers.empty() && one.layers.size() == other.layers.size()) {
    for (std::size_t i = 0; i < one.layers.size(); ++i) {
      const ModelLayer& mine = one.layers[i];
      const ModelLayer& theirs = other.layers[i];
      const bool both =
          mine.encoding == LayerEncoding::rotary && theirs.encoding == LayerEncoding::rotary;
      if (both) add_layer(pairs, mine.rotary, theirs.rotary, static_cast<std::int64_t>(i));
    }
    return pairs;
  }
  for (std::size_t i = 0; i < one.rotary.size(); ++i) {
    const auto named =
        std::ranges::find(other.rotary, one.rotary[i].layer_type, &ModelRotary::layer_type);
    const auto place =
        named == other.rotary.end() ? i : static_cast<std::size_t>(named - other.rotary.begin());
    if (place < other.rotary.size()) add_layer(pairs, i, place, {});
  }
  return pairs;
}

Status compare_embeddings(const ModelRotary& one, const ModelRotary& other,
                          const ComparisonOptions& options, std::int64_t context,
                          RotaryDifference& found) {
  found.fields = field_differences(one, other);
  if (one.spec.head_dim != other.spec.head_dim) {
    found.not_comparable = message("heads of ", one.spec.head_dim, " and of ", other.spec.head_dim,
                                   " features have no rows in common");
    return {};
  }
  const Side mine{one.spec, options.one};
  const Side theirs{other.spec, options.other};
  auto rows = compare_growing(mine, theirs, context);
  if (!rows) return std::move(rows).error();
  found.rows = *std::move(rows);
  auto after = compare_after_longer(mine, theirs, context);
  if (!after) return std::move(after).error();
  found.after_longer_call = *std::move(after);
  return {};
}

std::int64_t context_of(const ModelSpec& one, const ModelSpec& other) {
  std::optional<std::int64_t> longest;
  for (const ModelSpec* model : {&one, &other}) {
    for (const ModelRotary& rotary : model->rotary)
      longest = std::max<std::optional<std::int64_t>>(longest, rotary.trained_context_tokens);
  }
  return std::clamp<std::int64_t>(longest.value_or(usual_context), 1, longest_context);
}

// The model with the pairing of its checkpoint. A file may have q and k rows in another order.
ModelSpec of_checkpoint(ModelSpec model) {
  if (!model.gguf || !model.gguf->checkpoint_pairing) return model;
  for (ModelRotary& rotary : model.rotary) rotary.spec.pairing = *model.gguf->checkpoint_pairing;
  return model;
}

std::string rows_text(const ModelSpec& model) {
  if (!model.gguf || !model.gguf->rows) return "the checkpoint's";
  return message(to_string(*model.gguf->rows), " by the converter, ",
                 to_string(model.rotary.front().spec.pairing.get()));
}

bool is_permuted(const ModelSpec& model) {
  return model.gguf && model.gguf->rows == ProjectionRows::permuted && !model.rotary.empty();
}

// Checks that make_frequencies() could have made these frequencies.
Status check_frequencies(std::string_view side, const Frequencies& frequencies) {
  const double factor = frequencies.attention_factor;
  if (!(factor >= 0x1p-20 && factor <= 0x1p20))
    return invalid_argument(side, ": attention_factor must be in [2^-20, 2^20], got ", factor);
  for (std::size_t i = 0; i < frequencies.inv_freq.size(); ++i) {
    if (!(std::abs(frequencies.inv_freq[i]) < 0x1p40))
      return invalid_argument(side, ": inv_freq must be between -2^40 and 2^40, got ",
                              frequencies.inv_freq[i], " at ", i);
  }
  return {};
}

Result<ModelDifference> compare(const ModelSpec& one, const ModelSpec& other,
                                const ComparisonOptions& options) {
  ModelDifference found;
  found.context_tokens = options.context_tokens.value_or(context_of(one, other));
  if (auto status = check_context(found.context_tokens); !status) return std::move(status).error();
  for (const LengthPolicy policy : {options.one, options.other})
    if (!is_enumerator(policy)) return no_enumerator("policy", policy);
  found.fields = field_differences(one, other);
  found.rotary = embedding_pairs(one, other);
  for (RotaryDifference& pair : found.rotary) {
    auto status = compare_embeddings(one.rotary[pair.one], other.rotary[pair.other], options,
                                     found.context_tokens, pair);
    if (!status) return std::move(status).error();
  }
  return found;
}

bool is_known(const DialectReading& reading) {
  return reading.evidence.kind == Evidence::run || reading.evidence.kind == Evidence::read;
}

Agreement agreement_of(const DialectReading& one, const DialectReading& other,
                       const std::optional<ModelDifference>& difference) {
  if (!difference || difference->differs() || one.disputes != other.disputes)
    return Agreement::different;
  return is_known(one) && is_known(other) ? Agreement::same : Agreement::unknown;
}

bool acts_on_model(const std::vector<FieldDifference>& fields) {
  return std::ranges::find(fields, FieldEffect::model, &FieldDifference::effect) != fields.end();
}

}  // namespace

std::string_view to_string(FieldEffect effect) noexcept { return name_or_unknown(effect); }

bool RotaryDifference::differs() const noexcept {
  return not_comparable || rows.first_position || acts_on_model(fields) ||
         (after_longer_call && after_longer_call->first_position);
}

bool ModelDifference::differs() const noexcept {
  return acts_on_model(fields) || std::ranges::any_of(rotary, &RotaryDifference::differs);
}

Result<ModelDifference> compare_models(const ModelSpec& one, const ModelSpec& other,
                                       const ComparisonOptions& options) noexcept {
  return guarded([&]() -> Result<ModelDifference> {
    if (is_permuted(one) == is_permuted(other)) return compare(one, other, options);
    auto found = compare(of_checkpoint(one), of_checkpoint(other), options);
    if (found) {
      found->fields.push_back({.field = "rows of q and k",
                               .one = rows_text(one),
                               .other = rows_text(other),
                               .effect = FieldEffect::nothing});
    }
    return found;
  });
}

std::string_view to_string(Agreement agreement) noexcept { return name_or_unknown(agreement); }

Result<ReadingsDifference> compare_readings(const DialectReading& one, const DialectReading& other,
                                            const ComparisonOptions& options) noexcept {
  return guarded([&]() -> Result<ReadingsDifference> {
    std::optional<ModelDifference> difference;
    if (!one.refusal && !other.refusal) {
      auto found = compare_models(
          one.model, other.model,
          {.context_tokens = options.context_tokens, .one = one.lengths, .other = other.lengths});
      if (!found) return std::move(found).error();
      difference = *std::move(found);
    }
    const Agreement agreement = agreement_of(one, other, difference);
    return ReadingsDifference{.difference = std::move(difference), .agreement = agreement};
  });
}

Result<RowsDifference> compare_rows(const Frequencies& one, const Frequencies& other,
                                    std::int64_t context_tokens) noexcept {
  return guarded([&]() -> Result<RowsDifference> {
    if (auto status = check_context(context_tokens); !status) return std::move(status).error();
    if (one.window.head_dim != other.window.head_dim)
      return invalid_argument("head_dim must be that of the other, ", one.window.head_dim, ", got ",
                              other.window.head_dim);
    if (auto status = check_frequencies("one", one); !status) return std::move(status).error();
    if (auto status = check_frequencies("other", other); !status) return std::move(status).error();
    RowsComparison rows(one.window, other.window);
    rows.add(one, other, {0, context_tokens});
    return std::move(rows).result();
  });
}

}  // namespace rotary

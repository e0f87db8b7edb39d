// SPDX-License-Identifier: Apache-2.0
// Claims 22, 23 and 24: attention to sentences without positions, with Shaw's clip, and when a
// sentence moves to other positions. The sentences are from the introductions that make the claims.
#include <fmt/format.h>

#include <array>
#include <functional>
#include <initializer_list>

#include "cli/claims/claims.hpp"
#include "cli/claims/measure.hpp"
#include "cli/claims/word_attention.hpp"

namespace rotary::cli::claims {
namespace {

constexpr double rounding = 1e-5;  // of float32: sums of 64 products, 64 * 2^-24 = 4e-6
constexpr AttentionMask everything{.order = AttentionOrder::bidirectional};
constexpr AttentionMask causal{.order = AttentionOrder::causal};

WordEncodings all_of(std::initializer_list<WordEncodings> lists) {
  WordEncodings all;
  for (const WordEncodings& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// The last layer's output for each word. Earlier layers add their output to their input.
Matrix outputs(const Words& words, const WordEncoding& encoding, const AttentionMask& mask,
               int layers = 1) {
  Matrix x = vectors_of(words);
  for (int layer = 1; layer < layers; ++layer)
    std::ranges::transform(x, attended(x, encoding, mask).out, x.begin(), std::plus<>());
  return attended(x, encoding, mask).out;
}

Matrix pooled(const Matrix& rows) {
  Matrix sum(static_cast<std::size_t>(word_features));
  for (std::size_t i = 0; i < rows.size(); ++i)
    sum[i % sum.size()] +=
        rows[i] * static_cast<double>(word_features) / static_cast<double>(rows.size());
  return sum;
}

struct Orders {
  std::string_view one, other;
};
constexpr Orders warriors{"Warriors beat Celtics", "Celtics beat Warriors"};
constexpr Orders dog{"the dog chases the pig", "the pig chases the dog"};

// The largest change of a word's output between the two orders.
double changed(const Orders& orders, const WordEncoding& encoding, const AttentionMask& mask) {
  const Words one = words_in(orders.one);
  Words other = words_in(orders.other);
  const Matrix rows = outputs(other, encoding, mask);
  Matrix reordered;  // in the order of the first sentence; equal words keep their order
  for (const std::string& word : one) {
    const auto place = std::ranges::find(other, word);
    const auto row = rows.begin() + (place - other.begin()) * word_features;
    reordered.insert(reordered.end(), row, row + word_features);
    place->clear();  // taken
  }
  return largest_difference(outputs(one, encoding, mask), reordered);
}

double changed_mean(const Orders& orders, const AttentionMask& mask) {
  const auto mean_of = [&](std::string_view sentence) {
    return pooled(outputs(words_in(sentence), {}, mask));
  };
  return largest_difference(mean_of(orders.one), mean_of(orders.other));
}

// How far the last word's output changes with a causal mask and no positions.
double changed_last(const Orders& orders, int layers) {
  const auto last_of = [&](std::string_view sentence) {
    const Matrix rows = outputs(words_in(sentence), {}, causal, layers);
    return Matrix(rows.end() - word_features, rows.end());
  };
  return largest_difference(last_of(orders.one), last_of(orders.other));
}

constexpr Range nothing = {0, rounding};
constexpr Range something = {0.01, 10};  // elements of word vectors and outputs are about 1

bool is_nothing(const Number& number) { return number.value <= rounding; }

std::vector<Number> changes(const WordEncodings& encodings, const Orders& orders, Range expected) {
  std::vector<Number> numbers;
  for (const WordEncoding& encoding : encodings)
    numbers.push_back({encoding.name, changed(orders, encoding, everything), expected});
  return numbers;
}

Evidence without_positions(Setting setting, std::string computed, const AttentionMask& mask,
                           Range expected) {
  return judged(setting, std::move(computed),
                "each word has the same output in both orders, and so has the mean",
                {{"Warriors, beat, Celtics", changed(warriors, {}, mask), expected},
                 {"the mean of these", changed_mean(warriors, mask), expected},
                 {"the, dog, chases, the, pig", changed(dog, {}, mask), expected},
                 {"the mean of those", changed_mean(dog, mask), expected}},
                is_nothing);
}

Evidence mirror_images() {
  std::vector<Number> numbers = changes(encodings_of_size(), warriors, nothing);
  const bool same = std::ranges::all_of(numbers, is_nothing);
  const std::vector<Number> others = changes(encodings_of_direction(), warriors, something);
  numbers.insert(numbers.end(), others.begin(), others.end());
  return aside("'Warriors beat Celtics' and its mirror image, every word seeing all",
               "encodings of the distance without its sign do not tell them apart",
               same && std::ranges::none_of(others, is_nothing), numbers);
}

std::vector<Evidence> a_bag_of_words() {
  constexpr Orders before_pig{"the dog chases the pig", "chases the the dog pig"};
  const double one_layer = changed_last(before_pig, 1);
  const double two_layers = changed_last(before_pig, 2);
  const double the =
      largest_difference(pooled(outputs(words_in(dog.one), {}, everything)),
                         pooled(outputs(words_in("the dog chases pig"), {}, everything)));
  return {
      without_positions(Setting::met,
                        "attention of one head over the random vectors of words (seed 22), 64 "
                        "features, every word seeing all: 'Warriors beat Celtics' beside 'Celtics "
                        "beat Warriors', 'the dog chases the pig' beside 'the pig chases the dog'",
                        everything, nothing),
      without_positions(Setting::unmet, "the same with a causal mask", causal, something),
      judged(Setting::unmet,
             "'the dog chases the pig' and the other order, every word seeing all, with each "
             "encoding",
             "each word has the same output in both orders",
             changes(all_of({absolute_encodings(),
                             encodings_of_direction(),
                             encodings_of_size(),
                             {fire_encoding()}}),
                     dog, something),
             is_nothing),
      mirror_images(),
      aside("causal, no encoding: the output for 'pig' after 'the dog chases the' and after "
            "'chases the the dog'",
            "one layer cannot tell the order of earlier words; a second layer can",
            one_layer <= rounding && two_layers > rounding,
            {{"one layer", one_layer, nothing}, {"two layers", two_layers, something}}),
      aside("'the dog chases the pig' and 'the dog chases pig', no encoding, every word seeing all",
            "the number of times that a word occurs matters: a bag of words, not a set",
            the > rounding, {{"the mean, with and without a second 'the'", the, something}})};
}

constexpr std::int64_t clipped_tokens = 64;
constexpr AttentionMask local{
    .order = AttentionOrder::bidirectional, .left = shaw_clip, .right = shaw_clip};

// The mean share of a query's weight on keys farther away than the clip.
double weight_beyond(const WordEncoding& encoding, const AttentionMask& mask) {
  const Matrix weights = attended(normal_rows(26, clipped_tokens), encoding, mask).weights;
  double sum = 0;
  for (std::int64_t i = 0; i < clipped_tokens * clipped_tokens; ++i) {
    const std::int64_t distance = i % clipped_tokens - i / clipped_tokens;
    if (std::abs(distance) > shaw_clip) sum += weights[static_cast<std::size_t>(i)];
  }
  return sum / static_cast<double>(clipped_tokens);
}

// The ratio of the largest to the least weight of query 0 on keys `first` to `last`. All tokens are
// equal.
double uneven(std::int64_t first, std::int64_t last) {
  Matrix x;
  const Matrix vector = normal_rows(27, 1);
  for (std::int64_t t = 0; t < clipped_tokens; ++t) x.insert(x.end(), vector.begin(), vector.end());
  const Matrix weights = attended(x, shaw_encoding(), everything).weights;
  const auto [least, most] =
      std::minmax_element(weights.begin() + first, weights.begin() + last + 1);
  return *most / *least;
}

std::vector<Evidence> clip_is_a_window() {
  const WordEncoding shaw = shaw_encoding();
  const auto beyond_it = [](Setting setting, std::string computed, std::vector<Number> numbers) {
    return judged(setting, std::move(computed), "tokens farther away get no weight",
                  std::move(numbers), [](const Number& number) { return number.value == 0; });
  };
  const double near = uneven(0, shaw_clip);
  const double far = uneven(shaw_clip, clipped_tokens - 1);
  return {beyond_it(Setting::unmet,
                    "64 random tokens of 64 features (seed 26), Shaw's random vectors clipped at 4 "
                    "tokens (seed 31): mean share of a query's weight on tokens farther away",
                    {{"clip of 4", weight_beyond(shaw, everything), {0.5, 1}},
                     {"no encoding at all", weight_beyond({}, everything), {0.5, 1}}}),
          beyond_it(Setting::met, "the same with a window mask of 4 tokens either side",
                    {{"window of 4", weight_beyond({}, local), exactly(0)},
                     {"window of 4, clip of 4", weight_beyond(shaw, local), exactly(0)}}),
          aside("64 equal tokens: the largest weight of the first query divided by its smallest",
                "the clip tells near tokens apart, but not far ones",
                near > 1.01 && far <= 1 + rounding,
                {{"0 to 4 tokens away", near, {1.01, 1000}},
                 {"4 to 63 tokens away", far, {1, 1 + rounding}}})};
}

constexpr std::array<std::int64_t, 4> moves = {1, 10, 100, 1000};
constexpr std::string_view question = "You know Warriors beat Celtics ?";

// The weights of the query 'Warriors' on 'Celtics' and 'beat'.
struct Given {
  double celtics, beat;

  // The score of 'Celtics' minus the score of 'beat', from their softmax weights.
  [[nodiscard]] double difference() const { return std::log(celtics / beat); }
};

Given given(std::string_view sentence, const WordEncoding& encoding, std::int64_t first) {
  const Words words = words_in(sentence);
  const Matrix weights = attended(vectors_of(words), encoding, everything, first).weights;
  const auto place = [&](std::string_view word) {
    return static_cast<std::size_t>(std::ranges::find(words, word) - words.begin());
  };
  const std::size_t row = place("Warriors") * words.size();
  return {weights[row + place("Celtics")], weights[row + place("beat")]};
}

double moved(const WordEncoding& encoding, std::int64_t by) {
  return std::abs(given(question, encoding, by).difference() -
                  given(question, encoding, 0).difference());
}

Evidence another_sentence() {
  constexpr std::string_view exclamation = "Warriors beat Celtics , that is great !";
  const WordEncoding encoding{.rotary = rope(word_features)};
  const Given one = given(question, encoding, 0);
  const Given other = given(exclamation, encoding, 0);
  const double scores = std::abs(one.difference() - other.difference());
  return aside(
      "RoPE, 'You know Warriors beat Celtics ?' and 'Warriors beat Celtics , that is great !': "
      "the score and the weight of 'Celtics' for the query 'Warriors'",
      "scores are the same in both sentences, weights are not: softmax divides by the "
      "other words",
      scores <= rounding && std::abs(one.celtics / other.celtics - 1) > 0.01,
      {{"change of Celtics' score minus beat's score", scores, nothing},
       {"weight in the one", one.celtics, {0, 1}},
       {"weight in the other", other.celtics, {0, 1}}});
}

std::vector<Evidence> relative_matters() {
  std::vector<Number> absolute;
  for (const WordEncoding& encoding : absolute_encodings()) {
    for (const std::int64_t by : moves) {
      absolute.push_back(
          {fmt::format("{}, moved by {}", encoding.name, by), moved(encoding, by), {1e-3, 10}});
    }
  }
  absolute.push_back({"FIRE, moved by 1000", moved(fire_encoding(), 1000), {1e-3, 10}});
  std::vector<Number> relative;  // the largest change over all moves
  for (const WordEncoding& encoding : all_of({encodings_of_direction(), encodings_of_size()})) {
    const auto by = [&](std::int64_t tokens) { return moved(encoding, tokens); };
    relative.push_back({encoding.name, std::ranges::max(plot::numbers_of(moves, by)), nothing});
  }
  relative.push_back({"FIRE, moved by 100", moved(fire_encoding(), 100), nothing});
  const std::string relation = "the difference of the two scores does not change";
  return {
      judged(Setting::met,
             "'You know Warriors beat Celtics ?' (random vectors of words, seed 22), moved by "
             "1, 10, 100 and 1000 tokens: largest change of the score of 'Celtics' minus the score "
             "of 'beat', for the query 'Warriors'",
             relation, relative, is_nothing),
      judged(Setting::unmet, "the same with absolute positions, or beyond FIRE's threshold",
             relation, absolute, is_nothing),
      another_sentence()};
}

}  // namespace

std::vector<Claim> sentence_claims() {
  using enum Verdict;
  return {
      {22, "bag-of-words", "without positions a transformer takes a sentence for a set of words",
       holds_only_if,
       "every word sees all others and nothing encodes positions. A causal mask alone conveys "
       "order, so decoders without positions work. Every encoding here conveys order, but "
       "symmetric biases do not distinguish mirror images",
       a_bag_of_words,
       Publications{
           {"perplexity on the Pile, without and with learned positions: 13.10 and 13.05 for a "
            "causal model of 1.3 billion parameters; 147.18 and 4.06 for a masked model, where "
            "every token sees all",
            "Haviv et al. 2022, arXiv 2203.16634"}}},
      {23, "clip-is-a-window", "clipping relative positions hides tokens that are too far apart",
       holds_only_if,
       "a window mask hides them; with the clip, all tokens farther away share one vector and "
       "still get attention",
       clip_is_a_window},
      {24, "relative-matters",
       "absolute positions matter less than relative ones: two words have the same score "
       "wherever their sentence is",
       holds_only_if,
       "the encoding is relative; scores of learned and sinusoidal positions change with every "
       "move, and FIRE's beyond its threshold; only training shows whether this helps a model",
       relative_matters,
       Publications{{"English-German translation: BLEU 26.5 absolute, 26.8 relative; big models "
                     "27.9 and 29.2",
                     "Shaw et al. 2018, arXiv 1803.02155, table 1"}},
       Experiments{"e1-causal-lm", "e6-translation"}},
  };
}

}  // namespace rotary::cli::claims

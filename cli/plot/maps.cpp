// SPDX-License-Identifier: Apache-2.0
// Heat maps: tables of positions, and attention weights.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "apps/failure.hpp"
#include "cli/plot/makers.hpp"
#include "cli/vectors.hpp"
#include "rotary/absolute.hpp"
#include "rotary/attention.hpp"

namespace rotary::cli::plot {
namespace {

// values: [positions][features], in [-1, 1].
HeatMap map_of(std::int64_t positions, std::vector<double> values) {
  const auto rows = static_cast<std::size_t>(positions);
  const std::size_t columns = values.size() / rows;
  return {.rows = rows,
          .columns = columns,
          .values = std::move(values),
          .lowest = -1,
          .colors = HeatMap::Colors::diverging};
}

Panel table_of(std::string title, HeatMap map) {
  return {.title = std::move(title),
          .x = Axis{"feature"},
          .y = Axis{"position"},
          .map = std::move(map),
          .y_direction = YDirection::down};
}

constexpr std::int64_t most_words = 24;  // more would be illegible
constexpr double self_score = 3;         // the score of a word with itself, without an encoding

// The words that every panel shows, and `features` numbers for each.
struct Words {
  std::vector<std::string> words;
  std::int64_t features = 0;
  std::vector<float> vectors = {};

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(words.size()); }
  [[nodiscard]] Extents extents(std::int64_t of_a_word) const {
    return {.batch = 1, .tokens = count(), .heads = 1, .features = of_a_word};
  }
};

Words words_of(const Request& request, std::int64_t features) {
  Words words{.words = request.words, .features = features};
  if (words.words.empty())
    words.words = {"the", "dog", "chases", "the", "pig", "and",
                   "the", "pig", "chases", "the", "dog"};
  require(words.count() >= 2 && words.count() <= most_words,
          "--words must have 2 to {} words, got {}", most_words, words.count());
  for (const std::string& word : words.words) {
    for (const double x : word_vector(word, features, request.seed))
      words.vectors.push_back(static_cast<float>(x));
  }
  return words;
}

// v is the identity, so attention returns its weights.
HeatMap weights_of(const Words& words, const AttentionEncoding& encoding) {
  const auto count = static_cast<std::size_t>(words.count());
  const std::vector<float> values = identity(count);
  std::vector<float> weights(count * count);
  const auto q = heads_view(words.vectors.data(), words.extents(words.features));
  const auto v = heads_view(values.data(), words.extents(words.count()));
  const auto out = heads_view(weights.data(), words.extents(words.count()));
  const AttendOptions options{.scale = self_score / static_cast<double>(words.features),
                              .mask = {.order = AttentionOrder::causal},
                              .encoding = encoding};
  ok_or_fail(attend(out, q, q, v, options));
  HeatMap map{.rows = count, .columns = count, .label = "attention weight"};
  map.values.assign(weights.begin(), weights.end());
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (i % count > i / count) map.values[i] = nothing_there;  // masked
  return map;
}

Panel panel_of(std::string title, const Words& words, const AttentionEncoding& encoding) {
  // Made first: if an initializer below throws, GCC 12 destroys earlier members twice.
  HeatMap map = weights_of(words, encoding);
  return {.title = std::move(title),
          .x = Axis{.ticks = words.words},
          .y = Axis{.ticks = words.words},
          .map = std::move(map),
          .aspect = Aspect::equal,
          .y_direction = YDirection::down};
}

Panel biased(std::string title, const Words& words, const RelativeBias& bias) {
  return panel_of(std::move(title), words, {.bias = &bias});
}

}  // namespace

std::vector<double> word_vector(std::string_view word, std::int64_t features, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  for (const char letter : word) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  std::vector<double> vector = normal_numbers(hash ^ seed, static_cast<std::size_t>(features));
  const double scale = std::sqrt(static_cast<double>(features) / dot(vector, vector));
  for (double& x : vector) x *= scale;
  return vector;
}

Figure tables(const Request& request) {
  constexpr std::int64_t most_cells = std::int64_t{1} << 20;
  const Subject subject = request.subjects.empty() ? plain_subject(64, 10000) : subject_of(request);
  const std::int64_t positions = request.last.value_or(127) + 1;
  const std::int64_t dim = request.dim.value_or(64);
  const std::int64_t widest = std::max(dim, subject.frequencies.window.rotary_dim);
  require(positions <= most_cells / widest, "a heat map has at most {} cells, got {} positions",
          most_cells, positions);
  HeatMap learned = request.learned.value_or(HeatMap{});
  if (!request.learned) {  // N(0, 0.02²), as GPT-2 and BERT initialise it
    learned =
        map_of(positions, normal_numbers(request.seed, static_cast<std::size_t>(positions * dim)));
    for (double& value : learned.values) value *= 0.02;
  }
  double largest = 0;
  for (const double value : learned.values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  learned.highest = largest > 0 ? largest : 1;
  learned.lowest = -learned.highest;
  const Integers at = evenly(positions - 1, positions);
  std::vector<double> rows;
  for_each_turned(subject.frequencies, at, [&](const TurnedRow& row) {
    rows.insert(rows.end(), row.cos.begin(), row.cos.end());
    rows.insert(rows.end(), row.sin.begin(), row.sin.end());
  });
  Panel rotary = table_of(subject.name, map_of(positions, std::move(rows)));
  rotary.x.label = "cos of each pair, then sin";
  return {
      .title = "Positions as tables",
      .caption = fmt::format(
          "A sinusoidal table and the rows of a rotary embedding are the same waves, from fast to "
          "slow. The table is added to embeddings; the rows rotate queries and keys.{}",
          request.learned ? "" : " A learned table begins as noise."),
      .panels = {table_of("sinusoidal", map_of(positions, sinusoidal_rows(at, dim))),
                 table_of(request.learned ? "learned" : "learned, untrained", std::move(learned)),
                 std::move(rotary)},
      .columns = 3};
}

// Attention weights of a few words with each encoding, without a model. A word's vector comes from
// a hash and is both its query and its key. Panels differ only in the encoding.
Figure attention(const Request& request) {
  const Subject subject = subject_of(request);
  const std::int64_t head_dim = subject.frequencies.window.head_dim;
  const Words words = words_of(request, head_dim);
  const Rotations rotations = value_or_fail(make_rotations(
      subject.frequencies, ConsecutivePositions{0, words.count()}, {.tensors = DType::f32}));
  Words summed = words;
  const TokenExtents extents{.batch = 1, .tokens = words.count(), .features = head_dim};
  const TokensView view{summed.vectors.data(), DType::f32, extents, strides_btd(extents)};
  ok_or_fail(add_sinusoidal(view, view,
                            value_or_fail(make_sinusoidal(transformer_sinusoidal(head_dim))),
                            ConsecutivePositions{0, words.count()}));
  Figure figure{.title = "Attention weights under each encoding: a row for each query",
                .caption =
                    "A query's row says how much it takes from each earlier word. Vectors are made "
                    "from a hash of the word, without a model. So equal words get equal weights "
                    "without positions, and weights by distance with an encoding.",
                .columns = words.count() > 14 ? std::size_t{2} : std::size_t{3}};
  figure.panels = {
      panel_of("no positions", words, {}),
      panel_of("sinusoidal", summed, {}),
      panel_of("rotary", words, {.q_rotations = &rotations, .k_rotations = &rotations}),
      biased("ALiBi, slope 1/2", words, Alibi{.heads = 1, .model_heads = 8}),
      biased("KERPLE, p = a = 1", words, KerpleLog{.p = {1}, .a = {1}}),
      biased("Sandwich", words, Sandwich{.dim = head_dim, .heads = 1}),
  };
  return figure;
}

}  // namespace rotary::cli::plot

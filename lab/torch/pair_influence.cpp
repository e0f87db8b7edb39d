// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/pair_influence.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "apps/failure.hpp"
#include "lab/data/batches.hpp"
#include "lab/torch/attention_probe.hpp"
#include "lab/torch/evaluate.hpp"

namespace rotary::lab {
namespace {

double mean_distance(const AttentionProbe& probe) {
  return probe.distance / static_cast<double>(probe.queries);
}

// A pair's mean squared length. `squares` are sums over the queries or keys of all heads.
double energy(const at::Tensor& squares, const std::array<std::int64_t, 2>& features,
              std::int64_t count) {
  const double sum = squares[features[0]].item<double>() + squares[features[1]].item<double>();
  return sum / static_cast<double>(count);
}

}  // namespace

void AttentionProbe::see(const at::Tensor& q, const at::Tensor& k, const at::Tensor& weights) {
  const auto squares_of = [](const at::Tensor& x) {
    return x.detach().to(at::kCPU).to(at::kDouble).square().sum({0, 1, 2});
  };
  q_squares = q_squares.defined() ? q_squares + squares_of(q) : squares_of(q);
  k_squares = k_squares.defined() ? k_squares + squares_of(k) : squares_of(k);
  const auto place = at::arange(weights.size(3), weights.options());
  // Weights sum to 1, so a query's mean distance is its index minus the mean attended index.
  const auto seen = at::matmul(weights.detach(), place);
  distance += (place - seen).sum().item<double>();
  queries += q.size(0) * q.size(1) * q.size(2);
}

std::vector<PairInfluence> pair_influences(Transformer& model, const Cell& cell,
                                           std::string_view text) {
  const Batch all = validation_batch(
      text,
      {.task = cell.model.task, .rows = cell.training.pair_rows, .tokens = cell.model.tokens});
  const auto mean_loss = [&] {
    return losses_by_parts(model, all, cell.training.batch).mean().item<double>();
  };
  Positions& positions = model->positions();
  const RotarySpec& spec = std::get<RotaryEncoding>(cell.encoding.kind).spec;
  const Frequencies frequencies = cli::value_or_fail(make_frequencies(spec, cell.model.tokens));
  const std::vector<AttentionProbe> usual = positions->probed([&] { (void)mean_loss(); });
  const double loss = mean_loss();
  std::vector<PairInfluence> pairs;
  for (std::int64_t layer = 0; layer < cell.model.layers; ++layer) {
    const AttentionProbe& of_layer = usual[static_cast<std::size_t>(layer)];
    for (std::int64_t pair = 0; pair < frequencies.window.pairs(); ++pair) {
      const auto features = features_of(frequencies.window, pair);
      PairInfluence& influence = pairs.emplace_back();
      influence.layer = layer;
      influence.pair = pair;
      influence.inv_freq = frequencies.inv_freq[static_cast<std::size_t>(pair)];
      influence.q_energy = energy(of_layer.q_squares, features, of_layer.queries);
      influence.k_energy = energy(of_layer.k_squares, features, of_layer.queries);
      positions->change_pair(PairChange{layer, pair, PairChange::What::unturned});
      influence.loss_unturned = mean_loss() - loss;
      positions->change_pair(PairChange{layer, pair, PairChange::What::removed});
      double removed = 0;
      const auto probes = positions->probed([&] { removed = mean_loss(); });
      influence.loss_removed = removed - loss;
      influence.distance_removed =
          mean_distance(probes[static_cast<std::size_t>(layer)]) - mean_distance(of_layer);
      positions->change_pair(std::nullopt);
    }
  }
  return pairs;
}

std::map<std::string, double> metrics_of_pairs(const std::vector<PairInfluence>& pairs) {
  const std::int64_t count = std::ranges::max(pairs, {}, &PairInfluence::pair).pair + 1;
  const std::int64_t layers = std::ssize(pairs) / count;
  const std::int64_t fast = count / 2;
  std::map<std::string, double> metrics;
  double energy = 0;
  for (const PairInfluence& each : pairs) {
    const bool is_fast = each.pair < fast;
    const std::string half = is_fast ? "fast_" : "slow_";
    const auto members = static_cast<double>(layers * (is_fast ? fast : count - fast));
    metrics[half + "unturned"] += each.loss_unturned / members;
    metrics[half + "removed"] += each.loss_removed / members;
    metrics[half + "distance"] += each.distance_removed / members;
    metrics[half + "energy"] += each.q_energy + each.k_energy;
    energy += each.q_energy + each.k_energy;
  }
  metrics["fast_energy"] /= energy;
  metrics["slow_energy"] /= energy;
  return metrics;
}

}  // namespace rotary::lab

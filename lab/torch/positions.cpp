// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/positions.hpp"

#include <torch/torch.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "apps/failure.hpp"
#include "lab/data/batches.hpp"
#include "lab/torch/functions.hpp"
#include "lab/torch/views.hpp"

namespace rotary::lab {
namespace {

// The random stream of learned encodings. Batches use the step's number as the stream.
constexpr std::uint64_t stream = std::uint64_t{1} << 63;

// [rows, columns] of numbers that draw() returns.
at::Tensor table(std::int64_t rows, std::int64_t columns, const auto& draw) {
  std::vector<double> numbers(static_cast<std::size_t>(rows * columns));
  for (double& number : numbers) number = draw();
  return torch::tensor(numbers, at::kDouble).view({rows, columns}).to(at::kFloat);
}

ShawWindow shaw_window(const ShawEncoding& shaw, const ModelConfig& model) {
  return {.left = shaw.window, .right = is_causal(model.task) ? 0 : shaw.window};
}

}  // namespace

PositionsImpl::PositionsImpl(Encoding encoding, const ModelConfig& model, std::uint64_t seed)
    : encoding_(std::move(encoding)), model_(model) {
  Random random(seed, stream);
  const auto* rotary = std::get_if<RotaryEncoding>(&encoding_.kind);
  if (rotary != nullptr && std::holds_alternative<NoScaling>(rotary->spec.scaling))
    unscaled_ = rotary->spec;
  if (std::holds_alternative<LearnedEncoding>(encoding_.kind)) {
    // The deviation of BERT's embeddings, and of token embeddings in the lab (weight_std).
    const auto draw = [&] { return 0.02 * random.normal(); };
    learned_ = register_parameter("learned", table(model.tokens, model.d_model, draw));
  }
  if (const auto* shaw = std::get_if<ShawEncoding>(&encoding_.kind)) {
    const std::int64_t rows = shaw_window(*shaw, model).rows();
    // Glorot and Bengio 2010, as for Shaw's tables in tensor2tensor.
    const double reach = std::sqrt(6.0 / static_cast<double>(rows + model.head_dim()));
    const auto draw = [&] { return reach * (2 * random.uniform() - 1); };
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
      const std::string of_layer = std::to_string(layer);
      shaw_keys_.push_back(
          register_parameter("shaw_keys_" + of_layer, table(rows, model.head_dim(), draw)));
      shaw_values_.push_back(
          register_parameter("shaw_values_" + of_layer, table(rows, model.head_dim(), draw)));
    }
  }
  if (const auto* bias = std::get_if<BiasEncoding>(&encoding_.kind)) {
    const std::int64_t sets = shared_by_layers(*bias) ? 1 : model.layers;
    for (std::int64_t set = 0; set < sets; ++set) {
      const auto begin = initial_parameters(*bias, model, random);
      auto numbers = torch::tensor(begin.start, at::kDouble).to(at::kFloat);
      if (!begin.start.empty())
        numbers = register_parameter("bias_" + std::to_string(set), numbers);
      bias_.push_back(numbers);
      bias_scale_ = torch::tensor(begin.scale, at::kDouble);
    }
    register_buffer("bias_scale", bias_scale_);
  }
}

bool PositionsImpl::rescale(std::string_view rule, const Stretch& stretch) {
  if (!unscaled_) return false;
  std::get<RotaryEncoding>(encoding_.kind).spec = rescaled(*unscaled_, rule, stretch);
  return true;
}

bool PositionsImpl::reaches(std::int64_t tokens) const {
  return !learned_.defined() || tokens <= learned_.size(0);
}

at::Tensor PositionsImpl::add_absolute(const at::Tensor& x, std::int64_t first) const {
  if (learned_.defined()) return add_learned_rows(x, learned_.slice(0, first));
  if (const auto* sinusoidal = std::get_if<SinusoidalEncoding>(&encoding_.kind)) {
    const auto rows =
        sinusoidal_rows(sinusoidal->base, first + x.size(1), x.size(2), x.scalar_type());
    return x + sinusoidal->scale * rows.slice(0, first);
  }
  return x;
}

at::Tensor PositionsImpl::mask(std::int64_t layer, std::int64_t tokens,
                               at::ScalarType dtype) const {
  const auto* rotary = std::get_if<RotaryEncoding>(&encoding_.kind);
  const bool windowed =
      rotary != nullptr && rotary->layers && layer % rotary->layers->full_every != 0;
  const bool causal = is_causal(model_.task);
  if (!causal && !windowed) return {};
  const auto options = at::TensorOptions().dtype(dtype).device(device());
  const auto nothing =
      at::full({tokens, tokens}, -std::numeric_limits<double>::infinity(), options);
  auto mask = causal ? at::triu(nothing, 1) : at::zeros({tokens, tokens}, options);
  // Adds triangles of -Inf instead of multiplying by them, because -Inf · 0 is NaN.
  if (windowed) {
    const std::int64_t window = rotary->layers->window;
    mask = mask + at::tril(nothing, -window);
    if (!causal) mask = mask + at::triu(nothing, window);
  }
  return mask;
}

at::Tensor PositionsImpl::bias_numbers(std::size_t layer) {
  const auto& encoding = std::get<BiasEncoding>(encoding_.kind);
  const at::Tensor& parameters = bias_[bias_.size() == 1 ? 0 : layer];
  if (parameters.numel() > 0) {
    const torch::NoGradGuard no_gradient;
    const auto kept = parameters.detach().to(at::kCPU).to(at::kDouble).contiguous().clone();
    if (!at::isfinite(kept).all().item<bool>()) {
      throw cli::Failure(cli::ExitCode::check_failed,
                         "the bias's learned numbers must be finite, got one that is not");
    }
    constrain(encoding, model_, {kept.data_ptr<double>(), static_cast<std::size_t>(kept.numel())});
    parameters.copy_(kept);
  }
  // The core makes biases on the processor; parameters follow the model's device.
  return parameters.to(at::kCPU).to(at::kDouble) * bias_scale_.to(at::kCPU);
}

at::Tensor PositionsImpl::bias(std::size_t layer, std::int64_t tokens, at::ScalarType dtype) {
  return bias_scores(bias_numbers(layer), {.encoding = std::get<BiasEncoding>(encoding_.kind),
                                           .model = model_,
                                           .tokens = tokens,
                                           .dtype = dtype});
}

std::array<std::int64_t, 2> features_of(const HeadWindow& window, std::int64_t pair) {
  const std::int64_t first = window.first_feature;
  if (reads_halves(window.pairing)) return {first + pair, first + pair + window.pairs()};
  return {first + 2 * pair, first + 2 * pair + 1};
}

void PositionsImpl::apply_change(std::vector<LayerTerms>& layers, std::int64_t tokens,
                                 at::ScalarType dtype) const {
  const auto* rotary = std::get_if<RotaryEncoding>(&encoding_.kind);
  if (!change_ || rotary == nullptr) return;
  LayerTerms& terms = layers[static_cast<std::size_t>(change_->layer)];
  const Frequencies usual = cli::value_or_fail(make_frequencies(rotary->spec, tokens));
  if (change_->what == PairChange::What::removed) {
    terms.kept_features =
        at::ones({usual.window.head_dim}, at::TensorOptions().dtype(dtype).device(device()));
    for (const std::int64_t feature : features_of(usual.window, change_->pair))
      terms.kept_features[feature] = 0;
    return;
  }
  ExplicitScaling stopped{.inv_freq = usual.inv_freq, .attention_factor = usual.attention_factor};
  stopped.inv_freq[static_cast<std::size_t>(change_->pair)] = 0;
  RotarySpec spec = rotary->spec;
  spec.scaling = std::move(stopped);
  terms.q_rotations = rotations_of(spec, tokens, dtype, Role::query);
  terms.k_rotations = rotations_of(spec, tokens, dtype, Role::key);
}

std::vector<LayerTerms> PositionsImpl::terms(std::int64_t tokens, at::ScalarType dtype) {
  LayerTerms common;
  if (const auto* rotary = std::get_if<RotaryEncoding>(&encoding_.kind)) {
    common.q_rotations = rotations_of(rotary->spec, tokens, dtype, Role::query);
    common.k_rotations = rotations_of(rotary->spec, tokens, dtype, Role::key);
  }
  if (const auto* clipped = std::get_if<ClippedAngleEncoding>(&encoding_.kind))
    common.clip = make_angle_clip(*clipped, tokens, dtype);
  const auto* shaw = std::get_if<ShawEncoding>(&encoding_.kind);
  if (shaw != nullptr) common.window = shaw_window(*shaw, model_);
  std::vector<LayerTerms> layers(static_cast<std::size_t>(model_.layers), common);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    LayerTerms& terms = layers[layer];
    terms.mask = mask(static_cast<std::int64_t>(layer), tokens, dtype);
    if (shaw != nullptr) {
      terms.shaw_keys = shaw_keys_[layer];
      terms.shaw_values = shaw_values_[layer];
    }
    if (std::holds_alternative<BiasEncoding>(encoding_.kind)) {
      if (layer > 0 && bias_.size() == 1) {
        terms.bias = layers[0].bias;
      } else {
        const auto bias_of_layer = bias(layer, tokens, dtype);
        terms.bias = terms.mask.defined() ? bias_of_layer + terms.mask : bias_of_layer;
      }
      terms.mask = at::Tensor();
    }
    if (!probes_.empty()) terms.probe = &probes_[layer];
  }
  apply_change(layers, tokens, dtype);
  return layers;
}

}  // namespace rotary::lab

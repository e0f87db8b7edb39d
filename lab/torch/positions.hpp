// SPDX-License-Identifier: Apache-2.0
// Positions: an Encoding at work in a model of torch, with what it learns.
#pragma once

#include <torch/torch.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/encodings/encoding.hpp"
#include "lab/experiment/model_config.hpp"
#include "lab/torch/attention_probe.hpp"
#include "lab/torch/clipped_angle.hpp"
#include "rotary/rotations.hpp"
#include "rotary/shaw.hpp"

namespace rotary::lab {

// The effect of positions in one layer. Absent or undefined members have none.
struct LayerTerms {
  std::shared_ptr<const Rotations> q_rotations;
  std::shared_ptr<const Rotations> k_rotations;
  at::Tensor mask;         // [tokens, tokens]: 0, or -Inf where a query does not see
  at::Tensor bias;         // [heads, tokens, tokens], -Inf likewise; then mask is undefined
  at::Tensor shaw_keys;    // [window.rows(), head_dim]
  at::Tensor shaw_values;  // likewise
  ShawWindow window;
  std::shared_ptr<const AngleClip> clip;  // then neither of the rotations
  at::Tensor kept_features;               // [features] of queries: 1, or 0 where one is removed
  AttentionProbe* probe = nullptr;        // sees q, k and weights
};

// One pair of one layer made otherwise in a finished model: it does not turn, or its features of
// queries, and with them its part of every score, are 0.
struct PairChange {
  enum class What { unturned, removed };
  std::int64_t layer = 0;
  std::int64_t pair = 0;
  What what = {};
};

// The two features of a head that turn together.
[[nodiscard]] std::array<std::int64_t, 2> features_of(const HeadWindow& window, std::int64_t pair);

class PositionsImpl : public torch::nn::Module {
 public:
  // Learned parameters begin with numbers that depend on the seed alone.
  PositionsImpl(Encoding encoding, const ModelConfig& model, std::uint64_t seed);

  // Whether sequences of `tokens` tokens have positions at all: a learned table ends.
  [[nodiscard]] bool reaches(std::int64_t tokens) const;

  // For a rotary encoding without a scaling rule: rotates by the rule of rescaling.hpp from now on,
  // or by none after "". Returns false, and changes nothing, for all other encodings.
  bool rescale(std::string_view rule, const Stretch& stretch);

  // Changes a rotary encoding from now on, until it is called with nothing.
  void change_pair(std::optional<PairChange> change) { change_ = change; }
  // A probe of each layer that saw what `work` had the model do.
  template <class Work>
  [[nodiscard]] std::vector<AttentionProbe> probed(const Work& work) {
    probes_.resize(static_cast<std::size_t>(model_.layers));
    work();
    return std::exchange(probes_, {});
  }

  // x [batch, tokens, d_model]
  [[nodiscard]] at::Tensor add_absolute(const at::Tensor& x) const;

  // For each layer, for sequences of `tokens` tokens.
  [[nodiscard]] std::vector<LayerTerms> terms(std::int64_t tokens, at::ScalarType dtype);

 private:
  [[nodiscard]] at::Tensor bias(std::size_t layer, std::int64_t tokens, at::ScalarType dtype);
  void apply_change(std::vector<LayerTerms>& layers, std::int64_t tokens,
                    at::ScalarType dtype) const;
  [[nodiscard]] at::Tensor mask(std::int64_t layer, std::int64_t tokens,
                                at::ScalarType dtype) const;

  Encoding encoding_;
  std::optional<RotarySpec> unscaled_;  // of a rotary encoding without a rule
  std::optional<PairChange> change_;
  std::vector<AttentionProbe> probes_;
  ModelConfig model_;
  at::Tensor learned_;            // [tokens, d_model]
  std::vector<at::Tensor> bias_;  // of each layer, or one: BiasParameters::start
  at::Tensor bias_scale_;
  std::vector<at::Tensor> shaw_keys_, shaw_values_;  // of each layer
};
TORCH_MODULE(Positions);

}  // namespace rotary::lab

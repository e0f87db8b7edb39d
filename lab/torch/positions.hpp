// SPDX-License-Identifier: Apache-2.0
// Positions: an Encoding inside a torch model, with its learned parameters.
#pragma once

#include <torch/torch.h>

#include <array>
#include <cstdint>
#include <functional>
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

// Position terms of one layer. Absent or undefined members do nothing.
struct LayerTerms {
  std::shared_ptr<const Rotations> q_rotations;
  std::shared_ptr<const Rotations> k_rotations;
  at::Tensor mask;  // added to scores: [tokens, tokens], or one matrix for each batch row and head
  at::Tensor bias;  // [heads, tokens, tokens]; includes the mask, and `mask` is undefined
  at::Tensor shaw_keys;    // [window.rows(), head_dim]
  at::Tensor shaw_values;  // likewise
  ShawWindow window;
  std::shared_ptr<const AngleClip> clip;  // replaces both rotations
  at::Tensor kept_features;               // [features] of queries: 1, or 0 if removed
  AttentionProbe* probe = nullptr;        // sees q, k and weights
  // Replaces attend_with() and all other terms. Takes attend_with()'s q, k and v.
  std::function<at::Tensor(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v)> attend;
};

// Changes one pair of one layer in a finished model. unturned: the pair does not rotate. removed:
// its query features are 0, so it adds nothing to any score.
struct PairChange {
  enum class What { unturned, removed };
  std::int64_t layer = 0;
  std::int64_t pair = 0;
  What what = {};
};

[[nodiscard]] std::array<std::int64_t, 2> features_of(const HeadWindow& window, std::int64_t pair);

class PositionsImpl : public torch::nn::Module {
 public:
  // Initial parameters depend only on the seed.
  PositionsImpl(Encoding encoding, const ModelConfig& model, std::uint64_t seed);

  // False if `tokens` is longer than a learned table. True for all other encodings.
  [[nodiscard]] bool reaches(std::int64_t tokens) const;

  // Rotates by a rule of rescaling_rules from now on; "" restores the encoding. Does nothing and
  // returns false for encodings that are not rotary or have a scaling rule.
  bool rescale(std::string_view rule, const Stretch& stretch);

  // Changes a rotary encoding's pair, until a call with nullopt.
  void change_pair(std::optional<PairChange> change) { change_ = change; }
  // Runs `work` and returns a probe for each layer.
  template <class Work>
  [[nodiscard]] std::vector<AttentionProbe> probed(const Work& work) {
    probes_.resize(static_cast<std::size_t>(model_.layers));
    work();
    return std::exchange(probes_, {});
  }

  // x [batch, tokens, d_model], from position `first` on.
  [[nodiscard]] at::Tensor add_absolute(const at::Tensor& x, std::int64_t first = 0) const;

  [[nodiscard]] std::vector<LayerTerms> terms(std::int64_t tokens, at::ScalarType dtype);

  // A layer's numbers for make_bias(), in f64 on the processor. First limits the learned numbers to
  // their range.
  [[nodiscard]] at::Tensor bias_numbers(std::size_t layer);

 private:
  [[nodiscard]] at::Tensor bias(std::size_t layer, std::int64_t tokens, at::ScalarType dtype);
  void apply_change(std::vector<LayerTerms>& layers, std::int64_t tokens,
                    at::ScalarType dtype) const;
  [[nodiscard]] at::Tensor mask(std::int64_t layer, std::int64_t tokens,
                                at::ScalarType dtype) const;

  Encoding encoding_;
  std::optional<RotarySpec> unscaled_;  // for a rotary encoding without a rule
  std::optional<PairChange> change_;
  std::vector<AttentionProbe> probes_;
  ModelConfig model_;
  at::Tensor learned_;            // [tokens, d_model]
  std::vector<at::Tensor> bias_;  // BiasParameters::start per layer, or one for all
  at::Tensor bias_scale_;
  std::vector<at::Tensor> shaw_keys_, shaw_values_;  // per layer
};
TORCH_MODULE(Positions);

}  // namespace rotary::lab

// SPDX-License-Identifier: Apache-2.0
// Queries and keys as a prefill step of Llama 3.1 8B has them: packed [tokens, heads, 128], 32
// query and 8 key heads, normally distributed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rotary/tensor_view.hpp"

namespace rotary::bench {

inline constexpr std::int64_t query_heads = 32;
inline constexpr std::int64_t key_heads = 8;

struct AlignedDelete {
  void operator()(std::byte* data) const noexcept {
    ::operator delete[](data, std::align_val_t{64});
  }
};

class Workload {
 public:
  Workload(DType dtype, std::int64_t tokens, std::int64_t head_dim);

  // The first `tokens` tokens.
  [[nodiscard]] HeadsView q(std::int64_t tokens) const {
    return view(q_.get(), query_heads, tokens);
  }
  [[nodiscard]] HeadsView k(std::int64_t tokens) const { return view(k_.get(), key_heads, tokens); }

  // Everything as it is now.
  [[nodiscard]] Workload copy() const;

 private:
  [[nodiscard]] HeadsView view(std::byte* data, std::int64_t heads, std::int64_t tokens) const;
  void fill();

  DType dtype_;
  std::int64_t tokens_;
  std::int64_t head_dim_;
  std::unique_ptr<std::byte[], AlignedDelete> q_;
  std::unique_ptr<std::byte[], AlignedDelete> k_;
};

}  // namespace rotary::bench

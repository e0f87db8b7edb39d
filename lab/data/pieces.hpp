// SPDX-License-Identifier: Apache-2.0
// Pieces: parts of words, the tokens of translation. One SentencePiece model (Kudo and Richardson
// 2018) defines them for both languages. All other tasks use bytes.
//
// SentencePiece runs as programs of Debian's package sentencepiece, because its library conflicts
// with libtorch's protobuf in one process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/process/program.hpp"

namespace rotary::lab {

// Special tokens in every model that prepare.py trains; texts never contain them.
inline constexpr std::int64_t padding_piece = 0;
inline constexpr std::int64_t begin_piece = 2;
inline constexpr std::int64_t end_piece = 3;

class Pieces {
 public:
  using Tokens = std::vector<std::int64_t>;

  // Fails if the bytes are not a SentencePiece model.
  explicit Pieces(std::string_view model);

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  // The tokens of each text, without begin_piece and end_piece. Texts must have no line ends.
  [[nodiscard]] std::vector<Tokens> encode(std::span<const std::string_view> texts) const;
  // Inverts encode() for texts with single spaces between words; skips special tokens.
  [[nodiscard]] std::vector<std::string> decode(std::span<const Tokens> texts) const;

 private:
  ScratchFolder folder_;
  std::string model_;  // path of its file
  std::int64_t count_ = 0;
};

}  // namespace rotary::lab

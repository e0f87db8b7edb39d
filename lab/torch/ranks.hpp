// SPDX-License-Identifier: Apache-2.0
// Ranks: processes started together, connected by torch's c10d (TCPStore, Gloo).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "lab/process/rank_environment.hpp"

namespace rotary::lab {

// The memory of the numbers that ranks add up.
enum class Memory { processor, gpu };

class Ranks {
 public:
  // Whether add_up() supports GPU memory (NCCL).
  [[nodiscard]] static bool reaches_gpu() noexcept;

  explicit Ranks(RankEnvironment environment);
  ~Ranks();
  Ranks(Ranks&& other) noexcept;
  Ranks& operator=(Ranks&& other) = delete;

  [[nodiscard]] int rank() const noexcept { return environment_.rank; }
  [[nodiscard]] int size() const noexcept { return environment_.size; }

  // Every rank must call the functions below in the same order. Each call waits for all ranks and
  // fails if a rank is lost. join() connects the ranks; it fails if torch has no Gloo.
  void join();
  // Replaces each number by its sum over the ranks.
  void add_up(std::span<float> numbers, Memory memory);
  // Rank 0's text on every rank.
  [[nodiscard]] std::string broadcast(std::string text);

 private:
  struct Connection;

  RankEnvironment environment_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace rotary::lab

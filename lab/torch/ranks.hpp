// SPDX-License-Identifier: Apache-2.0
// Ranks: the processes that were started together, by torch's own means (c10d: TCPStore, Gloo).
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
  // Whether add_up() takes numbers in the memory of a GPU (NCCL).
  [[nodiscard]] static bool reaches_gpu() noexcept;

  explicit Ranks(RankEnvironment environment);
  ~Ranks();
  Ranks(Ranks&& other) noexcept;
  Ranks& operator=(Ranks&& other) = delete;

  [[nodiscard]] int rank() const noexcept { return environment_.rank; }
  [[nodiscard]] int size() const noexcept { return environment_.size; }

  // Every rank calls these in the same order, and waits for all. They fail where a rank is lost, or
  // this torch cannot do it. join() connects them.
  void join();
  // Each number becomes its sum over the ranks.
  void add_up(std::span<float> numbers, Memory memory);
  // Rank 0's text, for all.
  [[nodiscard]] std::string broadcast(std::string text);

 private:
  struct Connection;

  RankEnvironment environment_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace rotary::lab

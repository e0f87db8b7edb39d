// SPDX-License-Identifier: Apache-2.0
// Ranks: the processes that were started together, by torch's own means (c10d: TCPStore, Gloo).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "lab/process/rank_environment.hpp"

namespace rotary::lab {

// The store in which ranks find one another, in this process until it is destroyed, on a free port.
class RankStore {
 public:
  RankStore();
  ~RankStore();
  RankStore(RankStore&& other) noexcept;
  RankStore& operator=(RankStore&& other) = delete;

  [[nodiscard]] std::uint16_t port() const;

 private:
  struct Store;
  std::unique_ptr<Store> store_;
};

// The memory of the numbers that ranks add up.
enum class Memory { processor, gpu };

class Ranks {
 public:
  // Whether add_up() takes numbers in the memory of a GPU (NCCL).
  [[nodiscard]] static bool reaches_gpu() noexcept;

  // Connects when it is first needed.
  explicit Ranks(RankEnvironment environment);
  ~Ranks();
  Ranks(Ranks&& other) noexcept;
  Ranks& operator=(Ranks&& other) = delete;

  [[nodiscard]] int rank() const noexcept { return environment_.rank; }
  [[nodiscard]] int size() const noexcept { return environment_.size; }

  // 0, 1, 2 and so on, each number to one of the ranks. Absent where the store cannot be reached,
  // or no longer: rank 0 hosts it, and may be gone.
  [[nodiscard]] std::optional<std::int64_t> next_number();

  // The others: every rank calls them in the same order, and waits for all. They fail where a rank
  // is lost, or this torch cannot do it.
  void join();
  // Each number becomes its sum over the ranks.
  void add_up(std::span<float> numbers, Memory memory);
  // Rank 0's text, for all.
  [[nodiscard]] std::string broadcast(std::string text);

 private:
  struct Connection;
  void connect(std::int64_t timeout_s);

  RankEnvironment environment_;
  bool lost_ = false;                       // the store
  std::unique_ptr<Connection> connection_;  // of the store, and of the group once it was joined
};

}  // namespace rotary::lab

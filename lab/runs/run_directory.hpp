// SPDX-License-Identifier: Apache-2.0
// RunDirectory: the files of one cell, and the lock of the process that works on it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/experiment/cell.hpp"

namespace rotary::lab {

// A line of log.csv, after `step` steps.
struct LogRow {
  std::int64_t step = 0;
  std::int64_t tokens = 0;  // seen so far
  double train_loss = 0;    // nats per byte, the mean since the row before
  double validation_loss = 0;
  double learning_rate = 0;  // of the last step
  double wall_s = 0;         // of training steps so far, validation not counted
  double cpu_s = 0;          // likewise, of all threads
  double tokens_per_s = 0;   // since the row before
};

// A sequence of `multiple` times the trained tokens.
struct LengthLoss {
  std::int64_t multiple = 0;
  std::string rule = {};            // by which a rotary encoding was stretched; "": as trained
  std::optional<double> loss = {};  // absent: the encoding has no such positions
  // The loss on the last quarter of the longest sequences measured, whose bytes see most at the
  // longest multiple; the same bytes at every multiple. causal_lm.
  std::optional<double> last_quarter = {};
  // For each window of the longest sequences: the same bytes in every cell of a comparison.
  std::vector<double> windows = {};
  // By position in the sequence, in eighths of the trained tokens; NaN where nothing is predicted.
  std::vector<double> by_position = {};
};

// The influence of one pair of features in one layer of a finished rotary model, all heads
// together, on validation text. The differences are to the model as it is.
struct PairInfluence {
  std::int64_t layer = 0;
  std::int64_t pair = 0;
  double inv_freq = 0;          // radians per token
  double q_energy = 0;          // mean of the square of the pair's length in a head's query
  double k_energy = 0;          // likewise of keys
  double loss_unturned = 0;     // nats that the loss grows by when the pair does not turn
  double loss_removed = 0;      // when its features are 0
  double distance_removed = 0;  // tokens by which the mean distance of what the layer attends to
                                // grows then
};

// Its numbers by name, in order, layer and pair not among them.
template <class Influence>
[[nodiscard]] auto named_numbers(Influence& pair) {
  return std::array{std::pair{"inv_freq", &pair.inv_freq},
                    std::pair{"q_energy", &pair.q_energy},
                    std::pair{"k_energy", &pair.k_energy},
                    std::pair{"loss_unturned", &pair.loss_unturned},
                    std::pair{"loss_removed", &pair.loss_removed},
                    std::pair{"distance_removed", &pair.distance_removed}};
}

// done.json.
struct Outcome {
  std::int64_t steps = 0;
  std::int64_t parameters = 0;
  double validation_loss = 0;
  double wall_s = 0;
  double cpu_s = 0;
  std::vector<LengthLoss> lengths = {};
  // Further measures of the task: "accuracy", "bleu".
  std::map<std::string, double> metrics = {};
  // For each pair of each layer, where TrainingConfig::pair_rows asks for it.
  std::vector<PairInfluence> pairs = {};
  // All machines that worked on it, in order; seldom more than one.
  nlohmann::json machines = nlohmann::json::array();
};

// Held exclusively until this is destroyed or the process ends in any way.
class RunDirectory {
 public:
  // Makes missing parts. Absent: another process works on the cell. Fails if the directory belongs
  // to another configuration.
  [[nodiscard]] static std::optional<RunDirectory> claim(const std::string& root, const Cell& cell);
  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&& other) = delete;
  ~RunDirectory();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // The folder that it is in, with those of other cells.
  [[nodiscard]] const std::string& runs() const noexcept { return runs_; }
  [[nodiscard]] std::string checkpoint() const { return path_ + "/checkpoint.pt"; }
  [[nodiscard]] bool has_checkpoint() const;
  [[nodiscard]] bool finished() const;

  // Cuts log.csv to this number of bytes, which a checkpoint records; 0: begins it.
  void begin_log(std::int64_t bytes);
  void append(const LogRow& row);
  [[nodiscard]] std::int64_t log_bytes() const noexcept { return log_bytes_; }

  // A checkpoint is written here, and becomes the checkpoint once its bytes are on the disk.
  [[nodiscard]] std::string pending_checkpoint() const { return path_ + "/checkpoint.new"; }
  void commit_checkpoint() const;

  // A file beside the log, for people to read; it may be there already.
  void keep(std::string_view name, const std::string& bytes) const;

  void finish(const Outcome& outcome) const;

 private:
  RunDirectory(std::string runs, std::string path, int lock)
      : runs_(std::move(runs)), path_(std::move(path)), lock_(lock) {}

  std::string runs_;
  std::string path_;
  int lock_;  // a file descriptor
  std::int64_t log_bytes_ = 0;
};

// The finished cell that another starts from.
// The cell with the SHA-256 of its start's configuration, which its identity includes; unchanged if
// it starts from none. Fails, naming the command to run, if that cell is not finished.
[[nodiscard]] Cell with_start(Cell cell, const std::string& runs);

// Its checkpoint.
[[nodiscard]] std::string start_checkpoint(const Cell& cell, const std::string& runs);

}  // namespace rotary::lab

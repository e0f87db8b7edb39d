// SPDX-License-Identifier: Apache-2.0
// RunDirectory: one cell's files, and the lock of the process that works on it.
#pragma once

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

// A line of log.csv after `step` steps.
struct LogRow {
  std::int64_t step = 0;
  std::int64_t tokens = 0;  // seen so far
  double train_loss = 0;    // nats per target, the mean since the last row
  double validation_loss = 0;
  double learning_rate = 0;  // of the last step
  double wall_s = 0;         // training time so far, without validation
  double cpu_s = 0;          // likewise, over all threads
  double tokens_per_s = 0;   // since the last row
};

// The loss on sequences of `multiple` times the cell's unit (TrainingConfig::evaluate_unit).
struct LengthLoss {
  std::int64_t multiple = 0;
  std::string rule = {};            // how a rotary encoding was stretched; "": as trained
  std::optional<double> loss = {};  // absent: the encoding has no such positions
  // For causal_lm: the loss on the last quarter of each window of the longest sequences. Every
  // multiple predicts these bytes; the longest gives them the most context.
  std::optional<double> last_quarter = {};
  // The loss per window of the longest sequences. Windows have the same bytes in compared cells.
  std::vector<double> windows = {};
  // The loss by position, in bins of an eighth of the unit. NaN: the bin has no target.
  std::vector<double> by_position = {};
};

// The effect of one pair of one layer, in all heads, on the validation of a finished rotary model.
// Losses and distances are relative to the unchanged model.
struct PairInfluence {
  std::int64_t layer = 0;
  std::int64_t pair = 0;
  double inv_freq = 0;          // radians per token
  double q_energy = 0;          // the mean squared length of the pair in a head's query
  double k_energy = 0;          // likewise in keys
  double loss_unturned = 0;     // nats added to the loss if the pair does not rotate
  double loss_removed = 0;      // likewise if its features are 0
  double distance_removed = 0;  // tokens added to the layer's mean attended distance
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PairInfluence, layer, pair, inv_freq, q_energy, k_energy,
                                   loss_unturned, loss_removed, distance_removed)

struct Outcome {
  std::int64_t steps = 0;
  std::int64_t parameters = 0;
  double validation_loss = 0;
  double wall_s = 0;
  double cpu_s = 0;
  std::vector<LengthLoss> lengths = {};
  // Other measures of the task: "accuracy", "bleu".
  std::map<std::string, double> metrics = {};
  // Per pair and layer, if TrainingConfig::pair_rows asks for it.
  std::vector<PairInfluence> pairs = {};
  // The machines that worked on the cell, in order; usually one.
  nlohmann::json machines = nlohmann::json::array();
};

// The cell stays locked until this object is destroyed or the process ends.
class RunDirectory {
 public:
  // Makes missing folders. Absent if another process works on the cell. Fails if the directory has
  // another configuration.
  [[nodiscard]] static std::optional<RunDirectory> claim(const std::string& root, const Cell& cell);
  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&& other) = delete;
  ~RunDirectory();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // The folder of all cells' directories.
  [[nodiscard]] const std::string& runs() const noexcept { return runs_; }
  [[nodiscard]] std::string checkpoint() const { return path_ + "/checkpoint.pt"; }
  [[nodiscard]] bool has_checkpoint() const;
  [[nodiscard]] bool finished() const;

  // Truncates log.csv to the bytes that a checkpoint recorded; 0: begins a new log.
  void begin_log(std::int64_t bytes);
  void append(const LogRow& row);
  [[nodiscard]] std::int64_t log_bytes() const noexcept { return log_bytes_; }

  // Write a checkpoint here; commit_checkpoint() makes it current once its bytes are on disk.
  [[nodiscard]] std::string pending_checkpoint() const { return path_ + "/checkpoint.new"; }
  void commit_checkpoint() const;

  // Writes or replaces a file beside the log, for people to read.
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

[[nodiscard]] bool is_finished(const std::string& runs, const std::string& folder);

// Returns the cell with the SHA-256 of its start's configuration, which is part of the cell's
// identity. A cell without a start stays unchanged. The start must be finished.
[[nodiscard]] Cell with_start(Cell cell, const std::string& runs);

[[nodiscard]] std::string start_checkpoint(const Cell& cell, const std::string& runs);

}  // namespace rotary::lab

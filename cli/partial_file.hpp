// SPDX-License-Identifier: Apache-2.0
// An output until it is complete: a file with a random name in the folder of its target, whose
// place it then takes. Whatever ends the command before that removes it: a failure, or a signal
// that would end the process anyway.
#pragma once

#include <sys/stat.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cli/standard_streams.hpp"

namespace rotary::cli {

// While it lives, signals whose default action ends the process remove partial files first; the
// process then ends by the signal. One at a time.
class RemovalBySignals {
 public:
  RemovalBySignals() noexcept;
  RemovalBySignals(const RemovalBySignals&) = delete;
  RemovalBySignals& operator=(const RemovalBySignals&) = delete;
  ~RemovalBySignals();

  static constexpr std::array signals = {SIGHUP,  SIGINT,  SIGQUIT,  SIGPIPE, SIGALRM,
                                         SIGTERM, SIGUSR1, SIGUSR2,  SIGPOLL, SIGPROF,
                                         SIGXCPU, SIGXFSZ, SIGVTALRM};

 private:
  std::array<struct ::sigaction, signals.size()> before_{};
};

// Signals wait while it lives.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked();

 private:
  ::sigset_t before_{};
};

// Failures are I/O failures, and name the target.
class PartialFile {
 public:
  explicit PartialFile(std::string target);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();

  void write(std::string_view bytes);

  // After the last byte. A file that will be replaced hands on its permissions, and its owner and
  // group as far as the user may.
  void finish();

  // Becomes the target. A file that was not there when this one was begun is not replaced.
  void take_place();

  // The target is again what it was before take_place(); false where the file system cannot.
  bool give_back() noexcept;

  // Where the bytes are until then.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& target() const noexcept { return target_; }

  // Async-signal-safe.
  static void remove_all() noexcept;

 private:
  enum class Change { none, created, exchanged, replaced };

  void create();
  void forget() noexcept;
  void keep_permissions();
  [[noreturn]] void fail(std::string_view verb, int error) const;

  std::string target_;
  std::string name_;  // after an exchange the old target has it
  std::optional<struct ::stat> old_;
  std::optional<Descriptor> descriptor_;
  Change change_ = Change::none;
  bool exists_ = false;
  PartialFile* older_ = nullptr;
};

}  // namespace rotary::cli

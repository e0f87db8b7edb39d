// SPDX-License-Identifier: Apache-2.0
// Files and folders that a command makes go again where the command does not come to its end, by a
// failure or by a signal that would end the process anyway.
#pragma once

#include <sys/stat.h>

#include <array>
#include <csignal>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/standard_streams.hpp"

namespace rotary::cli {

// While it lives, signals whose default action ends the process remove first what was made; the
// process then ends by the signal. Another one may live meanwhile, and ends before.
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

// A file or an empty folder, which is removed with this object.
class Made {
 public:
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  // The newest first, so folders after their files. Async-signal-safe.
  static void remove_all() noexcept;

 protected:
  explicit Made(std::string name) : name_(std::move(name)) {}
  ~Made();

  // Called while signals are blocked.
  void exists_now() noexcept;

  std::string name_;
  bool exists_ = false;

 private:
  void remove() const noexcept;

  Made* older_ = nullptr;
};

// Made where it is not there yet, and kept where a file took its place in it.
class OutputFolder : public Made {
 public:
  explicit OutputFolder(const std::string& path);
};

// An output until it is complete: a file with a random name in the folder of its target, whose
// place it then takes. Failures are I/O failures, and name the target.
class PartialFile : public Made {
 public:
  explicit PartialFile(std::string target);

  void write(std::string_view bytes);

  // After the last byte. A file that will be replaced hands on its permissions, and its owner and
  // group as far as the user may.
  void finish();

  // Becomes the target. A file that was not there when this one was begun is not replaced.
  void take_place();

  // The target is again what it was before take_place(); false where the file system cannot.
  bool give_back() noexcept;

  // Where the bytes are until then; after an exchange the old target has this name.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& target() const noexcept { return target_; }

 private:
  enum class Change { none, created, exchanged, replaced };

  void create();
  void keep_permissions();
  [[noreturn]] void fail(std::string_view verb, int error) const;

  std::string target_;
  std::optional<struct ::stat> old_;
  std::optional<Descriptor> descriptor_;
  Change change_ = Change::none;
};

}  // namespace rotary::cli

// SPDX-License-Identifier: Apache-2.0
// Removes the files and folders of a command that fails or is ended by a signal.
#pragma once

#include <sys/stat.h>

#include <array>
#include <csignal>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "apps/standard_streams.hpp"

namespace rotary::cli {

// While it lives, any of `signals` removes every Made before it ends the process. May be nested.
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

class SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked();

 private:
  ::sigset_t before_{};
};

// A file or an empty folder, removed with this object.
class Made {
 public:
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  // Removes the newest first, so that files go before their folders. Async-signal-safe.
  static void remove_all() noexcept;

 protected:
  explicit Made(std::string name) : name_(std::move(name)) {}
  ~Made();

  // Call while signals are blocked.
  void exists_now() noexcept;

  std::string name_;
  bool exists_ = false;

 private:
  void remove() const noexcept;

  Made* older_ = nullptr;
};

// A folder, created if it does not exist, and kept once a file is in it.
class OutputFolder : public Made {
 public:
  explicit OutputFolder(const std::string& path);
};

// An incomplete output, with a random name beside its target. take_place() replaces the target.
// Failures are I/O failures that name the target.
class PartialFile : public Made {
 public:
  explicit PartialFile(std::string target);

  void write(std::string_view bytes);

  // Called after the last byte. Takes over the target's permissions and, if allowed, owner and
  // group.
  void finish();

  // Replaces the target. Fails if a file appeared there meanwhile and the file system can tell.
  void take_place();

  // Undoes take_place(). False if the file system cannot.
  bool give_back() noexcept;

  // The temporary name. After take_place() exchanged the files, the old target has this name.
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

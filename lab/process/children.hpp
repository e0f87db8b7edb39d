// SPDX-License-Identifier: Apache-2.0
// Children: processes of this same program and command line, each with its own variables.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace rotary::lab {

struct ChildEnd {
  int code = 0;    // its exit code, if it ended by itself
  int signal = 0;  // the signal that ended it otherwise
};

class Children {
 public:
  Children() = default;
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // "NAME=value" in front of the variables of this process. Its standard error is read by watch().
  // It belongs to a process group of its own: a Ctrl-C reaches it as what this process sends.
  void start(const std::vector<std::string>& variables);

  struct Watcher {
    std::function<void(int child, const std::string& line)> on_line;
    std::function<void(int child, const ChildEnd& end)> on_end;
    // A few times a second; true asks all to stop (SIGTERM), once.
    std::function<bool()> stops;
  };
  // Until all have ended.
  void watch(const Watcher& watcher);

 private:
  struct Child {
    int process = 0;
    int output = -1;  // a file descriptor; -1: closed
    std::string line = {};
  };
  void read_output(int number, const Watcher& watcher);
  void send(int signal) const;

  std::vector<Child> children_;
};

// Sends SIGTERM to this process when the process with this number, which started it, has ended, or
// at once if it already has. Only output to that process is lost.
void end_with(int parent_process);

}  // namespace rotary::lab

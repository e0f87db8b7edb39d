// SPDX-License-Identifier: Apache-2.0
// Files that exist whole or not at all, even if the process is killed or the power is lost. Their
// folder belongs to one process at a time.
#pragma once

#include <string>
#include <string_view>

namespace rotary::lab {

// Written as PATH.new first. Failures are I/O failures.
void write_durably(const std::string& path, std::string_view bytes);

// Gives a finished file its name.
void rename_durably(const std::string& from, const std::string& to);

// Afterwards everything written to the file so far is on the disk.
void flush_to_disk(const std::string& path);

void append_to(const std::string& path, std::string_view bytes);

[[noreturn]] void fail_errno(const std::string& path, std::string_view verb);

}  // namespace rotary::lab

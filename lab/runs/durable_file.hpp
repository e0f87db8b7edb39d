// SPDX-License-Identifier: Apache-2.0
// File changes that survive a killed process or a power failure. Only one process may use the
// files' folder.
#pragma once

#include <string>
#include <string_view>

namespace rotary::lab {

// Writes the file completely or not at all: writes PATH.new first. Fails on I/O errors.
void write_durably(const std::string& path, std::string_view bytes);

void rename_durably(const std::string& from, const std::string& to);

// Forces everything written to the file so far to disk.
void flush_to_disk(const std::string& path);

void append_to(const std::string& path, std::string_view bytes);

[[noreturn]] void fail_errno(const std::string& path, std::string_view verb);

}  // namespace rotary::lab

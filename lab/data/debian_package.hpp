// SPDX-License-Identifier: Apache-2.0
// Text that comes as a Debian package: fetched by apt and unpacked, nothing installed.
#pragma once

#include <string>

namespace rotary::lab {

// A temporary folder that lives as long as this object.
class UnpackedPackage {
 public:
  // Fails if the name is not that of a package, or if apt-get or dpkg-deb fail; they print the
  // reason on standard error.
  explicit UnpackedPackage(const std::string& name);
  UnpackedPackage(const UnpackedPackage&) = delete;
  UnpackedPackage& operator=(const UnpackedPackage&) = delete;
  ~UnpackedPackage();

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  // The name of the archive, which has the version in it: "perl-doc_5.36.0-7_all.deb".
  [[nodiscard]] const std::string& archive() const noexcept { return archive_; }

 private:
  std::string folder_;
  std::string archive_;
};

}  // namespace rotary::lab

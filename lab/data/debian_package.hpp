// SPDX-License-Identifier: Apache-2.0
// Text that comes as a Debian package: fetched by apt and unpacked, nothing installed.
#pragma once

#include <string>

namespace rotary::lab {

// A folder of its own for the time of its life.
class UnpackedPackage {
 public:
  // Fails where the name is none of a package, or apt-get or dpkg-deb fail; they say why on
  // standard error.
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

// SPDX-License-Identifier: Apache-2.0
// The only definition of the version; CMakeLists.txt reads it from here.
#ifndef ROTARY_VERSION_HPP
#define ROTARY_VERSION_HPP

#define ROTARY_VERSION_MAJOR 0
#define ROTARY_VERSION_MINOR 3
#define ROTARY_VERSION_PATCH 0
#define ROTARY_VERSION_STRING "0.3.0"

#endif  // ROTARY_VERSION_HPP

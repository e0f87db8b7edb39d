#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
set -eu
packages="rotary rotary-threads"
cc -std=c99 -Wall -Wextra -Wpedantic -Werror -o consumer main.c \
  $(pkg-config --cflags --libs $packages) -lm

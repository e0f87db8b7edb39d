# SPDX-License-Identifier: Apache-2.0
# ./dev times: seconds of building and testing, the slowest first. ./dev lines: lines of code.

cmd_times() {
  (($# <= 1)) || die "times takes [PRESET], got '$*'"
  local preset="${1:-release}"
  [[ -e "build/$preset/.ninja_log" ]] || die "build/$preset has no log: run ./dev test first"
  python3 -B tools/dev/times.py "build/$preset"
}

# Prints the lines of code in each top folder and in total.
cmd_lines() {
  (($# == 0)) || die "lines takes nothing, got '$1'"
  git ls-files -z |
    grep --null-data --extended-regexp \
      '\.(cpp|hpp|h|inl|c|cu|cuh|py|sh|js|html|css|cmake)$|CMakeLists.txt$|^dev$' |
    xargs --null wc --lines | awk '
      $2 != "total" {
        top = $2 ~ "/" ? $2 : "(root)"
        sub("/.*", "", top)
        lines[top] += $1
        all += $1
      }
      END {
        for (top in lines) printf "%7d  %s\n", lines[top], top | "sort --reverse --numeric-sort"
        close("sort --reverse --numeric-sort")
        printf "%7d  all\n", all
      }'
}

# SPDX-License-Identifier: Apache-2.0
# ./dev fuzz: runs the targets of fuzz/ with AddressSanitizer and UndefinedBehaviorSanitizer.
# docs/how-to/fuzz.md says what each checks.

mapfile -t fuzz_targets < <(
  sed -n 's/^rotary_add_fuzz_target(\([a-z_0-9]*\).*/\1/p' fuzz/CMakeLists.txt
)

cmd_fuzz() {
  local limits=() targets=()
  while (($# > 0)); do
    case "$1" in
      --runs)
        [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || die "--runs needs a number of inputs, got '${2:-}'"
        limits+=("-runs=$2")
        shift
        ;;
      [1-9]*)
        [[ "$1" =~ ^[0-9]+$ ]] || die "fuzz takes a whole number of seconds, got '$1'"
        limits+=("-max_total_time=$1")
        ;;
      *)
        [[ " ${fuzz_targets[*]} " == *" $1 "* ]] ||
          die "fuzz takes [SECONDS] [--runs N] [TARGET...], targets ${fuzz_targets[*]}, got '$1'"
        targets+=("$1")
        ;;
    esac
    shift
  done
  if ((${#targets[@]} == 0)); then
    targets=("${fuzz_targets[@]}")
  fi
  install_packages "${packages_fuzz[@]}"
  build fuzz
  if ((${#limits[@]} == 0)); then
    limits=(-max_total_time=60)
  fi
  fuzz_found=()
  local target
  for target in "${targets[@]}"; do
    fuzz_one "$target" "${limits[@]}"
  done
  if ((${#fuzz_found[@]} > 0)); then
    stage "findings in: ${fuzz_found[*]}"
    return 1
  fi
  stage "no finding"
}

# libFuzzer options for one target: the longest input, and words that libFuzzer cannot guess.
fuzz_options() {
  case "$1" in
    attend | attend_mapped | linear_attend) echo -max_len=224 -len_control=0 ;;
    config | spec) echo -max_len=1024 -dict=fuzz/dictionaries/json.dict ;;
    merge_attention) echo -max_len=160 -len_control=0 ;;
    safetensors) echo -max_len=1024 -dict=fuzz/dictionaries/safetensors.dict ;;
    npy) echo -max_len=512 -dict=fuzz/dictionaries/npy.dict ;;
    identify) echo -max_len=512 -dict=fuzz/dictionaries/json.dict ;;
    permute | views) echo -max_len=64 -len_control=0 ;;
    gguf) echo -max_len=4096 ;;
    positions) echo -max_len=128 -len_control=0 ;;
    absolute | append | c_abi | relative | shift) echo -max_len=320 -len_control=0 ;;
  esac
}

# fuzz_one TARGET LIMIT...: runs the target from inputs of fuzz/corpus and of earlier runs.
fuzz_one() {
  local target="$1" limits=("${@:2}") folder="build/fuzz/learned/$1" log options begin="$SECONDS"
  stage "fuzz: $target"
  mkdir -p "$folder/corpus"
  log="$folder/log"
  read -ra options <<<"$(fuzz_options "$target")"
  rm -f "$folder"/finding-*
  if "build/fuzz/bin/rotary_fuzz_$target" "${limits[@]}" "${options[@]}" -entropic=0 -timeout=10 \
    -rss_limit_mb=2048 -artifact_prefix="$folder/finding-" -print_final_stats=1 -verbosity=0 \
    "$folder/corpus" "fuzz/corpus/$target" >"$log" 2>&1; then
    printf '%s: %s inputs in %d s, no finding\n' "$target" \
      "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$((SECONDS - begin))"
  else
    fuzz_found+=("$target")
    fuzz_explain "$target" "$folder"
  fi
}

fuzz_explain() {
  local target="$1" folder="$2" input
  grep --text --extended-regexp '^fuzz: |ERROR: |runtime error: |^SUMMARY: ' "$folder/log" || true
  input="$(find "$folder" -name 'finding-*' -print -quit)"
  cat <<TEXT
$target: a finding; all of its output is in $folder/log
  the input:        ${input:-none was kept}
  see it again:     build/fuzz/bin/rotary_fuzz_$target $input
  make it smaller:  build/fuzz/bin/rotary_fuzz_$target -minimize_crash=1 -runs=100000 $input
  make it a test:   cp $input fuzz/corpus/$target/NAME, see docs/how-to/fuzz.md
TEXT
}

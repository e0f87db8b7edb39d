# SPDX-License-Identifier: Apache-2.0
# ./dev fresh: tests the README's two commands, ./dev tsan, the guide and ./dev consumers, on a
# clone of HEAD. Runs inside a bare Debian 12 tree, with this machine's mirror and apt network
# settings.

fresh_suite=bookworm
fresh_tree=""
fresh_keep=no

cmd_fresh() {
  local mirror=""
  while (($# > 0)); do
    case "$1" in
      --keep) fresh_keep=yes ;;
      --mirror) mirror="${2:?--mirror needs a URL}" && shift ;;
      *) die "fresh takes --keep and --mirror URL, got '$1'" ;;
    esac
    shift
  done
  ((EUID == 0)) || die "fresh changes its root directory, which needs root: sudo ./dev fresh"
  install_packages debootstrap git
  [[ -z "$(git status --porcelain)" ]] ||
    echo "note: HEAD is cloned without your uncommitted changes"
  if [[ -z "$mirror" ]]; then
    mirror="$(fresh_sources | awk -v suite="$fresh_suite" '$3 == suite { print $2; exit }')"
  fi
  [[ -n "$mirror" ]] || die "apt has no source of Debian $fresh_suite here; pass --mirror URL"

  fresh_tree="$(mktemp --directory)"
  chmod 755 "$fresh_tree"  # tests start programs as other users
  trap fresh_cleanup EXIT
  fresh_step "bare tree" debootstrap --variant=minbase "$fresh_suite" "$fresh_tree" "$mirror"
  fresh_step "settings of apt" fresh_configure
  fresh_step "git and certificates" fresh_inside / \
    "apt-get --quiet update && apt-get --quiet install --yes --no-install-recommends \
    git ca-certificates"
  fresh_step "clone" fresh_clone
  fresh_step "./dev start" fresh_inside /rotary "./dev start"
  fresh_step "./dev test" fresh_inside /rotary "./dev test"
  fresh_step "./dev tsan" fresh_inside /rotary "./dev tsan"
  fresh_step "the guide, word for word" fresh_inside /rotary \
    "python3 tests/documents/guide_test.py . --install"
  fresh_step "./dev consumers" fresh_inside /rotary "./dev consumers"
  stage "a fresh machine passes"
}

# fresh_step TITLE COMMAND...: runs the command and prints its duration.
fresh_step() {
  local title="$1" begin="$SECONDS"
  shift
  stage "fresh: $title"
  "$@"
  printf '== fresh: %s took %d s\n' "$title" "$((SECONDS - begin))"
}

# Prints sources.list lines for the suite, its updates and security fixes, as on this machine.
fresh_sources() {
  apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v suite="$fresh_suite" '$4 == "main" && $3 ~ "^" suite "(-updates|-security)?$"' |
    sort --unique --key=3
}

fresh_configure() {
  local apt="$fresh_tree/etc/apt" file
  local sources
  sources="$(fresh_sources)"
  if [[ -n "$sources" ]]; then
    printf '%s\n' "$sources" >"$apt/sources.list"
  fi
  apt-config dump Acquire |
    grep --extended-regexp '^Acquire::(http|https|Check-|Retries|ForceIP)' \
      >"$apt/apt.conf.d/90network" || true
  # The certificate of an https mirror might be installed on this machine only.
  if [[ "$sources" == *https:* ]]; then
    cp --dereference /etc/ssl/certs/ca-certificates.crt "$apt/network.crt"
    echo 'Acquire::https::CaInfo "/etc/apt/network.crt";' >>"$apt/apt.conf.d/90network"
  fi
  for file in resolv.conf hosts; do
    cp --dereference "/etc/$file" "$fresh_tree/etc/$file"
  done
  # AddressSanitizer's leak checker reads /proc; apt writes its log through a terminal.
  mount -t proc proc "$fresh_tree/proc" && mount -t devpts devpts "$fresh_tree/dev/pts" ||
    echo "note: mounting /proc or /dev/pts was refused; going on without it"
}

# fresh_inside FOLDER COMMAND: runs the command as root. Only the proxy variables of the
# outer environment reach it.
fresh_inside() {
  local name environment=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin
    DEBIAN_FRONTEND=noninteractive)
  for name in http_proxy https_proxy no_proxy; do
    if [[ -n "${!name:-}" ]]; then
      environment+=("$name=${!name}")
    fi
  done
  chroot "$fresh_tree" /usr/bin/env --ignore-environment "${environment[@]}" \
    /bin/sh -ec "cd $1; $2"
}

fresh_clone() {
  git bundle create --quiet "$fresh_tree/rotary.bundle" HEAD
  fresh_inside / "git clone --quiet --config advice.detachedHead=false rotary.bundle rotary"
  local task
  for task in start test; do
    grep --quiet --fixed-strings "./dev $task" "$fresh_tree/rotary/README.md" ||
      die "README.md must name ./dev $task, which fresh runs"
  done
}

fresh_cleanup() {
  local folder
  for folder in "$fresh_tree/dev/pts" "$fresh_tree/proc"; do
    if mountpoint --quiet "$folder"; then
      umount "$folder" || umount --lazy "$folder"
    fi
  done
  if [[ "$fresh_keep" == yes ]]; then
    echo "kept: $fresh_tree"
  else
    rm --recursive --force --one-file-system "$fresh_tree"
  fi
}

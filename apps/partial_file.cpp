// SPDX-License-Identifier: Apache-2.0
#include "apps/partial_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "apps/failure.hpp"

namespace rotary::cli {
namespace {

// The start of the list that a signal handler reads. Changed only while signals are blocked.
std::atomic<Made*> newest = nullptr;
static_assert(std::atomic<Made*>::is_always_lock_free);

extern "C" void remove_and_end(int signal) {
  Made::remove_all();
  // SA_RESETHAND has restored the default action, which then ends the process.
  static_cast<void>(::raise(signal));
}

std::string random_name_beside(const std::string& target) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number))
    fail(ExitCode::io, "the system has no random numbers for the name of a file");
  const auto folder = std::filesystem::path(target).parent_path();
  return folder / fmt::format("rotary-{:016x}.partial", number);
}

// Copies the POSIX access control list, whose permissions the mode alone cannot hold.
void copy_access_list(const std::string& from, int to) noexcept {
  constexpr const char* name = "system.posix_acl_access";
  std::array<char, 4096> list{};
  const ssize_t size = ::getxattr(from.c_str(), name, list.data(), list.size());
  if (size > 0)
    static_cast<void>(::fsetxattr(to, name, list.data(), static_cast<std::size_t>(size), 0));
  else
    static_cast<void>(::fremovexattr(to, name));  // inherited from the folder
}

}  // namespace

RemovalBySignals::RemovalBySignals() noexcept {
  struct ::sigaction action {};
  action.sa_handler = remove_and_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigfillset(&action.sa_mask);
  for (std::size_t i = 0; i < signals.size(); ++i) {
    ::sigaction(signals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_DFL) ::sigaction(signals[i], &action, nullptr);
  }
}

RemovalBySignals::~RemovalBySignals() {
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
}

SignalsBlocked::SignalsBlocked() noexcept {
  ::sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

Made::~Made() {
  const SignalsBlocked blocked;
  if (newest == this) newest = older_;
  for (Made* newer = newest; newer != nullptr; newer = newer->older_)
    if (newer->older_ == this) newer->older_ = older_;
  remove();
}

void Made::exists_now() noexcept {
  exists_ = true;
  older_ = newest;
  newest = this;
}

void Made::remove() const noexcept {
  if (exists_ && ::unlink(name_.c_str()) != 0) ::rmdir(name_.c_str());
}

void Made::remove_all() noexcept {
  for (const Made* made = newest; made != nullptr; made = made->older_) made->remove();
}

OutputFolder::OutputFolder(const std::string& path) : Made(path) {
  const SignalsBlocked blocked;
  const int error = ::mkdir(path.c_str(), 0777) == 0 ? 0 : errno;
  if (error == 0) exists_now();
  std::error_code ignored;
  if (error == 0 || (error == EEXIST && std::filesystem::is_directory(path, ignored))) return;
  fail(ExitCode::io, "{}: cannot create it: {}", path, std::generic_category().message(error));
}

PartialFile::PartialFile(std::string target) : Made({}), target_(std::move(target)) {
  struct ::stat status {};
  if (::stat(target_.c_str(), &status) == 0) old_ = status;
  create();
}

void PartialFile::create() {
  // Keeps a replacement private until its permissions are set.
  const mode_t mode = old_ ? S_IRUSR | S_IWUSR : 0666;
  int number = -1;
  int error = EEXIST;
  for (int tries = 0; error == EEXIST && tries < 16; ++tries) {
    name_ = random_name_beside(target_);
    const SignalsBlocked blocked;
    number = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    error = number < 0 ? errno : 0;
    if (error == 0) exists_now();
  }
  if (error != 0) fail("create", error);
  descriptor_.emplace(number);
}

void PartialFile::write(std::string_view bytes) {
  if (const int error = write_all(descriptor_->number(), bytes); error != 0) fail("write", error);
}

void PartialFile::finish() {
  if (old_) keep_permissions();
  if (const int error = descriptor_->close(); error != 0) fail("write", error);
}

void PartialFile::keep_permissions() {
  const int file = descriptor_->number();
  const bool same_group = ::fchown(file, old_->st_uid, old_->st_gid) == 0 ||
                          ::fchown(file, static_cast<uid_t>(-1), old_->st_gid) == 0;
  if (same_group) copy_access_list(target_, file);
  mode_t mode = old_->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  // A new group gets only the permissions of others.
  if (!same_group) mode = (mode & ~mode_t{S_IRWXG}) | ((mode & mode_t{S_IRWXO}) << 3);
  if (::fchmod(file, mode) != 0) fail("keep the permissions of", errno);
}

void PartialFile::take_place() {
  const unsigned flags = old_ ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, target_.c_str(), flags) == 0) {
    change_ = old_ ? Change::exchanged : Change::created;
    exists_ = old_.has_value();
    return;
  }
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) fail("replace", errno);
  // For file systems on which renameat2() supports no flags.
  if (::rename(name_.c_str(), target_.c_str()) != 0) fail("replace", errno);
  change_ = Change::replaced;
  exists_ = false;
}

bool PartialFile::give_back() noexcept {
  const Change change = std::exchange(change_, Change::none);
  if (change == Change::created) return ::unlink(target_.c_str()) == 0;
  return change == Change::none ||
         (change == Change::exchanged &&
          ::renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0);
}

void PartialFile::fail(std::string_view verb, int error) const {
  cli::fail(ExitCode::io, "{}: cannot {} it: {}", target_, verb,
            std::generic_category().message(error));
}

}  // namespace rotary::cli

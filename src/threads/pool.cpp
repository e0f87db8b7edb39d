// SPDX-License-Identifier: Apache-2.0
#include "threads/pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>

namespace rotary {
namespace {

// True inside a task of any pool. Such a task must not wait for a pool, which could be its own.
thread_local bool in_task = false;

// Number of forks of this process and its ancestors since the first pool was made.
constinit std::atomic<int> forks{0};

#ifdef _WIN32
int forks_so_far() { return 0; }  // Windows does not fork.
#else
void count_fork() noexcept { ++forks; }

// Two threads that both make a first pool may register the handler twice; a fork then counts twice,
// which does no harm. (A guarded static could block a child that is forked meanwhile.) The C
// library drops the handler when this library is unloaded.
int forks_so_far() {
  static constinit std::atomic<bool> are_counted{false};
  if (!are_counted && pthread_atfork(nullptr, nullptr, count_fork) != 0) throw std::bad_alloc();
  are_counted = true;
  return forks;
}
#endif

// Waits for the condition for at most 10 us, less than it takes to fall asleep and wake up
// (docs/decisions.md, 0004). Yields to threads that have work.
template <class Condition>
void stay_awake_for(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(10);
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

}  // namespace

struct Threads::Pool::Call {
  ExecutorTask task;
  void* state;
  std::int64_t count;
  std::atomic<std::int64_t> next{0};  // the next task to take

  void take_tasks() noexcept {
    in_task = true;
    for (std::int64_t index = next++; index < count; index = next++) task(state, index);
    in_task = false;
  }
};

Threads::Pool::Pool() : forks_(forks_so_far()) {}

Threads::Pool::~Pool() {
  if (is_inherited()) {
    // Replaces the objects that the fork copied. Their threads do not exist in this process, so
    // they can be neither joined nor detached.
    for (std::thread& thread : threads_) std::construct_at(&thread);
    std::construct_at(&one_call_);
    std::construct_at(&mutex_);
    std::construct_at(&work_);
    std::construct_at(&done_);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Threads::Pool::start_thread() {
  threads_.emplace_back([this] { serve(); });
}

bool Threads::Pool::is_inherited() const noexcept {
  return forks.load(std::memory_order_relaxed) != forks_;
}

std::int64_t Threads::Pool::concurrency() const noexcept {
  return static_cast<std::int64_t>(threads_.size()) + 1;
}

void Threads::Pool::run(std::int64_t count, ExecutorTask task, void* state) noexcept {
  if (in_task || threads_.empty() || count < 2 || is_inherited()) {
    for (std::int64_t index = 0; index < count; ++index) task(state, index);
    return;
  }
  const std::lock_guard one_call(one_call_);
  Call call{.task = task, .state = state, .count = count};
  {
    const std::lock_guard lock(mutex_);
    call_ = &call;
  }
  if (count >= concurrency()) {
    work_.notify_all();
  } else {
    for (std::int64_t helpers = count - 1; helpers > 0; --helpers) work_.notify_one();
  }
  call.take_tasks();
  const auto all_are_out = [this] { return threads_in_ == 0; };
  std::unique_lock lock(mutex_);
  call_ = nullptr;  // all tasks are taken, so threads that wake up now need not join
  lock.unlock();
  stay_awake_for(all_are_out);
  lock.lock();
  done_.wait(lock, all_are_out);
}

void Threads::Pool::serve() {
  pthread_setname_np(pthread_self(), "rotary");
  const auto is_needed = [this] { return call_ != nullptr || ending_; };
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, is_needed);
    if (ending_) return;
    Call& call = *call_;
    ++threads_in_;
    lock.unlock();
    call.take_tasks();
    lock.lock();
    call_ = nullptr;  // still this call, because run() waits until all threads are out
    if (--threads_in_ == 0) done_.notify_one();
    lock.unlock();
    stay_awake_for(is_needed);
    lock.lock();
  }
}

}  // namespace rotary

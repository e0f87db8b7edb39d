// SPDX-License-Identifier: Apache-2.0
// The threads of a block are contexts (ucontext.h) of one thread of the program, each with its own
// stack. They run one after another; a thread that waits for others lets the next one run. Shared
// memory keeps the bytes of the previous block, as on a device.
#include <ucontext.h>

#include <array>
#include <vector>

#include "cuda_runtime.h"

namespace rotary::cuda {

// The kernels declare this as `extern __shared__`.
__attribute__((aligned(32))) unsigned char shared[48 << 10];

}  // namespace rotary::cuda

namespace emulation {
namespace {

constexpr std::size_t stack_bytes = 256 << 10;  // frames under a sanitizer are large
constexpr unsigned most_threads = 1024;

struct Fiber {
  ucontext_t context;
  std::vector<char> stack = std::vector<char>(stack_bytes);
  bool is_done = false;
};

// A barrier for all threads of a block, or for the threads of a mask in one warp.
struct Meeting {
  int arrived = 0;
  int times = 0;
};

std::vector<Fiber> fibers;
std::array<Meeting, most_threads> meetings;  // indexed by the first thread of a mask
Meeting of_block;
std::array<double, most_threads> exchanged;
ucontext_t scheduler;
unsigned running = 0;
void (*body_of_launch)(void*) = nullptr;
void* state_of_launch = nullptr;

void enter() {
  body_of_launch(state_of_launch);
  fibers[running].is_done = true;
  swapcontext(&fibers[running].context, &scheduler);
}

void give_turn() { swapcontext(&fibers[running].context, &scheduler); }

void meet(Meeting& meeting, int participants) {
  const int times = meeting.times;
  if (++meeting.arrived == participants) {
    meeting.arrived = 0;
    ++meeting.times;
    return;
  }
  while (meeting.times == times) give_turn();
}

void meet_in_warp(unsigned mask) {
  const unsigned first = (running & ~31U) + static_cast<unsigned>(std::countr_zero(mask));
  meet(meetings[first], std::popcount(mask));
}

void run_block(unsigned threads) {
  of_block = {};
  meetings = {};
  for (unsigned t = 0; t < threads; ++t) {
    Fiber& fiber = fibers[t];
    fiber.is_done = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, enter, 0);
  }
  for (unsigned done = 0; done < threads;) {
    for (running = 0; running < threads; ++running) {
      if (fibers[running].is_done) continue;
      thread = {running, 0, 0};
      swapcontext(&scheduler, &fibers[running].context);
      done += fibers[running].is_done ? 1 : 0;
    }
  }
}

}  // namespace

void launch(dim3 grid, dim3 size, void (*body)(void* state), void* state) {
  body_of_launch = body;
  state_of_launch = state;
  grid_size = grid;
  block_size = size;
  if (fibers.size() < size.x) fibers.resize(size.x);
  for (unsigned y = 0; y < grid.y; ++y) {
    for (unsigned x = 0; x < grid.x; ++x) {
      block = {x, y, 0};
      run_block(size.x);
    }
  }
}

}  // namespace emulation

void __syncthreads() {
  emulation::meet(emulation::of_block, static_cast<int>(emulation::block_size.x));
}

void __syncwarp(unsigned mask) { emulation::meet_in_warp(mask); }

double __shfl_xor_sync(unsigned mask, double value, int offset, int) {
  emulation::exchanged[emulation::running] = value;
  emulation::meet_in_warp(mask);
  const double other = emulation::exchanged[emulation::running ^ static_cast<unsigned>(offset)];
  emulation::meet_in_warp(mask);
  return other;
}

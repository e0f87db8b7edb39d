// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/ranks.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/failure.hpp"

// ProcessGroupGloo.hpp includes headers of Gloo, which some torch packages lack.
#if defined(USE_C10D_GLOO) && __has_include(<gloo/algorithm.h>) && \
    __has_include(<torch/csrc/distributed/c10d/TCPStore.hpp>)
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#define ROTARY_LAB_HAS_GLOO 1
#endif
#if defined(ROTARY_LAB_HAS_GLOO) && defined(USE_C10D_NCCL) && __has_include(<nccl.h>)
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#define ROTARY_LAB_HAS_NCCL 1
#endif

namespace rotary::lab {
namespace {

using cli::ExitCode;
using cli::Failure;

#if defined(ROTARY_LAB_HAS_GLOO)

// Long, because other ranks wait while rank 0 validates. A lost rank is noticed sooner.
constexpr std::chrono::hours collective_timeout(2);

// As in torch's Python, but 127.0.0.1 on one machine: the host name then need not resolve.
std::shared_ptr<gloo::transport::Device> make_device(const std::string& host) {
  using c10d::ProcessGroupGloo;
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME"))
    return ProcessGroupGloo::createDeviceForInterface(interface);
  if (host == "127.0.0.1" || host == "localhost")
    return ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  return ProcessGroupGloo::createDefaultDevice();
}

// Turns exceptions of Gloo and its store, such as a lost connection, into a failure.
template <class Work>
void or_fail(const RankEnvironment& environment, const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    std::string_view why = error.what();
    why = why.substr(0, why.find('\n'));
    throw Failure(ExitCode::io, fmt::format("rank {} of {} must reach every other one: {}",
                                            environment.rank, environment.size, why));
  }
}

#endif

}  // namespace

bool Ranks::reaches_gpu() noexcept {
#if defined(ROTARY_LAB_HAS_NCCL)
  return true;
#else
  return false;
#endif
}

#if defined(ROTARY_LAB_HAS_GLOO)

struct Ranks::Connection {
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
#if defined(ROTARY_LAB_HAS_NCCL)
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> gpus = {};
#endif
};

void Ranks::join() {
  or_fail(environment_, [&] {
    if (connection_) return;
    c10d::TCPStoreOptions of_store;
    of_store.port = environment_.port;
    of_store.isServer = environment_.hosts_store;
    of_store.waitWorkers = false;
    of_store.timeout = std::chrono::seconds(600);
    auto server = c10::make_intrusive<c10d::TCPStore>(environment_.host, of_store);
    auto store = c10::make_intrusive<c10d::PrefixStore>(environment_.prefix, std::move(server));
    const auto options = c10d::ProcessGroupGloo::Options::create(collective_timeout);
    options->devices.push_back(make_device(environment_.host));
    options->threads = 1;
    auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(store, environment_.rank,
                                                             environment_.size, options);
    connection_ = std::make_unique<Connection>(
        Connection{.store = std::move(store), .group = std::move(group)});
  });
}

void Ranks::add_up(std::span<float> numbers, Memory memory) {
  or_fail(environment_, [&] {
    const auto options = at::TensorOptions().dtype(at::kFloat);
    const auto on = options.device(memory == Memory::gpu ? at::kCUDA : at::kCPU);
    std::vector<at::Tensor> tensors = {at::from_blob(numbers.data(), {std::ssize(numbers)}, on)};
#if defined(ROTARY_LAB_HAS_NCCL)
    if (memory == Memory::gpu) {
      if (!connection_->gpus) {
        connection_->gpus = c10::make_intrusive<c10d::ProcessGroupNCCL>(
            c10::make_intrusive<c10d::PrefixStore>("gpus", connection_->store), environment_.rank,
            environment_.size);
      }
      connection_->gpus->allreduce(tensors)->wait();
      return;
    }
#endif
    connection_->group->allreduce(tensors)->wait();
  });
}

std::string Ranks::broadcast(std::string text) {
  or_fail(environment_, [&] {
    std::vector<at::Tensor> size = {at::full({1}, std::ssize(text), at::kLong)};
    connection_->group->broadcast(size)->wait();
    text.resize(static_cast<std::size_t>(size[0].item<std::int64_t>()));
    if (text.empty()) return;
    std::vector<at::Tensor> bytes = {at::from_blob(text.data(), {std::ssize(text)}, at::kByte)};
    connection_->group->broadcast(bytes)->wait();
  });
  return text;
}

#else

struct Ranks::Connection {};
void Ranks::join() {
  throw Failure(ExitCode::unsupported,
                "--data-parallel must have a torch with Gloo and its headers (Debian: "
                "libgloo-dev)");
}
void Ranks::add_up(std::span<float> /*numbers*/, Memory /*memory*/) {}
std::string Ranks::broadcast(std::string text) { return text; }

#endif

Ranks::Ranks(RankEnvironment environment) : environment_(std::move(environment)) {}
Ranks::~Ranks() = default;
Ranks::Ranks(Ranks&& other) noexcept = default;

}  // namespace rotary::lab

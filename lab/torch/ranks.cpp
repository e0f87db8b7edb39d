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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/failure.hpp"

#if __has_include(<torch/csrc/distributed/c10d/TCPStore.hpp>)
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#define ROTARY_LAB_HAS_STORE 1
#endif
// Its header includes Gloo's own, which not every package of torch brings along.
#if defined(USE_C10D_GLOO) && __has_include(<gloo/algorithm.h>)
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
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

// Timeouts of a connection to the store. The queue is optional, so it gets less time than a group,
// which is not.
constexpr std::int64_t queue_timeout_s = 20;
constexpr std::int64_t group_timeout_s = 600;

#if !defined(ROTARY_LAB_HAS_STORE) || !defined(ROTARY_LAB_HAS_GLOO)
[[noreturn]] void fail_unsupported(std::string_view what, std::string_view needs) {
  throw Failure(ExitCode::unsupported,
                fmt::format("{} must have a torch with {}; this one has not", what, needs));
}
#endif

}  // namespace

#if defined(ROTARY_LAB_HAS_STORE)

namespace {

c10d::TCPStoreOptions store_options(std::uint16_t port, std::int64_t timeout_s) {
  c10d::TCPStoreOptions options;
  options.port = port;
  options.waitWorkers = false;
  options.timeout = std::chrono::seconds(timeout_s);
  return options;
}

}  // namespace

struct RankStore::Store {
  c10::intrusive_ptr<c10d::TCPStore> store;
};

RankStore::RankStore() {
  c10d::TCPStoreOptions options = store_options(0, queue_timeout_s);
  options.isServer = true;
  store_ = std::make_unique<Store>(
      Store{.store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options)});
}

std::uint16_t RankStore::port() const { return store_->store->getPort(); }

struct Ranks::Connection {
  c10::intrusive_ptr<c10d::Store> store;
#if defined(ROTARY_LAB_HAS_GLOO)
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group = {};
#endif
#if defined(ROTARY_LAB_HAS_NCCL)
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> gpus = {};
#endif
};

void Ranks::connect(std::int64_t timeout_s) {
  if (connection_) return;
  c10d::TCPStoreOptions options = store_options(environment_.port, timeout_s);
  options.isServer = environment_.hosts_store;
  auto store = c10::make_intrusive<c10d::TCPStore>(environment_.host, options);
  connection_ = std::make_unique<Connection>(Connection{
      .store = c10::make_intrusive<c10d::PrefixStore>(environment_.prefix, std::move(store))});
}

std::optional<std::int64_t> Ranks::next_number() {
  if (lost_) return std::nullopt;
  try {
    connect(queue_timeout_s);
    return connection_->store->add("next", 1) - 1;
  } catch (const std::exception&) {
    lost_ = true;
    return std::nullopt;
  }
}

#else

struct RankStore::Store {};
RankStore::RankStore() { fail_unsupported("--jobs", "c10d and its headers"); }
std::uint16_t RankStore::port() const { return 0; }

struct Ranks::Connection {};
void Ranks::connect(std::int64_t /*timeout_s*/) {}
std::optional<std::int64_t> Ranks::next_number() { return std::nullopt; }

#endif

RankStore::~RankStore() = default;
RankStore::RankStore(RankStore&& other) noexcept = default;

bool Ranks::reaches_gpu() noexcept {
#if defined(ROTARY_LAB_HAS_NCCL)
  return true;
#else
  return false;
#endif
}

Ranks::Ranks(RankEnvironment environment) : environment_(std::move(environment)) {}
Ranks::~Ranks() = default;
Ranks::Ranks(Ranks&& other) noexcept = default;

#if defined(ROTARY_LAB_HAS_STORE) && defined(ROTARY_LAB_HAS_GLOO)

namespace {

// A rank that validates lets the others wait; one that is lost is noticed at once.
constexpr std::chrono::hours collective_timeout(2);

// As torch's Python does; on one machine what the machine's name resolves to does not matter.
std::shared_ptr<gloo::transport::Device> make_device(const std::string& host) {
  using c10d::ProcessGroupGloo;
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME"))
    return ProcessGroupGloo::createDeviceForInterface(interface);
  if (host == "127.0.0.1" || host == "localhost")
    return ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  return ProcessGroupGloo::createDefaultDevice();
}

// Turns what Gloo and the store throw when a connection ends into a failure that says why.
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

}  // namespace

void Ranks::join() {
  or_fail(environment_, [&] {
    connect(group_timeout_s);
    if (connection_->group) return;
    const auto options = c10d::ProcessGroupGloo::Options::create(collective_timeout);
    options->devices.push_back(make_device(environment_.host));
    options->threads = 1;
    connection_->group = c10::make_intrusive<c10d::ProcessGroupGloo>(
        connection_->store, environment_.rank, environment_.size, options);
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

void Ranks::join() {
  fail_unsupported("--data-parallel", "Gloo and its headers (Debian: libgloo-dev)");
}
void Ranks::add_up(std::span<float> /*numbers*/, Memory /*memory*/) {}
std::string Ranks::broadcast(std::string text) { return text; }

#endif

}  // namespace rotary::lab

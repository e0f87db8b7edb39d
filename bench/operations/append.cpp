// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "bench/operations/operations.hpp"
#include "bench/operations/step.hpp"
#include "rotary/kv_cache.hpp"

namespace rotary::bench {
namespace {

// A cache whose second half is filled.
class Cache {
 public:
  explicit Cache(const Line& line)
      : tokens_(line.tokens), cache_(line.dtype, extents(line), line.operation->cache_layout) {
    cache_.fill(3);
  }

  [[nodiscard]] KvCache all() const { return {.k = cache_.view()}; }
  [[nodiscard]] Slots next_slots() const { return ConsecutiveSlots{.first = tokens_}; }
  [[nodiscard]] HeadsView second_half() const {
    HeadsView view = cache_.view();
    view.data = static_cast<std::byte*>(view.data) +
                tokens_ * view.strides.token * size_in_bytes(view.dtype);
    view.extents.tokens = tokens_;
    return view;
  }

 private:
  [[nodiscard]] static Extents extents(const Line& line) {
    const HeadShape& shape = line.operation->shape;
    return {.batch = 1,
            .tokens = 2 * line.tokens,
            .heads = shape.key_heads,
            .features = shape.head_dim};
  }

  std::int64_t tokens_;
  Tensor cache_;
};

// Keys, the cache that they are stored in, and a plain copy of them to the same slots as roofline.
class CacheJob : public StepJob {
 public:
  explicit CacheJob(StepRows rows)
      : StepJob(std::move(rows)), keys_(make_keys(setup().line)), cache_(setup().line) {
    own_roofline().add_copy(cache_.second_half(), keys_.view());
  }

  [[nodiscard]] Result<Verification> verify() override {
    const Sample before = take_sample(keys_.view());
    if (auto status = run(1); !status) return std::move(status).error();
    return rows().verify_first(before, cache_.second_half());
  }

 protected:
  [[nodiscard]] const Tensor& keys() const { return keys_; }
  [[nodiscard]] const Cache& cache() const { return cache_; }

 private:
  Tensor keys_;
  Cache cache_;
};

class Append : public CacheJob {
 public:
  using CacheJob::CacheJob;

  [[nodiscard]] Status run(std::int64_t calls) override {
    const KvCache into = cache().all();
    const KvHeads heads{.k = keys().view()};
    const Slots slots = cache().next_slots();
    const AppendOptions options{.rotations = &rows().rotations(), .executor = setup().executor};
    for (std::int64_t call = 0; call < calls; ++call) {
      auto status = append(into, heads, slots, options);
      if (!status) return status;
    }
    return {};
  }
};

// The work that append replaces: keys rotated in place, then stored.
class RotateThenCopy : public CacheJob {
 public:
  using CacheJob::CacheJob;

  [[nodiscard]] Status run(std::int64_t calls) override {
    const HeadsView keys = this->keys().view();
    for (std::int64_t call = 0; call < calls; ++call) {
      auto status = rotate(keys, keys, rows().rotations(), rows().options());
      if (!status) return status;
      roofline().run(1);
    }
    return {};
  }
};

}  // namespace

Result<std::unique_ptr<Job>> prepare_append(const Setup& setup) { return prepare<Append>(setup); }

Result<std::unique_ptr<Job>> prepare_rotate_then_copy(const Setup& setup) {
  return prepare<RotateThenCopy>(setup);
}

}  // namespace rotary::bench

// SPDX-License-Identifier: Apache-2.0
#include "bench/operations/operations.hpp"
#include "bench/operations/step.hpp"

namespace rotary::bench {
namespace {

class Rotate : public StepJob {
 public:
  explicit Rotate(StepRows rows)
      : StepJob(std::move(rows)), from_(make_query_key(setup().line)), to_(from_) {
    if (in_place()) {
      own_roofline().add_scale(to_.q.view(), setup().frequencies.window);
      own_roofline().add_scale(to_.k.view(), setup().frequencies.window);
      return;
    }
    to_ = {.q = from_.q.copy(), .k = from_.k.copy()};
    own_roofline().add_copy(to_.q.view(), from_.q.view());
    own_roofline().add_copy(to_.k.view(), from_.k.view());
  }

  [[nodiscard]] Result<Verification> verify() override {
    const Sample q = take_sample(from_.q.view());
    const Sample k = take_sample(from_.k.view());
    if (auto status = run(1); !status) return std::move(status).error();
    Verification result = rows().verify_first(q, to_.q.view());
    result.merge(rows().verify_first(k, to_.k.view()));
    return result;
  }

  [[nodiscard]] Status run(std::int64_t calls) override {
    const bool makes_rows = setup().line.operation->rows == RowsAre::made_in_call;
    const auto call_once = in_place() ? &Rotate::rotate_both : &Rotate::rotate_each;
    for (std::int64_t call = 0; call < calls; ++call) {
      if (makes_rows) {
        if (auto status = rows().make_next(); !status) return status;
      }
      if (auto status = (this->*call_once)(); !status) return status;
    }
    return {};
  }

 private:
  [[nodiscard]] bool in_place() const { return setup().line.operation->family == Family::in_place; }
  [[nodiscard]] Status rotate_both() {
    return rotate_qk(to_.q.view(), to_.k.view(), rows().rotations(), rows().options());
  }
  [[nodiscard]] Status rotate_each() {
    auto status = rotate(to_.q.view(), from_.q.view(), rows().rotations(), rows().options());
    if (!status) return status;
    return rotate(to_.k.view(), from_.k.view(), rows().rotations(), rows().options());
  }

  QueryKey from_;
  QueryKey to_;  // the same tensors in place
};

}  // namespace

Result<std::unique_ptr<Job>> prepare_rotate(const Setup& setup) { return prepare<Rotate>(setup); }

}  // namespace rotary::bench

// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "bench/operations/operations.hpp"
#include "bench/operations/step.hpp"

namespace rotary::bench {
namespace {

class OutOfPlace : public Job {
 public:
  explicit OutOfPlace(StepRows rows)
      : rows_(std::move(rows)),
        tensors_(make_query_key(rows_.setup().line)),
        rotated_{.q = tensors_.q.copy(), .k = tensors_.k.copy()},
        roofline_(rows_.setup().executor) {
    roofline_.add_copy(rotated_.q.view(), tensors_.q.view());
    roofline_.add_copy(rotated_.k.view(), tensors_.k.view());
  }

  [[nodiscard]] Result<Verification> verify() override {
    if (auto status = run(1); !status) return std::move(status).error();
    Verification result = rows_.verify_first(take_sample(tensors_.q.view()), rotated_.q.view());
    result.merge(rows_.verify_first(take_sample(tensors_.k.view()), rotated_.k.view()));
    return result;
  }

  [[nodiscard]] Status run(std::int64_t calls) override {
    const RotateOptions options = rows_.options();
    for (std::int64_t call = 0; call < calls; ++call) {
      if (auto status = rows_.make_next(); !status) return status;
      auto q = rotate(rotated_.q.view(), tensors_.q.view(), rows_.rotations(), options);
      if (!q) return q;
      auto k = rotate(rotated_.k.view(), tensors_.k.view(), rows_.rotations(), options);
      if (!k) return k;
    }
    return {};
  }

  [[nodiscard]] const Roofline& roofline() const override { return roofline_; }

 private:
  StepRows rows_;
  QueryKey tensors_;
  QueryKey rotated_;
  Roofline roofline_;
};

}  // namespace

Result<std::unique_ptr<Job>> prepare_out_of_place(const Setup& setup) {
  auto rows = StepRows::make(setup);
  if (!rows) return rows.error();
  return std::unique_ptr<Job>(std::make_unique<OutOfPlace>(*std::move(rows)));
}

}  // namespace rotary::bench

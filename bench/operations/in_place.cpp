// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "bench/operations/operations.hpp"
#include "bench/operations/step.hpp"

namespace rotary::bench {
namespace {

class InPlace : public Job {
 public:
  explicit InPlace(StepRows rows)
      : rows_(std::move(rows)),
        tensors_(make_query_key(rows_.setup().line)),
        roofline_(rows_.setup().executor) {
    roofline_.add_scale(tensors_.q.view(), rows_.setup().frequencies.window);
    roofline_.add_scale(tensors_.k.view(), rows_.setup().frequencies.window);
  }

  [[nodiscard]] Result<Verification> verify() override {
    const Sample q = take_sample(tensors_.q.view());
    const Sample k = take_sample(tensors_.k.view());
    if (auto status = run(1); !status) return std::move(status).error();
    Verification result = rows_.verify_first(q, tensors_.q.view());
    result.merge(rows_.verify_first(k, tensors_.k.view()));
    return result;
  }

  [[nodiscard]] Status run(std::int64_t calls) override {
    const HeadsView q = tensors_.q.view();
    const HeadsView k = tensors_.k.view();
    const RotateOptions options = rows_.options();
    const bool makes_rows = rows_.setup().line.operation->rows == RowsAre::made_in_call;
    for (std::int64_t call = 0; call < calls; ++call) {
      if (makes_rows) {
        if (auto status = rows_.make_next(); !status) return status;
      }
      if (auto status = rotate_qk(q, k, rows_.rotations(), options); !status) return status;
    }
    return {};
  }

  [[nodiscard]] const Roofline& roofline() const override { return roofline_; }

 private:
  StepRows rows_;
  QueryKey tensors_;
  Roofline roofline_;
};

}  // namespace

Result<std::unique_ptr<Job>> prepare_in_place(const Setup& setup) {
  auto rows = StepRows::make(setup);
  if (!rows) return rows.error();
  return std::unique_ptr<Job>(std::make_unique<InPlace>(*std::move(rows)));
}

}  // namespace rotary::bench

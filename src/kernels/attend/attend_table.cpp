// SPDX-License-Identifier: Apache-2.0
#include "kernels/target.hpp"
#if ROTARY_COMPILE_TARGET
// Include after target.hpp.
#include <hwy/highway.h>

#include "kernels/attend/accumulate-inl.hpp"
#include "kernels/attend/attend_finish-inl.hpp"
#include "kernels/attend/attend_kernels.hpp"
#include "kernels/attend/attend_pack-inl.hpp"
#include "kernels/attend/changes-inl.hpp"
#include "kernels/attend/distance_formulas-inl.hpp"
#include "kernels/attend/distances-inl.hpp"
#include "kernels/attend/straight_pieces-inl.hpp"
#include "kernels/attend/stream-inl.hpp"

namespace rotary::kernels {
namespace HWY_NAMESPACE {

template <class T>
constexpr StoredKernels stored_kernels{
    .pack_keys = pack_keys<T>, .pack_values = pack_values<T>, .stream = stream<T>};

template <class T>
constexpr AttendTypeKernels attend_type_kernels{.stored = stored_kernels<T>,
                                                .load_queries = load_queries<T>,
                                                .finish = finish<T>,
                                                .load_mask = load_mask<T>};

extern const AttendKernels attend_kernels;
const AttendKernels attend_kernels{.types = {.f32 = attend_type_kernels<float>,
                                             .bf16 = attend_type_kernels<BFloat16>,
                                             .f16 = attend_type_kernels<Float16>},
                                   .int8 = stored_kernels<std::int8_t>,
                                   .accumulate = accumulate,
                                   .bias = {.fill_pieces = fill_pieces,
                                            .fill_logarithms = fill_logarithms,
                                            .fill_powers = fill_powers},
                                   .find_weights = find_weights,
                                   .score_distances = score_distances,
                                   .add_place_values = add_place_values,
                                   .merge = merge};

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
#endif  // ROTARY_COMPILE_TARGET

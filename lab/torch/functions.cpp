// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/functions.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "lab/torch/composed.hpp"
#include "lab/torch/views.hpp"
#include "rotary/absolute.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/rotate.hpp"

namespace rotary::lab {
namespace {

using cli::ok_or_fail;
using cli::value_or_fail;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Passes a value that is not a tensor from forward to backward.
template <class T>
struct Carried : torch::CustomClassHolder {
  explicit Carried(T what) : value(std::move(what)) {}
  T value;
};

template <class T>
void carry(AutogradContext& context, T value) {
  context.saved_data["carried"] =
      c10::IValue::make_capsule(c10::make_intrusive<Carried<T>>(std::move(value)));
}

template <class T>
const T& carried(AutogradContext& context) {
  const auto holder = context.saved_data["carried"].toCapsule();
  return static_cast<const Carried<T>&>(*holder).value;
}

at::Tensor to_tensor(const std::vector<double>& numbers, const at::Tensor& like) {
  return torch::tensor(numbers, at::kDouble).to(like.scalar_type()).view(like.sizes());
}

std::vector<double> to_numbers(const at::Tensor& tensor) {
  const auto flat = tensor.detach().to(at::kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

using SharedRotations = std::shared_ptr<const Rotations>;

struct RotateHeads : Function<RotateHeads> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& heads,
                            const SharedRotations& rotations) {
    carry(*context, rotations);
    const auto sizes = heads.sizes();
    const auto turned = at::empty({sizes[0], sizes[2], sizes[1], sizes[3]}, heads.options());
    ok_or_fail(rotate(heads_view(turned.transpose(1, 2)), heads_view(heads), *rotations));
    return turned;
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const auto d_turned = upstream[0].transpose(1, 2);
    const auto d_heads = at::empty(d_turned.sizes(), d_turned.options());
    ok_or_fail(rotate(heads_view(d_heads), heads_view(d_turned),
                      *carried<SharedRotations>(*context), {.direction = Direction::transpose}));
    return {d_heads, at::Tensor()};
  }
};

struct BiasScores : Function<BiasScores> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& numbers,
                            const BiasCall& call) {
    carry(*context, call);
    context->save_for_backward({numbers});
    const std::vector<double> values = to_numbers(numbers);
    const RelativeBias bias = make_bias(call.encoding, call.model, values);
    const auto scores = at::empty({call.model.heads, call.tokens, call.tokens},
                                  numbers.options().dtype(call.dtype));
    ok_or_fail(fill_bias(scores_view(scores.unsqueeze(0)), bias, BiasRange{}));
    return scores;
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const auto numbers = context->get_saved_variables()[0];
    const auto& call = carried<BiasCall>(*context);
    const std::vector<double> values = to_numbers(numbers);
    const RelativeBias bias = make_bias(call.encoding, call.model, values);
    std::vector<double> gradients(values.size(), 0.0);
    ok_or_fail(
        add_bias_gradient(gradients, bias, scores_view(upstream[0].unsqueeze(0)), BiasRange{}));
    return {to_tensor(gradients, numbers), at::Tensor()};
  }
};

at::Tensor shaw_table_gradient(const at::Tensor& scores, const at::Tensor& vectors,
                               const at::Tensor& table, const ShawWindow& window) {
  std::vector<double> gradient(static_cast<std::size_t>(table.numel()), 0.0);
  ok_or_fail(add_shaw_gradient({.table = gradient, .window = window}, scores_view(scores),
                               heads_view(vectors.transpose(1, 2)), BiasRange{}));
  return to_tensor(gradient, table);
}

// shaw_scores_of and shaw_values_of are each other's adjoint.
at::Tensor shaw_scores_of(at::Tensor scores, const at::Tensor& q, const at::Tensor& table,
                          const ShawWindow& window) {
  ok_or_fail(add_shaw_scores(scores_view(scores), heads_view(q.transpose(1, 2)),
                             {.window = window, .table = table_view(table)}, BiasRange{}));
  return scores;
}
at::Tensor shaw_values_of(at::Tensor out, const at::Tensor& weights, const at::Tensor& table,
                          const ShawWindow& window) {
  ok_or_fail(add_shaw_values(heads_view(out.transpose(1, 2)), scores_view(weights),
                             {.window = window, .table = table_view(table)}, BiasRange{}));
  return out;
}

struct ShawScores : Function<ShawScores> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& scores, const at::Tensor& q,
                            const at::Tensor& table, const ShawWindow& window) {
    carry(*context, window);
    context->save_for_backward({q, table});
    return shaw_scores_of(scores.clone(), q, table, window);
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const auto saved = context->get_saved_variables();
    const auto& window = carried<ShawWindow>(*context);
    return {upstream[0], shaw_values_of(at::zeros_like(saved[0]), upstream[0], saved[1], window),
            shaw_table_gradient(upstream[0], saved[0], saved[1], window), at::Tensor()};
  }
};

struct ShawValues : Function<ShawValues> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& out,
                            const at::Tensor& weights, const at::Tensor& table,
                            const ShawWindow& window) {
    carry(*context, window);
    context->save_for_backward({weights, table});
    return shaw_values_of(out.clone(), weights, table, window);
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const auto saved = context->get_saved_variables();
    const auto& window = carried<ShawWindow>(*context);
    return {upstream[0], shaw_scores_of(at::zeros_like(saved[0]), upstream[0], saved[1], window),
            shaw_table_gradient(saved[0], upstream[0], saved[1], window), at::Tensor()};
  }
};

TableRows first_rows(std::int64_t tokens) {
  return {.indices = ConsecutivePositions{.first = 0, .tokens = tokens}};
}

struct AddLearnedRows : Function<AddLearnedRows> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& table) {
    context->save_for_backward({table});
    const auto sum = at::empty(x.sizes(), x.options());
    ok_or_fail(add_learned(tokens_view(sum), tokens_view(x),
                           {.table = table_view(table), .rows = first_rows(x.size(1))}));
    return sum;
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const auto table = context->get_saved_variables()[0];
    const auto d_table = at::zeros_like(table);
    ok_or_fail(add_table_gradient(table_view(d_table), first_rows(upstream[0].size(1)),
                                  tokens_view(upstream[0])));
    return {upstream[0], d_table};
  }
};

}  // namespace

std::shared_ptr<const Rotations> rotations_of(const RotarySpec& spec, std::int64_t tokens,
                                              at::ScalarType dtype, Role role) {
  const Frequencies frequencies = value_or_fail(make_frequencies(spec, tokens));
  const RotationsOptions options{.rows = dtype == at::kDouble ? RowDType::f64 : RowDType::f32,
                                 .role = spec.xpos ? std::optional(role) : std::nullopt};
  return std::make_shared<const Rotations>(
      value_or_fail(make_rotations(frequencies, ConsecutivePositions{.tokens = tokens}, options)));
}

at::Tensor rotate_heads(const at::Tensor& heads, const SharedRotations& rotations) {
  if (!heads.is_cpu()) return composed::rotate_heads(heads, *rotations);
  return RotateHeads::apply(heads, rotations);
}

at::Tensor bias_scores(const at::Tensor& numbers, const BiasCall& call) {
  // The core library makes the bias on the CPU.
  return BiasScores::apply(numbers.to(at::kCPU), call).to(device());
}

at::Tensor add_shaw_scores(const at::Tensor& scores, const at::Tensor& q, const at::Tensor& table,
                           const ShawWindow& window) {
  if (!scores.is_cpu()) return composed::add_shaw_scores(scores, q, table, window);
  return ShawScores::apply(scores, q, table, window);
}

at::Tensor add_shaw_values(const at::Tensor& out, const at::Tensor& weights,
                           const at::Tensor& table, const ShawWindow& window) {
  if (!out.is_cpu()) return composed::add_shaw_values(out, weights, table, window);
  return ShawValues::apply(out, weights, table, window);
}

at::Tensor add_learned_rows(const at::Tensor& x, const at::Tensor& table) {
  if (!x.is_cpu()) return composed::add_learned_rows(x, table);
  return AddLearnedRows::apply(x, table);
}

at::Tensor sinusoidal_rows(double base, std::int64_t tokens, std::int64_t features,
                           at::ScalarType dtype) {
  SinusoidalSpec spec = transformer_sinusoidal(features);
  spec.base = base;
  const Sinusoidal sinusoidal = value_or_fail(make_sinusoidal(spec));
  const auto rows = at::empty({tokens, features}, at::TensorOptions().dtype(dtype));
  ok_or_fail(fill_sinusoidal(tokens_view(rows.unsqueeze(0)), sinusoidal,
                             ConsecutivePositions{.tokens = tokens}));
  return rows.to(device());
}

}  // namespace rotary::lab

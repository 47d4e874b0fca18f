// SPDX-License-Identifier: Apache-2.0
// The operations that equations are made of. Operands and attributes, by name:
//
//   add, subtract, multiply, divide, power, maximum, minimum, less_than, less_or_equal, greater_than,
//   greater_or_equal, equal_to, not_equal_to   (a, b): tensors and numbers that go together by NumPy's rule. A number
//                                      beside a tensor counts as fp32. Two numbers: in double; two integers: exactly,
//                                      an overflow is an error (divide, power: in double). Comparisons give 1 or 0
//   where                              (condition, a, b): likewise; a where the condition is not 0
//   negate, absolute, sqrt, rsqrt, sin, cos, exp, log, floor, round, relu, gelu, silu, tanh, sigmoid
//                                      (x): a tensor or a number
//   sum, mean, max, min, argmax        (x); dimension: integer, the last if missing; keep: 1 keeps it with an extent
//                                      of 1, otherwise it goes; of [n] comes [1]. argmax: indices in fp32
//   cumulative_sum                     (x); dimension: integer
//   softmax, log_softmax               (x): along the last dimension
//   layer_norm, rms_norm               (x); epsilon: real. Along the last dimension
//
//   matmul                             (a [..., m, k], b [..., k, n]) -> [..., m, n]; leading dimensions go together
//   linear, linear_transposed          (weight [out, in], x [..., in]) -> [..., out]; transposed: x [..., out]
//
//   embedding                          (table [vocabulary, width], ids [n]) -> [n, width]
//   gather                             (x, ids); dimension: integer -> x.shape[:d] + ids.shape + x.shape[d + 1:]
//   scatter, scatter_add               (x, ids, updates of gather's shape); dimension: integer -> x with them in the
//                                      elements' places, the last of equal ids, or added
//
//   permute                            (x); order: integers, each dimension once
//   slice                              (x); starts, stops, steps: integers per dimension, 0 <= start <= stop <= extent,
//                                      step >= 1
//   pad                                (x); before, after: integers per dimension; value: real
//   broadcast_to                       (x); shape: integers
//   concat                             (part, ...); dimension: integer. Of texts: dimension 0
//   split                              (whole) -> parts; dimension: integer; sizes: integers
//   reshape                            (x); shape: integers
//   less                               (a, b): numbers or tensors of one element -> boolean
//   equal                              (a, b): any two values of one kind, by bits or characters -> boolean
//   and, or, not                       booleans
//   select                             (condition: boolean, a, b of one type)
//   format                             (value, ...) -> text; pattern: text, each {} in it takes the next value, {{
//                                      and }} are braces
//   format_edits                       (text, ...) -> text; as format, but empty where all of them are: how it moves
//   match                              (text, wanted: text) -> boolean; how: text, equal, contains, starts or ends
//   word_index                         (text) -> integer; words: texts, one of which it is
//   pack                               (value, ...) -> record; names: texts, a field for each
//   field                              (record) -> value; name: text
//   list                               (value, ...) -> list
//   length                             (list) -> integer
//   item                               (list, index, like) -> a value of the type of `like`, a literal
//   join                               (list) -> text; between: text
//   to_tensor                          (list) -> tensor; shape: integers
//   host_call                          (parameters, operand, ...) -> one value; the first operand is always the
//                                      hyperfunction's parameters, a tensor or a text; for one without, a literal
//                                      tensor [0]. Equation::host runs. A model_call or schema_call is one, too
//                                      (models.hpp)
//   call                               (operand, ...) -> the body's outputs; operands go to the body's inputs in order
//   to_number                          (x): a tensor of one element, an integer or a number -> number; as: text,
//                                      "written": .1 of .1F; "fp32": an error where fp32 does not hold an integer
//   to_integer                         (x): a whole number -> integer
//
// Higher-order ones; bodies have no parameters of their own, what they read goes in as operands:
//
//   switch                             (key, operand, ...) -> the outputs of the body that the key picks; each body
//                                      takes the operands, and all give the same types. The key: a boolean (body 1
//                                      where true), a whole number, or a tensor of one element
//   while_loop                         (carry, ..., constant, ...) -> carries; bodies: condition (-> boolean) and step
//                                      (-> carries), both of (carries, constants); carries, limit: integers
//   scan                               (carry, ..., sequence [length, ...], ..., constant, ...) -> carries, then
//                                      results stacked to [length, ...]; body (carries, elements, constants) ->
//                                      carries, results; an element of [length] is [1]; carries, sequences, length:
//                                      integers; reverse: 0 or 1
//   while_loop_pullback                what pullback makes of a while_loop: (carries, constants, cotangents of carries)
//   parallel, weighted                 as call: sub-equations that may overlap; with the product of the factors last
//   stop_gradient                      (x) -> x, which does not move
//   checkpoint                         (x) -> x, by name: key, collection: texts. Never dropped
//   depends                            (value, ...) -> value, after the others are there
//   factor                             (weight): a number or tensor, finite and not negative -> weight. Never dropped
//
// Integers are not negative. Tensor operations give the bits of their kernels (the twins in reference/).
#pragma once

#include <span>
#include <vector>

#include "yolk/internal/hyper/graph.hpp"
#include "yolk/result.hpp"
#include "yolk/tensor.hpp"

namespace yolk::hyper {

/// One equation on the host: operands checked, evaluated, host functions called once with their exceptions caught (no
/// time-out, no retry). Errors name the operation and the hyperfunction.
[[nodiscard]] Result<std::vector<Value>> evaluate_equation(const Equation& equation, std::span<const Value> operands);

/// Attributes that an operation needs. Errors: it is missing or of another type.
[[nodiscard]] Result<std::int64_t> integer_attribute(const Equation& equation, std::string_view name);
[[nodiscard]] Result<std::vector<std::int64_t>> integers_attribute(const Equation& equation, std::string_view name);
[[nodiscard]] Result<double> real_attribute(const Equation& equation, std::string_view name);
[[nodiscard]] Result<std::vector<std::string>> texts_attribute(const Equation& equation, std::string_view name);
[[nodiscard]] Result<std::string> text_attribute(const Equation& equation, std::string_view name);

/// A host function's result for these arguments, its exceptions caught. Errors name the function.
[[nodiscard]] Result<Value> run_caught(const HostFunction& function, const HostCall& call);

}  // namespace yolk::hyper

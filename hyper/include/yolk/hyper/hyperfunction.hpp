// SPDX-License-Identifier: Apache-2.0
// Functions with tunable parameters, that a system is composed of.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/hyper/host_function.hpp"
#include "yolk/hyper/parameters.hpp"
#include "yolk/hyper/traced_operations.hpp"

namespace yolk::hyper {

/// A matrix, perturbed at low rank; formed only where an equation takes the whole of it.
struct MatrixWeight {
    std::uint32_t out = 0;
    std::uint32_t in = 0;
    std::uint32_t noise_rank = 0;  ///< of its perturbations, 1 ... 32; 0: that of the run (OptimizeOptions::evolution)
    Tensor values{};               ///< [out, in]; empty: initial_weights at registration
    [[nodiscard]] static Result<MatrixWeight> from_tensor(Tensor values, std::uint32_t noise_rank = 0);
};
using LoraWeight = MatrixWeight;  ///< hyperfunc's word

/// A bias, a norm's scale: perturbed in full.
struct VectorWeight {
    std::uint32_t size = 0;
    Tensor values{};  ///< [size]; empty: zeros
};

/// Sampling parameters of a language model.
struct LmParam {
    double temperature = 0.7;          ///< 0 ... 2
    double top_p = 1.0;                ///< 0 ... 1
    double presence_penalty = 0.0;     ///< -2 ... 2
    double frequency_penalty = 0.0;    ///< -2 ... 2
    double max_tokens_fraction = .25;  ///< 0 ... 1; max_tokens() makes tokens of it
    [[nodiscard]] std::int64_t max_tokens(std::int64_t limit = 4096) const noexcept;  ///< at least 1
};
/// LmParam with top-k and whole tokens in place of the fraction.
struct LmTokenParam {
    double temperature = 0.7;
    double top_p = 1.0;
    double presence_penalty = 0.0;
    double frequency_penalty = 0.0;
    std::int64_t top_k = 40;         ///< 1 ... 1,000, log
    std::int64_t max_tokens = 1024;  ///< 1 ... 32,768, log
};
struct NoParameters {};

/// A prompt. A body over traced values gets it as text, a host body as this struct.
struct TextParameter {
    std::string text{};
    std::uint64_t most_bytes = 16384;  ///< of any text that is put in its place, in UTF-8
};

/// How a struct becomes numbers or a record, and back: give it `static FieldsOf<T> fields()`, or a function
/// `FieldsOf<T> fields_of(const T*)` beside it. See field_of() and docs/hyper.md.
template <class T>
struct FieldOf {
    Field field{};
    std::function<double(const T&)> get{};                  ///< empty where the member is no number: not of parameters
    std::function<void(T&, double)> set{};                  ///< likewise
    std::function<Value(const T&)> read{};                  ///< as a field of a record
    std::function<Result<void>(T&, const Value&)> write{};  ///< errors: another kind

    FieldOf between(double lower, double upper) && {
        field.lower = lower;
        field.upper = upper;
        return std::move(*this);
    }
    FieldOf log() && {
        field.scale = FieldScale::Log;
        return std::move(*this);
    }
};
template <class T>
using FieldsOf = std::vector<FieldOf<T>>;
/// A real (floating point), an integer, a boolean by the member's type; the default is the member's in a fresh T. Of
/// parameters, reals and integers need between(). Structs that host functions take and return may also have members of
/// std::string, Tensor, Value, and structs that are described like this themselves.
template <class T, class M>
[[nodiscard]] FieldOf<T> field_of(std::string name, M T::*member);
/// One of several texts; the member is an integer, the index.
template <class T, class M>
[[nodiscard]] FieldOf<T> choice_of(std::string name, M T::*member, std::vector<std::string> choices);
/// A described struct as a record, and back. Errors name the field that is missing or of another kind; fields that T
/// does not have are passed over.
template <class T>
[[nodiscard]] Value to_value(const T& object);
template <class T>
[[nodiscard]] Result<T> from_value(const Value& value);
[[nodiscard]] FieldsOf<LmParam> fields_of(const LmParam*);
[[nodiscard]] FieldsOf<LmTokenParam> fields_of(const LmTokenParam*);

struct HyperfunctionOptions {
    bool optimize = false;  ///< whether its numbers are searched; of a text: whether prompt searches may change it
    HostOptions host{};     ///< of a host function
    /// What a dry run takes for a host function's result, which it does not call; without it a number 0, an empty text,
    /// a tensor [1]. Needed where what follows wants another shape.
    std::optional<Value> stand_in{};
};

/// Over traced values: becomes equations, can run on the device.
using TensorBody = std::function<Traced(const Traced& parameters, std::span<const Traced> operands)>;

/// A hyperfunction without the type of its parameters. Immutable; copies share it; threads may share it.
class AnyHyperfunction {
   public:
    struct Parts {
        ParameterSpec spec;     ///< its name is the hyperfunction's
        Tensor values{};        ///< first values; rank-1 and empty for weights: initial_weights
        std::string text{};     ///< the first one, of a text
        std::size_t arity = 1;  ///< operands
        TensorBody tensor{};    ///< one of the two
        HostFunctionPtr host{};
        Value stand_in{};  ///< of the result's kind: what a call comes back with after an error
        Line made_at{};    ///< where hyperfunction() was called: tells functions of one name apart
    };
    explicit AnyHyperfunction(Parts parts);
    [[nodiscard]] const std::string& name() const noexcept { return parts_->spec.name; }
    [[nodiscard]] const Parts& parts() const noexcept { return *parts_; }
    [[nodiscard]] const std::shared_ptr<const Parts>& shared_parts() const noexcept { return parts_; }

    /// Within a system's function: an equation (host) or the body's equations (tensor). Registers itself on its first
    /// call. Errors stick in the tracer: outside any trace, another number of operands.
    [[nodiscard]] Traced operator()(std::span<const Traced> operands, Line line = Line::current()) const;
    [[nodiscard]] Traced operator()(Line line = Line::current()) const { return (*this)({}, line); }
    template <class... Operands>
    requires(std::is_convertible_v<const Operands&, Traced>&&...) [[nodiscard]] Traced operator()(
        const Located& first, const Operands&... operands) const {
        const std::vector<Traced> all{first.value(), Traced(operands)...};
        return (*this)(std::span<const Traced>(all), first.line());
    }
    /// Alone, with explicit natural values or a text, in the caller's thread, without a system.
    [[nodiscard]] Result<Value> call_with(const Value& parameters, std::span<const Value> operands) const;

   private:
    std::shared_ptr<const Parts> parts_;
};

/// With the type of its parameters; made by hyperfunction().
template <class P>
class Hyperfunction : public AnyHyperfunction {
   public:
    using Parameters = P;
    using AnyHyperfunction::AnyHyperfunction;
    /// `hidden.call(*MatrixWeight::from_tensor(w), {x})`.
    [[nodiscard]] Result<Value> call(const P& parameters, std::span<const Value> operands) const;
    [[nodiscard]] Result<Value> call(const P& parameters, std::initializer_list<Value> operands) const;
    /// Natural values, or a text, to P: what System::parameters gives back.
    [[nodiscard]] Result<P> from_values(const Value& values) const;
};

/// The body decides where it runs. `(const Traced& weight, const Traced&...) -> Traced`: a tensor function, that can
/// run on the device (`weight` is a text where P is TextParameter). `(const P&, plain...) -> plain`, plain being
/// double, int, bool, std::string, Tensor, Value or a described struct (a record in the graph), and the result perhaps
/// a Result of one: a host function. A last argument std::stop_token sees time-outs. NoParameters leave out the first
/// argument.
template <class P, class Body>
[[nodiscard]] Hyperfunction<P> hyperfunction(std::string name, P initial, Body body, HyperfunctionOptions options = {},
                                             Line line = Line::current());

}  // namespace yolk::hyper

#include "yolk/hyper/hyperfunction_inline.hpp"

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

#include "yolk/internal/hyper/host_function.hpp"
#include "yolk/internal/hyper/parameters.hpp"
#include "yolk/internal/hyper/plain_values.hpp"
#include "yolk/internal/hyper/traced_operations.hpp"
#include "yolk/result.hpp"

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
/// double, int, bool, std::string, Tensor, Value, a std::vector of those (a list), a std::map<std::string, ...> of them
/// or a described struct (records in the graph), and the result perhaps a Result of one: a host function. A last
/// argument std::stop_token sees time-outs. NoParameters leave out the first argument.
template <class P, class Body>
[[nodiscard]] Hyperfunction<P> hyperfunction(std::string name, P initial, Body body, HyperfunctionOptions options = {},
                                             Line line = Line::current());

}  // namespace yolk::hyper

#include "yolk/internal/hyper/hyperfunction_inline.hpp"

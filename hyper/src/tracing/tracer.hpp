// SPDX-License-Identifier: Apache-2.0
// Records what a function does with traced values, and evaluates each equation as it is recorded; host calls may be
// left under way, and what reads their results waits for them (tracer_late.cpp).
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heard_calls.hpp"
#include "yolk/internal/hyper/graph.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"
#include "yolk/internal/hyper/line.hpp"
#include "yolk/internal/hyper/population.hpp"
#include "yolk/internal/hyper/traced_operations.hpp"

namespace yolk::hyper {

class PendingCalls;  // hyper/src/host/pending_calls.hpp

/// One run of one function. One thread at a time. Operations find it through their operands, and through current()
/// where all of those are literals.
class Tracer : public std::enable_shared_from_this<Tracer> {
   public:
    /// A hyperfunction's parameters; registers it where it is not yet. Errors: a name that is another's.
    using Registrar = std::function<Result<Value>(const AnyHyperfunction&)>;
    /// Calls a host function where that is not done right here (time-outs, retries); may be empty.
    using HostRunner = std::function<Result<Value>(const HostFunctionPtr&, const HostCall&)>;

    /// With `calls`, host functions outside of bodies run there, and the function goes on meanwhile.
    [[nodiscard]] static std::shared_ptr<Tracer> create(std::string name, Registrar registrar, HostRunner runner = {},
                                                        std::shared_ptr<PendingCalls> calls = {});
    /// A tracer of a body (a loop's step, a branch), within `parent`'s run where there is one. It computes nothing:
    /// values have their types and say nothing else, so reading them, or steering by them, is an error. Values of the
    /// runs around it can be used: they become further inputs.
    [[nodiscard]] static std::shared_ptr<Tracer> create_body(std::string name, std::shared_ptr<Tracer> parent,
                                                             Registrar registrar = {});
    /// The tracer of the run that this thread is in; null outside.
    [[nodiscard]] static std::shared_ptr<Tracer> current();
    /// A tracer that holds nothing but an error: what operations outside any trace come back with.
    [[nodiscard]] static std::shared_ptr<Tracer> failed(Error error);

    /// current() while it lives.
    class Scope {
       public:
        explicit Scope(std::shared_ptr<Tracer> tracer);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

       private:
        std::shared_ptr<Tracer> outer_;
    };

    [[nodiscard]] Traced input(const std::string& name, Value value);
    /// The variable of a hyperfunction's parameters, made at its first call in this trace.
    [[nodiscard]] Traced parameters(const AnyHyperfunction& function);
    [[nodiscard]] Traced parameters(const std::string& group, const Value& value);
    /// A call of a hyperfunction: its body's equations, or one host_call.
    [[nodiscard]] Traced call(const AnyHyperfunction& function, const Traced& parameters,
                              std::span<const Traced> operands, Line line = {});
    /// Records and evaluates. After an error, `stand_in` so many times.
    [[nodiscard]] std::vector<Traced> record(Equation equation, std::span<const Traced> operands,
                                             std::size_t result_count, const Value& stand_in);

    /// What the field of a record is that this run has packed; nothing of other records.
    [[nodiscard]] std::optional<Traced> unpacked(const Traced& record, const std::string& name);

    /// How many runs this one is inside of, bodies in bodies.
    [[nodiscard]] std::size_t nesting() const noexcept;

    /// Whether it computes nothing (create_body).
    [[nodiscard]] bool is_body() const noexcept { return body_; }

    void stick(Error error);  ///< the first one stays
    [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }
    [[nodiscard]] std::optional<Error> take_error() {
        return std::exchange(error_, std::nullopt);
    }  ///< none sticks now
    /// Reading past the tracer: recorded, warned about where it depends on a parameter.
    void note_read(const Traced& value, std::string_view how, Line line);
    /// Whether a value depends on a parameter.
    [[nodiscard]] bool from_parameter(const Traced& value) const;
    [[nodiscard]] std::span<const std::string> warnings() const noexcept { return warnings_; }
    /// A truth value is about to steer: refused where it depends on a parameter. What comes back then, and after any
    /// error, is false and true by turns, so that loops on either end.
    [[nodiscard]] bool steer(bool truth, bool from_parameter, Line line);

    /// A body's graph, and the values of runs around it that its last inputs stand for.
    struct TracedBody {
        Graph graph{};
        std::vector<Traced> captured{};
    };
    [[nodiscard]] Result<TracedBody> finish_body(std::span<const Traced> outputs);
    /// Which call of a hyperfunction this is.
    [[nodiscard]] std::uint32_t next_call(const std::string& hyperfunction);

    /// One call that used a text.
    struct Call {
        std::string name;                                     ///< of the hyperfunction, or of the model's call
        std::vector<std::pair<std::string, Value>> operands;  ///< named after what they are; no two alike
        std::optional<Value> result;                          ///< nothing where it failed
    };
    struct UsedText {
        std::string group;
        std::vector<Call> calls;
    };
    /// Keeps the calls from here on.
    void keep_calls() noexcept { keeps_calls_ = true; }
    /// After finish(), whatever came of it: texts among the parameters that a call used, or that the output is made of.
    /// Of the calls those whose operands were there, in the program's order.
    [[nodiscard]] std::vector<UsedText> take_used_texts() { return std::exchange(used_texts_, {}); }

    /// The trace with `output`. Errors: what stuck; an output of another trace.
    [[nodiscard]] Result<TracedExample> finish(const Traced& output);
    /// So far the equations are the same for other inputs of these types (population::is_refreshable).
    [[nodiscard]] bool is_plain() const;

    // Of Traced, whose friend this is.
    [[nodiscard]] static const std::shared_ptr<Tracer>& tracer_of(const Traced& value) { return value.tracer_; }
    [[nodiscard]] static const Value& value_of(const Traced& value) { return value.value(); }
    /// The value, or what stands for it until it is there.
    [[nodiscard]] static const Value& known_value_of(const Traced& value) { return value.value_; }
    /// Whether its value is still to come: asking for it, or its type, waits.
    [[nodiscard]] static bool is_under_way(const Traced& value) { return value.late_; }
    /// Waits for a value. After an error it is the stand-in, and the error sticks.
    [[nodiscard]] Value settled(VariableId id, const Value& stand_in);
    [[nodiscard]] static bool same_variable(const Traced& a, const Traced& b) {
        return a.tracer_ == b.tracer_ && a.variable_ == b.variable_;
    }

   private:
    [[nodiscard]] Traced variable(Value value, std::string name, bool from_parameter);
    /// Errors: a value of another trace.
    [[nodiscard]] Result<Atom> atom_of(const Traced& value);
    [[nodiscard]] bool is_around(const Tracer* other) const;
    /// What a body's equation stands in with: values of the types of its results.
    [[nodiscard]] Result<std::vector<Value>> stand_ins(const Equation& equation, std::span<const Value> operands,
                                                       const Value& stand_in) const;
    [[nodiscard]] Result<std::vector<Value>> evaluate(const Equation& equation, std::span<const Value> operands);
    [[nodiscard]] bool is_late(VariableId variable) const;
    [[nodiscard]] bool comes_late(const Equation& equation) const;
    [[nodiscard]] std::vector<Traced> record_late(Equation equation, std::size_t result_count, bool from_parameter,
                                                  const Value& stand_in);
    void begin_late(std::size_t index);
    void begin_bodies(std::size_t index, std::vector<Value> operands);
    void arrive(std::size_t index, std::vector<Value> results);
    void fail_late(std::size_t index, Error error);
    void run_ready();
    void advance(bool wait);
    void settle_all();
    [[nodiscard]] Value value_at(const Atom& atom) const;
    [[nodiscard]] std::string place() const;  ///< " in hyperfunction 'f'"
    [[nodiscard]] std::vector<Atom> plain_atoms(std::span<const Traced> values) const;
    void keep_inside(std::size_t index, std::vector<HeardCalls::Call> calls);
    [[nodiscard]] Result<std::vector<Value>> evaluate_heard(std::size_t index, const Equation& equation,
                                                            std::span<const Value> operands);
    /// A call whose values may come late: of a hyperfunction, or of a host function or a model.
    struct KeptCall {
        std::string hyperfunction;     ///< that is called; of a model's call, whose body makes it
        HostFunctionPtr host;          ///< null: the hyperfunction's body is traced
        std::vector<Atom> operands{};  ///< of a host function the parameters first
        std::optional<Atom> result{};
        std::size_t position = 0;  ///< equations that were there before it
    };
    /// Where it is kept; its result comes afterwards.
    std::optional<std::size_t> keep(const Equation& equation);
    /// The calls that were kept, by text, with their values.
    void settle_calls(const Traced& output);
    [[nodiscard]] UsedText calls_of(const GraphParameter& text, const Atom& output) const;
    [[nodiscard]] Call settled_call(const KeptCall& kept) const;
    [[nodiscard]] std::string name_of(const Atom& operand, std::size_t index) const;
    [[nodiscard]] bool is_missing(const Atom& atom) const;

    TracedExample trace_;
    std::vector<bool> from_parameter_;  ///< by variable
    std::map<std::string, VariableId> groups_;
    std::map<std::string, std::uint32_t> calls_;  ///< by hyperfunction, so far
    bool keeps_calls_ = false;
    std::vector<KeptCall> kept_calls_{};
    std::multimap<std::size_t, HeardCalls::Call> calls_in_bodies_{};  ///< by equation
    std::optional<Equation> failed_equation_{};                       ///< which the graph does not have
    std::vector<UsedText> used_texts_{};
    Registrar registrar_;
    HostRunner runner_;
    std::string hyperfunction_;  ///< whose body is running
    std::uint32_t call_ = 0;
    std::uint64_t refused_ = 0;
    bool steered_ = false;
    bool over_ = false;
    bool body_ = false;  ///< of a body: values are stand-ins
    std::shared_ptr<Tracer> parent_{};
    std::vector<Traced> captured_{};
    std::map<std::pair<const Tracer*, std::uint32_t>, VariableId> captures_{};  ///< by their variables outside
    std::vector<std::string> warnings_;
    std::optional<Error> error_;

    std::shared_ptr<PendingCalls> calls_under_way_{};
    std::size_t calls_out_ = 0;                                         ///< of this trace
    std::map<std::size_t, std::size_t> late_equations_{};               ///< operands that are missing, by equation
    std::set<std::size_t> late_ready_{};                                ///< equations without missing ones
    std::map<std::uint32_t, std::size_t> late_variables_{};             ///< equations that make them
    std::map<std::uint32_t, std::vector<std::size_t>> late_readers_{};  ///< equations, by variable
    std::map<std::uint32_t, Value> late_values_{};  ///< that have come: Traced values look them up, in the end as well
    std::size_t late_failure_ = std::numeric_limits<std::size_t>::max();  ///< the first equation that failed
    std::optional<Error> late_error_{};
};

/// Records one equation of the operation `name` where an operand is traced, otherwise computes it at once. Errors stick
/// in the operands' tracer, or the current one. `line`: of the user's program, where it is known.
[[nodiscard]] std::vector<Traced> apply(std::string_view name, std::span<const Traced> operands, Attributes attributes,
                                        std::size_t result_count, Line line = {});
[[nodiscard]] Traced apply(std::string_view name, std::initializer_list<Traced> operands, Attributes attributes = {},
                           Line line = {});

/// What operations come back with after this error, which sticks where theirs do.
[[nodiscard]] std::vector<Traced> refuse(Error error, std::span<const Traced> operands, std::size_t result_count = 1);

/// Of the tags (Tag) that are in force in this thread, outermost first.
[[nodiscard]] std::span<const std::string> current_tags();

/// The tracer of the first traced operand, or the current one, or null.
[[nodiscard]] std::shared_ptr<Tracer> tracer_for(std::span<const Traced> operands);

}  // namespace yolk::hyper

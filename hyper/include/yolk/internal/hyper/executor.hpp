// SPDX-License-Identifier: Apache-2.0
// Running one graph: in order, overlapped, or step by step; and the pool that host functions run on.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/internal/hyper/graph.hpp"
#include "yolk/result.hpp"

namespace yolk::hyper {

/// What the calls of one host function came to.
struct HostStatistics {
    std::string function;
    std::uint64_t calls = 0;  ///< finished ones, whatever came of them; retries count
    std::uint64_t errors = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t retries = 0;
    double seconds = 0.0;                             ///< of all calls together
    double p50_ms = 0.0, p95_ms = 0.0, p99_ms = 0.0;  ///< latency of one call
};
[[nodiscard]] Json to_json(const HostStatistics& statistics);

/// One call of a host function. What it points to must live until run_all returns; what an abandoned call may still
/// read is copied.
struct HostTask {
    HostFunctionPtr function{};
    std::span<const float> parameters{};
    std::vector<Value> operands{};
    std::string label{};                ///< for errors: "example 3, candidate 17"
    std::string_view text{};            ///< of the group, where that is a text
    std::span<const double> numbers{};  ///< HostCall::numbers
};

/// Threads for host functions. Any thread may use it. Concurrency per function is limited over all users of a pool.
/// Calls that timed out are abandoned: their threads are replaced, the destructor does not wait for them. (It asks the
/// others to stop and waits for them.) Where many abandoned calls still run (four times the threads, at least 64),
/// further ones fail without being made. A host function must not wait for the pool that it runs on.
class HostPool {
   public:
    struct Options {
        std::uint32_t threads = 64;  ///< at most so many calls at the same time; started as they are needed
        std::uint64_t seed = 0;      ///< of the jitter
    };
    [[nodiscard]] static Result<HostPool> create(const Options& options);
    [[nodiscard]] static Result<HostPool> create() { return create(Options{}); }

    /// All of them, overlapped; results in the order of the tasks. An error names the function and the label: an
    /// exception, an error, a time-out, after all retries.
    [[nodiscard]] std::vector<Result<Value>> run_all(std::span<const HostTask> tasks);
    [[nodiscard]] std::future<Result<Value>> run(HostTask task);
    /// The same, told by a call from one of the pool's threads (or this one, where the task cannot start). `done` must
    /// not throw, nor wait for the pool. What the task points to is copied.
    using Done = std::function<void(Result<Value>)>;
    void start(HostTask task, Done done);
    [[nodiscard]] std::vector<HostStatistics> statistics() const;  ///< by name
    [[nodiscard]] std::uint64_t abandoned() const noexcept;        ///< calls that were given up and have not returned

    ~HostPool();
    HostPool(HostPool&&) noexcept;
    HostPool& operator=(HostPool&&) noexcept;

   private:
    struct Impl;
    explicit HostPool(std::shared_ptr<Impl> impl);
    std::shared_ptr<Impl> impl_;
};

/// Values for a graph, in its own order.
struct GraphArguments {
    std::vector<Value> inputs{};      ///< as Graph::inputs
    std::vector<Value> parameters{};  ///< natural values or texts, as Graph::parameters
};

/// In order, in the caller's thread (host functions too, without time-outs). Errors name the equation: its operation,
/// its hyperfunction.
[[nodiscard]] Result<std::vector<Value>> call(const Graph& graph, const GraphArguments& arguments);

/// Equations run as soon as what they need is there; host functions on the pool, and branches and loops that call them
/// (inside, without time-outs), tensor equations in the calling thread. The same results as call(); the first error in
/// the order of the equations.
[[nodiscard]] Result<std::vector<Value>> call_async(const Graph& graph, const GraphArguments& arguments,
                                                    HostPool& pool);

/// Step by step: look at an equation before it runs, at its results after. `graph` must outlive it.
class Walk {
   public:
    [[nodiscard]] static Result<Walk> create(const Graph& graph, const GraphArguments& arguments);
    [[nodiscard]] const Equation* next() const noexcept;        ///< nullptr at the end
    [[nodiscard]] Result<std::vector<Value>> operands() const;  ///< of next()
    /// Runs it; its results.
    [[nodiscard]] Result<std::vector<Value>> step();
    /// Puts these in place of its results (a debugger, a memo), without running it. Errors: another number or type.
    [[nodiscard]] Result<void> skip(std::vector<Value> results);
    [[nodiscard]] Result<std::vector<Value>> outputs() const;  ///< error before the end

   private:
    Walk() = default;
    const Graph* graph_ = nullptr;
    std::size_t position_ = 0;
    std::vector<std::optional<Value>> values_;
};

}  // namespace yolk::hyper

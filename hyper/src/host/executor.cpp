// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <limits>
#include <mutex>
#include <set>

#include "body_calls.hpp"
#include "evaluation.hpp"
#include "graph_copy.hpp"
#include "group_value.hpp"
#include "host_pool.hpp"
#include "valid_graph.hpp"

namespace yolk::hyper {
namespace {

/// Where the pool's threads leave what came of a call.
struct Mailbox {
    struct Letter {
        std::size_t equation = 0;
        Result<Value> result;
    };
    std::mutex mutex;
    std::condition_variable arrived;
    std::vector<Letter> letters;
};

/// One run of call_async. Only `mailbox` is shared with other threads.
class Overlapped {
   public:
    Overlapped(const Graph& graph, KnownValues values, HostPool& pool)
        : graph_(graph),
          values_(std::move(values)),
          pool_(pool),
          missing_(graph.equations.size()),
          readers_(graph.variables.size()) {}

    Result<std::vector<Value>> run();

   private:
    void find_readers();
    void make_ready(std::size_t equation);
    void start(std::size_t equation, HostTask task);
    void finish(std::size_t equation, Result<std::vector<Value>> results);
    void fail(std::size_t equation, Error error);
    std::vector<Mailbox::Letter> receive(bool wait);

    const Graph& graph_;
    KnownValues values_;
    HostPool& pool_;
    std::vector<std::size_t> missing_;               ///< operands that are not known yet, by equation
    std::vector<std::vector<std::size_t>> readers_;  ///< equations, by variable
    std::set<std::size_t> ready_;                    ///< tensor equations
    std::size_t in_flight_ = 0;
    std::size_t failed_ = std::numeric_limits<std::size_t>::max();  ///< the first equation that did
    std::optional<Error> error_{};
    std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
};

void Overlapped::find_readers() {
    for (std::size_t i = 0; i < graph_.equations.size(); ++i) {
        for (const Atom& atom : graph_.equations[i].operands) {
            const VariableId* const id = std::get_if<VariableId>(&atom);
            if (id == nullptr || values_[id->value].has_value()) continue;
            ++missing_[i];
            readers_[id->value].push_back(i);
        }
    }
}

/// An equation behind the first that failed is not begun; those before it are, since theirs might be the first error.
void Overlapped::make_ready(std::size_t equation) {
    if (equation > failed_) return;
    const Equation& of = graph_.equations[equation];
    if (of.host == nullptr && !calls_from_bodies(of)) {
        ready_.insert(equation);
        return;
    }
    Result<std::vector<Value>> operands = read_operands(graph_, equation, values_);
    if (!operands) return fail(equation, std::move(operands).error());
    if (of.host == nullptr)
        return start(equation, {.function = as_host_function(of), .operands = *std::move(operands)});
    const Value parameters = std::move(operands->front());
    operands->erase(operands->begin());
    start(equation, host_task_of(of.host, parameters, *std::move(operands), describe(graph_, equation)));
}

void Overlapped::start(std::size_t equation, HostTask task) {
    ++in_flight_;
    pool_.start(std::move(task), [mailbox = mailbox_, equation](Result<Value> result) {
        const std::lock_guard lock(mailbox->mutex);
        mailbox->letters.push_back({equation, std::move(result)});
        mailbox->arrived.notify_one();
    });
}

void Overlapped::fail(std::size_t equation, Error error) {
    if (equation > failed_) return;
    failed_ = equation;
    error_ = std::move(error);
    ready_.erase(ready_.upper_bound(equation), ready_.end());
}

void Overlapped::finish(std::size_t equation, Result<std::vector<Value>> results) {
    if (!results) return fail(equation, std::move(results).error());
    if (Result<void> stored = store_results(graph_, equation, *std::move(results), values_); !stored) {
        return fail(equation, std::move(stored).error());
    }
    for (const VariableId result : graph_.equations[equation].results) {
        for (const std::size_t reader : readers_[result.value]) {
            if (--missing_[reader] == 0) make_ready(reader);
        }
    }
}

std::vector<Mailbox::Letter> Overlapped::receive(bool wait) {
    std::unique_lock lock(mailbox_->mutex);
    if (wait) mailbox_->arrived.wait(lock, [this] { return !mailbox_->letters.empty(); });
    return std::exchange(mailbox_->letters, {});
}

Result<std::vector<Value>> Overlapped::run() {
    find_readers();
    for (std::size_t i = 0; i < graph_.equations.size(); ++i) {
        if (missing_[i] == 0) make_ready(i);
    }
    while (!ready_.empty() || in_flight_ > 0) {
        for (Mailbox::Letter& letter : receive(/*wait=*/ready_.empty())) {
            --in_flight_;
            const bool of_host = graph_.equations[letter.equation].host != nullptr;
            if (letter.result) {
                finish(letter.equation,
                       of_host ? std::vector<Value>{*std::move(letter.result)} : results_of(*letter.result));
            } else if (of_host) {
                fail(letter.equation, std::move(letter.result).error());
            } else {
                fail(letter.equation, std::move(letter.result).error().while_doing(describe(graph_, letter.equation)));
            }
        }
        if (ready_.empty()) continue;
        const std::size_t next = *ready_.begin();
        ready_.erase(ready_.begin());
        Result<std::vector<Value>> results = read_operands(graph_, next, values_);
        if (results) results = evaluate_at(graph_, next, *results);
        finish(next, std::move(results));
    }
    if (error_.has_value()) return *std::move(error_);
    return read_outputs(graph_, values_);
}

}  // namespace

Result<std::vector<Value>> call_async(const Graph& graph, const GraphArguments& arguments, HostPool& pool) {
    YOLK_TRY_VOID(validate(graph));
    // What is inside a body waits for all of the body's operands, and runs in one thread: bodies that are parallel are
    // unfolded, and so are calls around them.
    if (std::ranges::any_of(graph.equations, holds_parallel)) {
        YOLK_TRY(const Graph flat, unfold_parallel(graph));
        YOLK_TRY(KnownValues values, bind_arguments(flat, arguments));
        return Overlapped(flat, std::move(values), pool).run();
    }
    YOLK_TRY(KnownValues values, bind_arguments(graph, arguments));
    return Overlapped(graph, std::move(values), pool).run();
}

}  // namespace yolk::hyper

// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/shaders/compile_task.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "compile_here.hpp"
#include "yolk/internal/core/hash.hpp"

namespace yolk {
namespace {

// What compiled in less than a second on one core of 2026 took a fiftieth of these.
constexpr WorkerLimits kCompileLimits{.memory_bytes = std::uint64_t{2} << 30U,
                                      .stack_bytes = std::uint64_t{64} << 20U,
                                      .cpu_seconds = 30,
                                      .time = std::chrono::minutes(3)};
constexpr std::string_view kKernelRequest = "kernel", kEnvironmentRequest = "environment";

using Spirv = std::vector<std::uint32_t>;

template <class T>
std::string bytes_of(const T& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Spirv spirv_of(const std::string& bytes) {
    Spirv words(bytes.size() / sizeof(std::uint32_t));
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
    return words;
}

/// What this process has had compiled, so that the second of two runs of one environment compiles nothing.
class KnownResult {
   public:
    std::optional<WorkerMessage> find(const std::string& key) {
        const std::lock_guard lock(mutex_);
        const auto found = answers_.find(key);
        return found == answers_.end() ? std::nullopt : std::optional(found->second);
    }
    void keep(std::string key, const WorkerMessage& answer) {
        const std::lock_guard lock(mutex_);
        std::size_t size = 0;
        for (const std::string& field : answer) size += field.size();
        if (bytes_ + size > kMostBytes) {
            answers_.clear();
            bytes_ = 0;
        }
        if (answers_.emplace(std::move(key), answer).second) bytes_ += size;
    }

   private:
    static constexpr std::size_t kMostBytes = std::size_t{32} << 20U;
    std::mutex mutex_;
    std::map<std::string, WorkerMessage> answers_;
    std::size_t bytes_ = 0;
};

const char* advice(const WorkerFailure& failure) {
    if (failure.signal == SIGSEGV || failure.signal == SIGBUS)
        return " An expression of very many terms, or one that is nested very deeply, does that: split it up.";
    if (failure.signal == 0 || failure.signal == SIGXCPU || failure.signal == SIGKILL)
        return " Macros that expand to several of one another, and very large arrays, do that.";
    return "";
}

Result<WorkerMessage> compile_apart(const WorkerMessage& request, std::string_view name) {
    static KnownResult known;
    Hasher hasher;
    for (const std::string& field : request) {
        const std::uint64_t size = field.size();
        hasher.add_values(std::span(&size, 1)).add_values(std::span<const char>(field));
    }
    std::string key = hasher.hex();
    if (std::optional<WorkerMessage> answer = known.find(key)) return *std::move(answer);
    YOLK_TRY(WorkerAnswer answer, call_worker(kCompileTask, request, kCompileLimits));
    if (answer.failure)
        return bad_input("'{}' cannot be compiled: the compiler {}.{}", shown(name), answer.failure->how,
                         advice(*answer.failure));
    known.keep(std::move(key), answer.last);
    return std::move(answer.last);
}

// A kernel's request: its word, then these.
enum KernelField : std::size_t { kName = 1, kText, kOptimized, kIncludes, kRefused, kRest };

WorkerMessage kernel_request(const KernelSource& source, const KernelCompileOptions& options) {
    WorkerMessage request{std::string(kKernelRequest),
                          source.name,
                          source.text,
                          options.optimized ? "1" : "0",
                          std::to_string(source.includes.size()),
                          std::to_string(source.refused.size())};
    for (const auto* const list : {&source.includes, &source.refused, &options.defines}) {
        for (const auto& [first, second] : *list) request.insert(request.end(), {first, second});
    }
    return request;
}

Result<WorkerMessage> answer_kernel(const WorkerMessage& request) {
    if (request.size() < kRest) return bad_input("A request to compile a kernel has {} fields.", request.size());
    KernelSource source{.name = request[kName], .text = request[kText], .includes = {}, .refused = {}};
    KernelCompileOptions options{.optimized = request[kOptimized] == "1"};
    const auto count = [&request](KernelField field) {
        std::size_t value = 0;
        std::from_chars(request[field].data(), request[field].data() + request[field].size(), value);
        return value;
    };
    const std::size_t includes = count(kIncludes);
    const std::size_t refused = count(kRefused);
    for (std::size_t at = kRest; at + 1 < request.size(); at += 2) {
        const std::size_t pair = (at - kRest) / 2;
        auto& list = pair < includes ? source.includes : pair < includes + refused ? source.refused : options.defines;
        list.emplace_back(request[at], request[at + 1]);
    }
    YOLK_TRY(const Spirv spirv, compile_kernel_here(source, options));
    return WorkerMessage{bytes_of(spirv)};
}

Result<WorkerMessage> answer_environment(const WorkerMessage& request) {
    if (request.size() != 3) return bad_input("A request to compile an environment has {} fields.", request.size());
    YOLK_TRY(const CompiledEnvironment compiled, compile_environment_here(request[1], request[2]));
    // Names every member, so that one which is added cannot be forgotten here.
    const auto& [facts, inexact, looped, unrolled, packed, looped_fast, unrolled_fast, packed_fast] = compiled;
    return WorkerMessage{bytes_of(std::span(&facts, 1)),
                         inexact,
                         bytes_of(looped),
                         bytes_of(unrolled),
                         bytes_of(packed),
                         bytes_of(looped_fast),
                         bytes_of(unrolled_fast),
                         bytes_of(packed_fast)};
}

}  // namespace

Result<Spirv> compile_kernel(const KernelSource& source, const KernelCompileOptions& options) {
    YOLK_TRY(const WorkerMessage answer, compile_apart(kernel_request(source, options), source.name));
    if (answer.size() != 1) return io_error("The worker's answer is not a module.", 0);
    return spirv_of(answer.front());
}

Result<CompiledEnvironment> compile_environment(std::string_view source, std::string_view file_name) {
    YOLK_TRY(const WorkerMessage answer,
             compile_apart({std::string(kEnvironmentRequest), std::string(source), std::string(file_name)}, file_name));
    CompiledEnvironment compiled;
    auto& [facts, inexact, looped, unrolled, packed, looped_fast, unrolled_fast, packed_fast] = compiled;
    if (answer.size() != 8 || answer[0].size() != sizeof(facts))
        return io_error("The worker's answer is not an environment.", 0);
    std::memcpy(&facts, answer[0].data(), sizeof(facts));
    inexact = answer[1];
    std::size_t next = 2;
    for (Spirv* const module : {&looped, &unrolled, &packed, &looped_fast, &unrolled_fast, &packed_fast})
        *module = spirv_of(answer[next++]);
    return compiled;
}

Result<WorkerMessage> compile_task(WorkerCall& call) {
    const WorkerMessage& request = call.request();
    if (!request.empty() && request.front() == kKernelRequest) return answer_kernel(request);
    if (!request.empty() && request.front() == kEnvironmentRequest) return answer_environment(request);
    return bad_input("The worker was asked to compile something that it does not know.");
}

}  // namespace yolk

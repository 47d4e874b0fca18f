// SPDX-License-Identifier: Apache-2.0
// One call of DevicePool::evaluate: what its workers share while members are dealt.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/evolve/member_dealer.hpp"

namespace yolk::evolve {

/// What is remembered of a worker from generation to generation.
struct WorkerPast {
    /// Since when it is to be believed: the generation of its last verified chunk, or the first it was used in.
    std::optional<std::uint32_t> verified{};
    bool is_warm = false;  ///< its first chunk of the run, in which drivers compile, is behind it
    double waited = 0.0;   ///< seconds of evaluation since its last chunk
};

/// Everything but the constructor is called by several threads, each with its worker's number.
class PoolSession {
   public:
    /// `workers`: their names, and their rates as MemberDealer takes them.
    PoolSession(const PooledWork& work, std::vector<WorkerShare> workers, const DealerOptions& options,
                std::vector<WorkerPast>& past);

    /// Works until nothing is left for anybody, this worker is dropped, or the session has ended early.
    void work_loop(std::size_t worker);

    // After all loops have ended.
    /// What nobody else was left to audit, the judge does, where there is one.
    void judge_unaudited();
    struct Loss {
        std::size_t worker = 0;
        std::string reason;
        bool is_wrong = false;  ///< nothing that it evaluated is believed
    };
    [[nodiscard]] const std::vector<Loss>& losses() const noexcept { return losses_; }
    [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }
    [[nodiscard]] bool is_stuck() const noexcept { return dealer_.stuck(); }
    [[nodiscard]] double rate(std::size_t worker) const noexcept { return dealer_.rate(worker); }
    [[nodiscard]] PooledResult take_result() noexcept;

   private:
    [[nodiscard]] bool has_ended() const noexcept;
    void take(std::size_t worker, const DealtChunk& chunk, Result<std::vector<std::byte>> result, double seconds);
    void compare(std::size_t worker, const DealtChunk& chunk, std::span<const std::byte> result);
    [[nodiscard]] bool is_lost(std::size_t worker) const noexcept;
    [[nodiscard]] bool is_distrusted(std::size_t worker) const noexcept;
    void lose(std::size_t worker, const std::string& reason);
    void distrust(std::size_t worker, const MemberRange& members, std::size_t other, bool judged);

    const PooledWork* work_;
    std::vector<WorkerPast>* past_;
    std::mutex mutex_;
    std::condition_variable changed_;
    MemberDealer dealer_;
    std::vector<WorkerShare> shares_;
    std::vector<Loss> losses_;
    std::optional<Error> error_;
    std::optional<std::uint32_t> suspect_since_;
};

}  // namespace yolk::evolve

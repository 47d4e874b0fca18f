// SPDX-License-Identifier: Apache-2.0
// The devices of one run, of any vendor, and the members that are dealt out to them. A device that fails is dropped and
// the others go on; audits find one that computes wrongly (docs/adr/0019-members-are-dealt.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/evolve/member_range.hpp"
#include "yolk/internal/primitives/determinism.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

struct DevicePoolOptions {
    /// Of each device's dispatcher: a device on which nothing has moved for this long is dropped.
    std::chrono::nanoseconds hang_limit = DispatcherOptions{}.hang_limit;
    /// In exact mode a device that fails the arithmetic probe is dropped at once.
    Determinism determinism = Determinism::Exact;
    /// Share of the members, 0 ... 1, that are evaluated again on another device. Only in exact mode, where both must
    /// give the same bits.
    double audit = 0.0;
    /// Audits with one device are legal: the exact twin makes them, as it does where others were dropped.
    bool audits_alone = false;
    std::uint64_t seed = 1;          ///< which members are audited
    std::uint32_t host_workers = 0;  ///< workers without a device, numbered after the devices
    /// Told of each worker that is dropped, on the thread of evaluate(); empty: a warning in the log.
    std::function<void(const std::string& notice)> on_drop{};
};

/// What one worker did in a generation.
struct WorkerShare {
    std::string name{};         ///< the device's, with its index where two have one name; "host 0"
    bool dropped = false;       ///< by the end of the generation
    std::uint32_t members = 0;  ///< evaluated, audits aside
    std::uint32_t audited = 0;  ///< members of others that it evaluated again
    std::uint32_t chunks = 0;   ///< audits included
    double busy_seconds = 0.0;
    double rate = 0.0;  ///< members per second as measured by then
};

/// What is dealt: results are bytes, the same ones for the same members whoever evaluates them (in exact mode).
struct PooledWork {
    MemberRange members{};
    std::uint32_t granularity = 2;
    std::uint32_t largest_chunk = 0;  ///< 0: no limit
    std::uint32_t generation = 0;
    /// Called on a worker's thread, by one thread per worker at a time. An error of kind DeviceLost, Driver,
    /// OutOfMemory or Unsupported drops the worker; another one ends the work.
    std::function<Result<std::vector<std::byte>>(std::size_t worker, const MemberRange& members)> evaluate{};
    /// Takes the result where it belongs; called by one thread at a time, again where members are evaluated again.
    std::function<void(const MemberRange& members, std::span<const std::byte> result)> keep{};
    /// What was kept of these members, for audits.
    std::function<std::vector<std::byte>(const MemberRange& members)> kept{};
    /// Says who is right where two workers disagree, and audits the last one: the exact twin. Empty: both are dropped,
    /// and the last one goes unaudited.
    std::function<Result<std::vector<std::byte>>(const MemberRange& members)> judge{};
};

struct PooledResult {
    std::vector<WorkerShare> shares{};
    double seconds = 0.0;
    /// A worker computed wrongly and was dropped. Whatever it evaluated since the generation of its last verified
    /// chunk, or since it was first used, may be wrong: the first of these generations.
    std::optional<std::uint32_t> suspect_since{};
    /// Members that were drawn for an audit when no other worker was left, and no judge.
    std::uint32_t unaudited = 0;
};

/// A handle: copies are the same pool, whose threads end with the last of them. Owns a dispatcher and a thread for each
/// device; devices are handles that it shares. One thread at a time calls it. The work that it is given runs on its
/// threads.
class DevicePool {
   public:
    /// Probes each device; one that cannot be used is dropped with a notice. Errors: no devices, one that is given
    /// twice, none that can be used (says why for each), an audit share outside 0 to 1, an audit in fast mode.
    [[nodiscard]] static Result<DevicePool> create(std::span<const Device> devices,
                                                   const DevicePoolOptions& options = {});

    [[nodiscard]] std::size_t size() const noexcept;  ///< workers, dropped ones and those without a device included
    [[nodiscard]] std::size_t device_count() const noexcept;  ///< those with a device come first
    [[nodiscard]] std::size_t in_use() const noexcept;
    [[nodiscard]] bool is_used(std::size_t worker) const noexcept;
    [[nodiscard]] const std::string& name(std::size_t worker) const noexcept;
    [[nodiscard]] double rate(std::size_t worker) const noexcept;  ///< members per second; 0: not measured
    [[nodiscard]] const Device& device(std::size_t worker) const noexcept;
    [[nodiscard]] Dispatcher& dispatcher(std::size_t worker) const noexcept;
    [[nodiscard]] const DevicePoolOptions& options() const noexcept;
    /// The device in use that evaluates fastest; while not all rates are known, the one that choose_device would take.
    /// It makes the update. Error: none is left (says why each was dropped).
    [[nodiscard]] Result<std::size_t> lead() const;
    /// Goes on without this worker, and says so.
    void drop(std::size_t worker, const std::string& reason);
    /// Why each dropped worker was dropped, as sentences; empty where all are in use.
    [[nodiscard]] std::string losses() const;

    /// A run begins, whose generations are counted anew: none of them is verified yet. Its rates are measured anew,
    /// after each worker's first chunk; until then rate() says what was measured before.
    void begin_run() noexcept;
    /// No generation before this one can become suspect any more; 0 where none is verified.
    [[nodiscard]] std::uint32_t verified() const noexcept;
    /// No generation of this worker's results before this one can be wrong any more; 0: none verified.
    [[nodiscard]] std::uint32_t verified(std::size_t worker) const noexcept;
    /// The run went back to before this generation: nothing from it on counts as verified.
    void went_back(std::uint32_t generation) noexcept;

    /// Calls `work` once for each worker in use, on its thread, and waits for all.
    void on_each(const std::function<void(std::size_t worker)>& work);
    /// Deals members out until all are evaluated, and audited where they were drawn. Rates are remembered from call to
    /// call. Errors: all workers are dropped (says why), those of the work that end it.
    [[nodiscard]] Result<PooledResult> evaluate(const PooledWork& work);

    struct Impl;

   private:
    explicit DevicePool(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
    std::shared_ptr<Impl> impl_;
};

/// Whether a worker with this error is dropped while the others go on.
[[nodiscard]] bool is_of_device(const Error& error) noexcept;

}  // namespace yolk::evolve

// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/device_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "pool_session.hpp"
#include "worker_threads.hpp"
#include "yolk/internal/runtime/device_selection.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/log.hpp"

namespace yolk::evolve {

struct DevicePool::Impl {
    struct Worker {
        std::string name;
        std::optional<Device> device{};
        std::optional<Dispatcher> dispatcher{};
        bool used = true;
        std::string reason{};  // why it is not used
        double rate = 0.0;     // members per second
    };
    DevicePoolOptions options;
    std::vector<Worker> workers;
    std::size_t devices = 0;
    std::vector<WorkerPast> past;
    std::unique_ptr<WorkerThreads> threads;  // last: they end before what they use

    [[nodiscard]] std::vector<std::size_t> used() const;
    [[nodiscard]] std::vector<std::size_t> used_devices() const;
    [[nodiscard]] Error none_left() const;
    void drop(std::size_t worker, const std::string& reason);
    void add_device(const Device& device, std::size_t index, bool has_namesake);
};

namespace {

/// A handle of its own to the same hardware is a device like any other: tests have two where there is one.
Result<void> check_devices(std::span<const Device> devices) {
    if (devices.empty())
        return bad_input("A pool needs at least one device, which makes the update; it was given none.");
    for (std::size_t i = 1; i < devices.size(); ++i) {
        for (std::size_t before = 0; before < i; ++before) {
            if (devices[i].impl() != devices[before].impl()) continue;
            return bad_input("Devices {} and {} of a pool are both {}; give each device once.", before, i,
                             devices[i].info().name);
        }
    }
    return {};
}

Result<void> check(std::span<const Device> devices, const DevicePoolOptions& options) {
    YOLK_TRY_VOID(check_devices(devices));
    if (!(options.audit >= 0.0 && options.audit <= 1.0)) {
        return bad_input("The audit share is {}; it must be from 0 (nothing is evaluated twice) to 1 (everything is).",
                         options.audit);
    }
    if (options.audit > 0.0 && !options.audits_alone && devices.size() + options.host_workers < 2) {
        return bad_input(
            "The audit share is {}, and there is one device: members are evaluated again on another one. Give several "
            "devices, or no audit.",
            options.audit);
    }
    if (options.audit > 0.0 && options.determinism == Determinism::Fast) {
        return bad_input(
            "An audit compares bits, which differ between devices in fast mode. Use exact determinism, or no audit.");
    }
    return {};
}

}  // namespace

bool is_of_device(const Error& error) noexcept {
    return error.kind == ErrorKind::DeviceLost || error.kind == ErrorKind::Driver ||
           error.kind == ErrorKind::OutOfMemory || error.kind == ErrorKind::Unsupported;
}

std::vector<std::size_t> DevicePool::Impl::used() const {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < workers.size(); ++i) {
        if (workers[i].used) indices.push_back(i);
    }
    return indices;
}

std::vector<std::size_t> DevicePool::Impl::used_devices() const {
    std::vector<std::size_t> indices = used();
    std::erase_if(indices, [this](std::size_t i) { return i >= devices; });
    return indices;
}

void DevicePool::Impl::drop(std::size_t worker, const std::string& reason) {
    Worker& dropped = workers[worker];
    if (!dropped.used) return;
    dropped.used = false;
    dropped.reason = reason;
    const std::size_t left = used().size();
    const std::string notice =
        fmt::format("{} is dropped: {} {} of {} {} go{} on.", dropped.name, reason, left, workers.size(),
                    devices == workers.size() ? "devices" : "workers", left == 1 ? "es" : "");
    options.on_drop ? options.on_drop(notice) : log_warning(notice);
}

Error DevicePool::Impl::none_left() const {
    std::string why;
    for (const Worker& worker : workers) {
        if (!worker.used) why += fmt::format(" {}: {}", worker.name, worker.reason);
    }
    if (!used().empty()) why += " The host workers that are left evaluate members, and make no update.";
    return Error{.kind = ErrorKind::DeviceLost, .message = "No device of the pool is left." + why};
}

void DevicePool::Impl::add_device(const Device& device, std::size_t index, bool has_namesake) {
    const std::string& name = device.info().name;
    workers.push_back({.name = has_namesake ? fmt::format("{} (device {})", name, index) : name, .device = device});
}

Result<DevicePool> DevicePool::create(std::span<const Device> devices, const DevicePoolOptions& options) {
    YOLK_TRY_VOID(check(devices, options));
    auto impl = std::make_shared<Impl>();
    impl->options = options;
    impl->devices = devices.size();
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const auto namesakes = std::ranges::count_if(
            devices, [&](const Device& other) { return other.info().name == devices[i].info().name; });
        impl->add_device(devices[i], i, namesakes > 1);
    }
    for (std::uint32_t i = 0; i < options.host_workers; ++i)
        impl->workers.push_back({.name = fmt::format("host {}", i)});
    impl->past.resize(impl->workers.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
        Impl::Worker& worker = impl->workers[i];
        const auto open = [&]() -> Result<void> {
            YOLK_TRY(const DeviceFindings findings, probe(*worker.device));
            if (options.determinism == Determinism::Exact && !findings.inexact_reason.empty())
                return unsupported("It cannot run in exact mode: {}", findings.inexact_reason);
            YOLK_TRY(worker.dispatcher, Dispatcher::create(*worker.device, {.hang_limit = options.hang_limit}));
            return {};
        };
        if (const Result<void> opened = open(); !opened) impl->drop(i, opened.error().message);
    }
    if (impl->used_devices().empty()) return impl->none_left();
    impl->threads = std::make_unique<WorkerThreads>(impl->workers.size());
    return DevicePool(std::move(impl));
}

std::size_t DevicePool::size() const noexcept { return impl_->workers.size(); }
std::size_t DevicePool::device_count() const noexcept { return impl_->devices; }
std::size_t DevicePool::in_use() const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(impl_->workers, &Impl::Worker::used));
}
bool DevicePool::is_used(std::size_t worker) const noexcept { return impl_->workers[worker].used; }
const std::string& DevicePool::name(std::size_t worker) const noexcept { return impl_->workers[worker].name; }
double DevicePool::rate(std::size_t worker) const noexcept { return impl_->workers[worker].rate; }
const Device& DevicePool::device(std::size_t worker) const noexcept { return *impl_->workers[worker].device; }
Dispatcher& DevicePool::dispatcher(std::size_t worker) const noexcept { return *impl_->workers[worker].dispatcher; }
const DevicePoolOptions& DevicePool::options() const noexcept { return impl_->options; }

Result<std::size_t> DevicePool::lead() const {
    const std::vector<std::size_t> candidates = impl_->used_devices();
    if (candidates.empty()) return impl_->none_left();
    const bool are_measured = std::ranges::all_of(candidates, [this](std::size_t i) { return rate(i) > 0.0; });
    return *std::ranges::max_element(candidates, {}, [&](std::size_t i) {
        return are_measured ? rate(i) : static_cast<double>(score(device(i).info()));
    });
}

void DevicePool::begin_run() noexcept { std::ranges::fill(impl_->past, WorkerPast{}); }

std::uint32_t DevicePool::verified() const noexcept {
    std::optional<std::uint32_t> least;
    for (std::size_t i = 0; i < size(); ++i) {
        if (is_used(i) && impl_->past[i].verified)
            least = std::min(*impl_->past[i].verified, least.value_or(*impl_->past[i].verified));
    }
    return least.value_or(0);
}

std::uint32_t DevicePool::verified(std::size_t worker) const noexcept {
    return impl_->past[worker].verified.value_or(0);
}

void DevicePool::went_back(std::uint32_t generation) noexcept {
    for (WorkerPast& past : impl_->past) {
        if (past.verified) past.verified = std::min(*past.verified, generation);
    }
}

void DevicePool::drop(std::size_t worker, const std::string& reason) { impl_->drop(worker, reason); }

std::string DevicePool::losses() const {
    std::string sentences;
    for (const Impl::Worker& worker : impl_->workers) {
        if (worker.used) continue;
        sentences += fmt::format("{}{} was dropped: {}", sentences.empty() ? "" : " ", worker.name, worker.reason);
    }
    return sentences;
}

void DevicePool::on_each(const std::function<void(std::size_t)>& work) { impl_->threads->run(impl_->used(), work); }

Result<PooledResult> DevicePool::evaluate(const PooledWork& work) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<WorkerShare> workers;
    for (std::size_t i = 0; i < size(); ++i) {
        // What it was measured at before this run says little about other work.
        const double rate = impl_->past[i].is_warm ? impl_->workers[i].rate : 0.0;
        workers.push_back({.name = name(i), .rate = is_used(i) ? rate : -1.0});
    }
    PoolSession session(work, std::move(workers),
                        {.granularity = work.granularity,
                         .largest_chunk = work.largest_chunk,
                         .audit = impl_->options.audit,
                         .audit_seed = impl_->options.seed ^ (std::uint64_t{work.generation} << 32U)},
                        impl_->past);
    on_each([&](std::size_t worker) { session.work_loop(worker); });
    session.judge_unaudited();
    for (std::size_t i = 0; i < size(); ++i) {
        if (session.rate(i) > 0.0) impl_->workers[i].rate = session.rate(i);
    }
    for (const PoolSession::Loss& loss : session.losses()) impl_->drop(loss.worker, loss.reason);
    if (session.error()) return *session.error();
    PooledResult result = session.take_result();
    if (!result.suspect_since && session.is_stuck()) return impl_->none_left();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (std::size_t i = 0; i < size(); ++i) {
        result.shares[i].dropped = !is_used(i);
        double& waited = impl_->past[i].waited;
        waited = result.shares[i].chunks == 0 ? waited + result.seconds : 0.0;
    }
    return result;
}

}  // namespace yolk::evolve

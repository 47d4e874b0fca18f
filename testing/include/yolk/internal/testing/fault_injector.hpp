// SPDX-License-Identifier: Apache-2.0
// A real driver that fails on demand: the Nth call that can fail in some way does, without being performed. And a count
// of the Vulkan objects that live, so that leaks are seen.
//
//     FaultInjector faults;                                  // before the devices it is to fail are made
//     faults.fail_nth_call(3, FaultKind::OutOfDeviceMemory);
//     EXPECT_TRUE(expect_error(plan_noise(device, desc), ErrorKind::OutOfMemory, "[noise]"));
//     EXPECT_EQ(faults.injected_into(), "vkCreateComputePipelines");
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/result.hpp"

namespace yolk::testing {

enum class FaultKind {
    OutOfHostMemory,
    OutOfDeviceMemory,
    DeviceLost,
    Refused,  ///< VK_ERROR_INITIALIZATION_FAILED or VK_ERROR_MEMORY_MAP_FAILED, where a function has one of them
};

/// One at a time. Instances and devices made while it lives (or after one has lived) are those that it can fail; those
/// made before go on undisturbed. Thread-safe but for its creation.
class FaultInjector {
   public:
    FaultInjector();
    ~FaultInjector();  ///< nothing fails any more
    FaultInjector(const FaultInjector&) = delete;
    FaultInjector& operator=(const FaultInjector&) = delete;

    /// Of the calls from now on that may fail with `kind` by Vulkan's rules, the nth does, counted from 1. Polls of a
    /// counter, one after the other, are one call.
    void fail_nth_call(std::uint64_t n, FaultKind kind);
    /// The first call that makes what a device keeps (pipelines, their layouts, descriptor pools, memory) and has not
    /// failed here yet: each next run of one path on one device gets a step further. See sweep_kept().
    void fail_next_kept(FaultKind kind);
    void fail_nothing();
    /// vkAllocateMemory of more than so many bytes fails with VK_ERROR_OUT_OF_DEVICE_MEMORY, until told otherwise.
    void fail_allocations_above(std::uint64_t bytes);
    /// Submissions are accepted and never run: what a hung device looks like.
    void hang_submissions(bool hang);
    /// Submissions are accepted and end, and nothing of them runs: what a driver looks like that only compiles.
    void empty_submissions(bool empty);
    /// Shader modules made from now on compute additions where they should multiply.
    void spoil_multiplications(bool spoil);
    /// Hangs, empty submissions and spoilt modules apply only to the nth device made after the injector, counted from
    /// 1; 0, as at first: to all.
    void only_on_device(std::uint32_t nth);
    /// Waits for semaphores return this much later than the driver's, those that time out as well: the host sees the
    /// end late. What a wait says, and which time it gives the device, stay the same.
    void delay_waits(std::chrono::milliseconds delay);
    /// Shader modules made from now on take signed bytes of dot products for unsigned ones, widen words with their
    /// sign, and leave out the products of matrix units.
    void spoil_low_precision(bool spoil);

    /// Since the last fail_...: the function that failed; empty where none did.
    [[nodiscard]] std::string injected_into() const;
    /// Calls that could have failed.
    [[nodiscard]] std::uint64_t calls() const;

    struct State;  // runtime/tests/fault_injector.cpp

   private:
    std::unique_ptr<State> state_;
};

/// What was created and not destroyed yet, through functions that a FaultInjector watches: "VkBuffer 2, VkDevice 1".
[[nodiscard]] std::string living_objects();

/// What a sweep does for each n.
struct Sweep {
    std::vector<FaultKind> kinds{FaultKind::OutOfHostMemory, FaultKind::OutOfDeviceMemory};
    /// Every error must have one of these in its message: labels, kernels.
    std::vector<std::string> names{};
    /// Functions whose failure may pass unnoticed, since there is another way.
    std::vector<std::string> tolerated{};
    /// Where it is not empty: errors with this in their message are bad input, whatever the driver returned.
    std::string bad_input{};
    /// Runs after each failure, and must give no error: the device still works.
    std::function<Result<void>()> afterwards{};
};

/// Runs `path` with its nth call failing, for n = 1, 2, ... until it comes to its end without a failure. Adds a test
/// failure where a run with an injected failure has no error (and the function is not of `tolerated`), an error names
/// nothing of `names` or is of a wrong kind, or objects are left. The path makes and drops what it uses; what it
/// leaves to the device is there after the first run, which fails nothing.
void sweep_calls(FaultInjector& faults, const Sweep& sweep, const std::function<Result<void>()>& path);

/// The same for what a device makes once and keeps. `make_path` makes a new device, and is called once for each kind;
/// each run of the path fails at something that the device does not have yet, until it has all.
void sweep_kept(FaultInjector& faults, const Sweep& sweep,
                const std::function<std::function<Result<void>()>()>& make_path);

/// One kind's part of that, on a device of the caller's: how many calls failed, which is 0 where the device has
/// everything already. Objects are not counted, since a device keeps what it made.
std::uint64_t sweep_kept_on_device(FaultInjector& faults, const Sweep& sweep, FaultKind kind,
                                   const std::function<Result<void>()>& path);

}  // namespace yolk::testing

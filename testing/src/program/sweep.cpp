// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "yolk/internal/testing/fault_injector.hpp"

namespace yolk::testing {
namespace {

/// Far above any path's calls: a sweep that comes here would never end.
constexpr std::uint64_t kMostCalls = 3000;

ErrorKind expected_kind(FaultKind kind) {
    switch (kind) {
        case FaultKind::OutOfHostMemory:
        case FaultKind::OutOfDeviceMemory: return ErrorKind::OutOfMemory;
        case FaultKind::DeviceLost: return ErrorKind::DeviceLost;
        case FaultKind::Refused: break;
    }
    return ErrorKind::Driver;
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
    return std::find(list.begin(), list.end(), text) != list.end();
}

void check_error(const Sweep& sweep, FaultKind kind, const std::string& function, const Result<void>& result) {
    if (result) {
        EXPECT_TRUE(contains(sweep.tolerated, function)) << "the failure of " << function << " went unnoticed";
        return;
    }
    const Error& error = result.error();
    const bool refused = !sweep.bad_input.empty() && error.message.find(sweep.bad_input) != std::string::npos;
    EXPECT_EQ(error.kind, refused ? ErrorKind::BadInput : expected_kind(kind)) << error.message;
    const bool named = std::any_of(sweep.names.begin(), sweep.names.end(), [&](const std::string& name) {
        return error.message.find(name) != std::string::npos;
    });
    EXPECT_TRUE(named || sweep.names.empty()) << "names nothing: " << error.message;
}

}  // namespace

void sweep_calls(FaultInjector& faults, const Sweep& sweep, const std::function<Result<void>()>& path) {
    faults.fail_nothing();
    const Result<void> good = path();
    ASSERT_TRUE(good) << good.error().message;
    const std::string living = living_objects();
    for (const FaultKind kind : sweep.kinds) {
        std::uint64_t n = 1;
        for (; n < kMostCalls && !::testing::Test::HasFatalFailure(); ++n) {
            faults.fail_nth_call(n, kind);
            const Result<void> result = path();
            const std::string function = faults.injected_into();
            faults.fail_nothing();
            const ::testing::ScopedTrace where(
                __FILE__, __LINE__,
                "call " + std::to_string(n) + ", " + function + ", fault " + std::to_string(static_cast<int>(kind)));
            if (function.empty()) {
                EXPECT_TRUE(result) << result.error().message;
                break;
            }
            check_error(sweep, kind, function, result);
            EXPECT_EQ(living_objects(), living);
            if (!sweep.afterwards) continue;
            const Result<void> after = sweep.afterwards();
            EXPECT_TRUE(after) << after.error().message;
        }
        EXPECT_GT(n, 1U) << "no call could fail";
        EXPECT_LT(n, kMostCalls);
    }
}

std::uint64_t sweep_kept_on_device(FaultInjector& faults, const Sweep& sweep, FaultKind kind,
                                   const std::function<Result<void>()>& path) {
    faults.fail_nothing();
    std::uint64_t n = 1;
    for (; n < kMostCalls; ++n) {
        faults.fail_next_kept(kind);
        const Result<void> result = path();
        const std::string function = faults.injected_into();
        const ::testing::ScopedTrace where(
            __FILE__, __LINE__,
            "step " + std::to_string(n) + ", " + function + ", fault " + std::to_string(static_cast<int>(kind)));
        if (function.empty()) {
            EXPECT_TRUE(result) << result.error().message;
            break;
        }
        check_error(sweep, kind, function, result);
    }
    faults.fail_nothing();
    EXPECT_LT(n, kMostCalls);
    return n - 1;
}

void sweep_kept(FaultInjector& faults, const Sweep& sweep,
                const std::function<std::function<Result<void>()>()>& make_path) {
    const std::string living = living_objects();
    for (const FaultKind kind : sweep.kinds) {
        faults.fail_nothing();
        std::function<Result<void>()> path = make_path();
        EXPECT_GT(sweep_kept_on_device(faults, sweep, kind, path), 0U) << "no call could fail";
        path = {};
        EXPECT_EQ(living_objects(), living) << "fault " << static_cast<int>(kind);
    }
}

}  // namespace yolk::testing

// SPDX-License-Identifier: Apache-2.0
// Batches of blocks whose views are longer than a binding of the device may be: the families' own cases, on a device
// that binds little, against the same twins and oracles.
#include "block_windows.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <vector>

#include "yolk/oracle/check.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/primitives/covariance.hpp"
#include "yolk/primitives/natural_gradient.hpp"
#include "yolk/runtime/dispatcher.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk {
namespace {

using testing::expect_error;

class block_windows : public testing::DeviceTest {
   protected:
    [[nodiscard]] Result<Device> device_that_binds(std::uint64_t limit) const {
        return Device::create(testing::instance(), device().info().index, {.max_storage_buffer_range = limit});
    }
};
YOLK_FOR_EACH_DEVICE(block_windows);

/// Set while a family's cases are chosen: Family::cases is a plain function.
const Device* g_device = nullptr;
std::size_t g_chosen = 0;

/// Those that the device takes although a view of theirs is longer than its bindings.
template <const oracle::Family& (*kFamily)() noexcept>
oracle::Problems long_cases(std::uint64_t seed) {
    const std::uint64_t limit = g_device->info().limits.max_storage_buffer_range;
    oracle::Problems problems = kFamily().cases(seed);
    std::erase_if(problems, [&](const auto& problem) {
        const auto is_long = [&](const oracle::ProblemBuffer& buffer) { return buffer.size_bytes > limit; };
        return !std::ranges::any_of(problem->buffers(), is_long) ||
               !problem->plan(*g_device, problem->default_configuration(g_device->info()));
    });
    g_chosen = problems.size();
    return problems;
}

TEST_P(block_windows, every_curvature_family_does_with_little_bindings) {
    const std::array all{
        std::pair{"covariance", &long_cases<&oracle::covariance_family>},
        std::pair{"inverse_sqrt", &long_cases<&oracle::inverse_sqrt_family>},
        std::pair{"natural_gradient", &long_cases<&oracle::natural_gradient_family>},
        std::pair{"kronecker_precondition", &long_cases<&oracle::kronecker_precondition_family>},
        std::pair{"block_inverse", &long_cases<&oracle::block_inverse_family>},
    };
    for (const auto& [name, cases] : all) {
        std::size_t windowed = 0;
        for (const std::uint64_t limit : {1024U, 16384U}) {
            ASSERT_OK_AND_ASSIGN(const Device narrow, device_that_binds(limit));
            ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(narrow));
            g_device = &narrow;
            const oracle::Family family{
                .name = name, .exactness = "P", .cases = cases, .benchmarks = nullptr, .configurations_per_case = 1};
            ASSERT_OK_AND_ASSIGN(
                const oracle::CheckReport report,
                oracle::check_family({.device = narrow, .dispatcher = dispatcher, .configurations = 0}, family));
            EXPECT_THAT(report.failures, ::testing::IsEmpty()) << name << ", " << limit;
            windowed += g_chosen;
        }
        EXPECT_GE(windowed, 3U) << name;
        RecordProperty(name, static_cast<int>(windowed));
    }
}

}  // namespace
}  // namespace yolk

// SPDX-License-Identifier: Apache-2.0
// Batches of blocks whose views are longer than a binding of the device may be: the families' own cases, on a device
// that binds little, against the same twins and oracles.
#include "block_windows.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <vector>

#include "row_device.hpp"
#include "yolk/covariance.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/kronecker_precondition.hpp"
#include "yolk/natural_gradient.hpp"

namespace yolk {
namespace {

using testing::expect_error;

class block_windows : public testing::DeviceTest {
   protected:
    [[nodiscard]] Result<Device> device_that_binds(std::uint64_t limit) const {
        return Device::create(testing::instance(), device().info().index,
                              {.pipeline_cache_folder = testing::kernels_folder(), .max_storage_buffer_range = limit});
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

TEST_P(block_windows, families_of_blocks_do_with_little_bindings) {
    const std::array all{
        std::pair{"covariance", &long_cases<&oracle::covariance_family>},
        std::pair{"inverse_sqrt", &long_cases<&oracle::inverse_sqrt_family>},
        std::pair{"block_inverse", &long_cases<&oracle::block_inverse_family>},
    };
    for (const auto& [name, cases] : all) {
        std::size_t windowed = 0;
        for (const std::uint64_t limit : {512U, 1024U, 2048U, 4096U, 16384U}) {
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
        EXPECT_GE(windowed, 1U) << name;
        RecordProperty(name, static_cast<int>(windowed));
    }
}

/// In [-1, 1).
std::vector<float> drawn(std::size_t count, std::uint32_t stream) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t word = philox4x32({static_cast<std::uint32_t>(i), stream, 0, 0}, {9, 9})[0];
        values[i] = static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-31F;
    }
    return values;
}

/// C and C with damping of an X that lies in its view with an offset, gaps between rows and gaps between blocks.
Result<std::vector<std::uint32_t>> covariances(const Device& device, std::uint64_t& dispatches) {
    constexpr std::uint32_t kN = 10;
    constexpr std::uint32_t kBlocks = 100;
    const CovarianceDesc desc{.n = kN,
                              .samples = 7,
                              .blocks = kBlocks,
                              .offset = 3,
                              .stride = 12,
                              .block_stride = 91,
                              .average = true,
                              .damping_kind = CovarianceDamping::Relative,
                              .damping = 0.125F};
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    const RowBuffers buffers{device, dispatcher};
    YOLK_TRY(const CovariancePlan plan, plan_covariance(device, desc));
    YOLK_TRY(const auto x, buffers.filled(drawn(3 + std::size_t{91} * kBlocks, 1), "x"));
    const std::size_t elements = std::size_t{kN} * kN * kBlocks;
    YOLK_TRY(const auto covariance, buffers.filled(drawn(elements, 2), "covariance"));
    YOLK_TRY(const auto damped, buffers.empty(sizeof(float) * elements, "damped"));
    YOLK_TRY(const auto scratch, buffers.empty(plan.scratch().size_bytes, "scratch"));
    YOLK_TRY(const BoundCovariance bound,
             plan.bind({.x = x.view(), .covariance = covariance.view(), .damped = damped.view()}, scratch.view()));
    YOLK_TRY(Recorder recorder, Recorder::create(device));
    recorder.begin();
    bound.record(recorder);
    dispatches = recorder.dispatch_count();
    YOLK_TRY_VOID(dispatcher.run(recorder));
    YOLK_TRY(std::vector<std::uint32_t> words, covariance.download<std::uint32_t>());
    YOLK_TRY(const std::vector<std::uint32_t> more, damped.download<std::uint32_t>());
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST_P(block_windows, covariances_are_the_same_in_windows) {
    ASSERT_OK_AND_ASSIGN(const Device narrow, device_that_binds(16384));
    std::uint64_t in_one = 0;
    std::uint64_t in_windows = 0;
    ASSERT_OK_AND_ASSIGN(const auto whole, covariances(device(), in_one));
    ASSERT_OK_AND_ASSIGN(const auto parts, covariances(narrow, in_windows));
    EXPECT_EQ(in_windows, 7 * in_one);  // 16 of 100 blocks each: less than 27, and matrices begin at 256 bytes
    EXPECT_EQ(parts, whole);
}

/// Blocks of two factors, damped and inverted; every seventh is indefinite.
std::vector<float> factors(std::uint32_t n, std::uint32_t blocks) {
    std::vector<float> all = drawn(std::size_t{n} * n * blocks, n);
    for (float& value : all) value *= 0.125F;
    for (std::uint32_t b = 0; b < blocks; ++b) {
        for (std::uint32_t i = 0; i < n; ++i)
            all[std::size_t{b} * n * n + std::size_t{i} * n + i] = b % 7 == 3 && i == 1 ? -1.0F : 2.0F;
    }
    return all;
}

/// The step, then the status words.
Result<std::vector<std::uint32_t>> kronecker_steps(const Device& device, std::uint64_t& dispatches) {
    constexpr std::uint32_t kOut = 6;
    constexpr std::uint32_t kIn = 10;
    constexpr std::uint32_t kBlocks = 60;
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    const RowBuffers buffers{device, dispatcher};
    YOLK_TRY(const KroneckerPreconditionPlan plan,
             plan_kronecker_precondition(device, {.n_out = kOut, .n_in = kIn, .blocks = kBlocks}));
    const std::size_t elements = std::size_t{kOut} * kIn * kBlocks;
    YOLK_TRY(const auto out, buffers.filled(factors(kOut, kBlocks), "factor_out"));
    YOLK_TRY(const auto in, buffers.filled(factors(kIn, kBlocks), "factor_in"));
    YOLK_TRY(const auto gradient, buffers.filled(drawn(elements, 3), "gradient"));
    YOLK_TRY(const auto step, buffers.empty(sizeof(float) * elements, "step"));
    YOLK_TRY(const auto status, buffers.empty(sizeof(std::uint32_t) * kBlocks, "status"));
    YOLK_TRY(const auto scratch, buffers.empty(plan.scratch().size_bytes, "scratch"));
    YOLK_TRY(const BoundKroneckerPrecondition bound, plan.bind({.factor_out = out.view(),
                                                                .factor_in = in.view(),
                                                                .gradient = gradient.view(),
                                                                .step = step.view(),
                                                                .status = status.view()},
                                                               scratch.view()));
    YOLK_TRY(Recorder recorder, Recorder::create(device));
    recorder.begin();
    bound.record(recorder, 0.25F);
    dispatches = recorder.dispatch_count();
    YOLK_TRY_VOID(dispatcher.run(recorder));
    YOLK_TRY(std::vector<std::uint32_t> words, step.download<std::uint32_t>());
    YOLK_TRY(const std::vector<std::uint32_t> statuses, status.download<std::uint32_t>());
    words.insert(words.end(), statuses.begin(), statuses.end());
    return words;
}

TEST_P(block_windows, kronecker_steps_are_the_same_in_windows) {
    ASSERT_OK_AND_ASSIGN(const Device narrow, device_that_binds(16384));
    std::uint64_t in_one = 0;
    std::uint64_t in_windows = 0;
    ASSERT_OK_AND_ASSIGN(const auto whole, kronecker_steps(device(), in_one));
    ASSERT_OK_AND_ASSIGN(const auto parts, kronecker_steps(narrow, in_windows));
    EXPECT_GE(in_windows, 2 * in_one);
    if (device().info().kind == DeviceKind::Cpu) {
        EXPECT_EQ(in_windows, 2 * in_one);
    }
    EXPECT_EQ(parts, whole);
    EXPECT_NE(whole[whole.size() - 57], 0U);  // block 3 of 60
    EXPECT_EQ(whole[whole.size() - 60], 0U);
}

/// The step, then what the preconditioner makes of the gradient, with the mean taken off both.
Result<std::vector<std::uint32_t>> gradient_steps(const Device& device, std::uint64_t& dispatches) {
    constexpr std::uint32_t kN = 10;
    constexpr std::uint32_t kBlocks = 100;
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    const RowBuffers buffers{device, dispatcher};
    YOLK_TRY(
        const NaturalGradientPlan plan,
        plan_natural_gradient(device, {.n = kN, .blocks = kBlocks, .project_mean = true, .has_preconditioned = true}));
    const std::size_t elements = std::size_t{kN} * kBlocks;
    YOLK_TRY(const auto matrix, buffers.filled(drawn(elements * kN, 4), "preconditioner"));
    YOLK_TRY(const auto gradient, buffers.filled(drawn(elements, 5), "gradient"));
    YOLK_TRY(const auto step, buffers.empty(sizeof(float) * elements, "step"));
    YOLK_TRY(const auto product, buffers.empty(sizeof(float) * elements, "preconditioned"));
    YOLK_TRY(const auto scratch, buffers.empty(plan.scratch().size_bytes, "scratch"));
    YOLK_TRY(const BoundNaturalGradient bound, plan.bind({.preconditioner = matrix.view(),
                                                          .gradient = gradient.view(),
                                                          .step = step.view(),
                                                          .preconditioned = product.view()},
                                                         scratch.view()));
    YOLK_TRY(Recorder recorder, Recorder::create(device));
    recorder.begin();
    bound.record(recorder, 0.5F);
    dispatches = recorder.dispatch_count();
    YOLK_TRY_VOID(dispatcher.run(recorder));
    YOLK_TRY(std::vector<std::uint32_t> words, step.download<std::uint32_t>());
    YOLK_TRY(const std::vector<std::uint32_t> more, product.download<std::uint32_t>());
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST_P(block_windows, gradient_steps_are_the_same_in_windows) {
    ASSERT_OK_AND_ASSIGN(const Device narrow, device_that_binds(16384));
    std::uint64_t in_one = 0;
    std::uint64_t in_windows = 0;
    ASSERT_OK_AND_ASSIGN(const auto whole, gradient_steps(device(), in_one));
    ASSERT_OK_AND_ASSIGN(const auto parts, gradient_steps(narrow, in_windows));
    EXPECT_EQ(in_windows, 4 * in_one);
    EXPECT_EQ(parts, whole);
}

TEST_P(block_windows, what_cannot_be_cut_is_refused) {
    ASSERT_OK_AND_ASSIGN(const Device narrow, device_that_binds(65536));
    EXPECT_TRUE(expect_error(plan_natural_gradient(narrow, {.n = 63, .blocks = 9}), ErrorKind::BadInput,
                             "64 blocks must fit for the next to begin at a multiple of 256 bytes"));
    EXPECT_TRUE(expect_error(plan_natural_gradient(narrow, {.n = 64, .blocks = 5000}), ErrorKind::BadInput,
                             "take 1250 bindings"));
    EXPECT_OK(plan_natural_gradient(narrow, {.n = 64, .blocks = 9}));
    EXPECT_TRUE(expect_error(plan_covariance(narrow, {.n = 200, .samples = 1}), ErrorKind::BadInput,
                             "the covariance view of [covariance]"));
}

}  // namespace
}  // namespace yolk

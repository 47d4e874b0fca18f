// SPDX-License-Identifier: Apache-2.0
// What every family of kernels must show on every device: its table of cases, each with the default configuration and
// with drawn ones, from buffers with two poisons between guard bands, has the bits of the exact twin and lies within
// the tolerance of the oracle.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/oracle/check.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {

/// Expectations of the case that moves the fewest bytes, but some; empty where no case moves any.
inline std::vector<oracle::Expected> smallest_expectations(const oracle::Family& family) {
    oracle::Problems problems = family.cases(1);
    std::erase_if(problems, [](const auto& problem) { return problem->work().bytes == 0.0; });
    const auto least =
        std::ranges::min_element(problems, {}, [](const auto& problem) { return problem->work().bytes; });
    return least == problems.end() ? std::vector<oracle::Expected>{} : (*least)->expected();
}

/// A table that expects nothing passes everything. A family may also hold its outputs against the oracle in verify(),
/// which shows in the error.
inline void expect_something_expected(const oracle::Family& family, const oracle::CheckReport& report) {
    const std::vector<oracle::Expected> expected = smallest_expectations(family);
    EXPECT_TRUE(report.worst_error > 0.0 ||
                std::ranges::any_of(expected, [](const auto& output) { return !output.oracle.empty(); }))
        << "nothing of " << family.name << " is compared with an oracle";
    const bool has_tolerant_kernels = std::string_view(family.exactness).find('T') != std::string_view::npos;
    EXPECT_TRUE(has_tolerant_kernels ||
                std::ranges::any_of(expected, [](const auto& output) { return !output.twin.empty(); }))
        << "nothing of " << family.name << " is compared with an exact twin";
}

/// The seed of driver `number` of `count` draws inputs and configurations: two drivers run twice as many. What GPUs
/// take by default they share.
inline void expect_family_matches(const Device& device, Dispatcher& dispatcher, const oracle::Family& family,
                                  std::uint32_t number = 0, std::uint32_t count = 1) {
    const oracle::CheckContext context{.device = device,
                                       .dispatcher = dispatcher,
                                       .seed = std::uint64_t{number} + 1,
                                       .configurations = 8,
                                       .gpus_part = number + 1,
                                       .gpus_parts = count};
    ASSERT_OK_AND_ASSIGN(const oracle::CheckReport report, oracle::check_family(context, family));
    EXPECT_THAT(report.failures, ::testing::IsEmpty());
    EXPECT_TRUE(report.passed());
    EXPECT_EQ(report.twin_mismatches, 0U);
    EXPECT_LE(report.worst_error, 1.0) << report.worst_case;
    expect_something_expected(family, report);
    // Integers and moved words are right or wrong.
    if (report.exactness == "E") {
        EXPECT_EQ(report.worst_error, 0.0) << report.worst_case;
    }
    ::testing::Test::RecordProperty("worst_error_in_tolerances", std::to_string(report.worst_error));
    ::testing::Test::RecordProperty("output_hash", report.output_hash);
}

}  // namespace yolk

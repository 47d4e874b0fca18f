// SPDX-License-Identifier: Apache-2.0
// The one test that every family of kernels needs: primitives.every_family.matches_oracle_and_twin/softmax_lavapipe and
// its like. A new family is found by itself; what is not a table of cases is in the test of its primitive.
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "family_matches.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using FamilyOnDevice = std::tuple<const oracle::Family*, std::string>;

class every_family : public ::testing::TestWithParam<FamilyOnDevice> {};

std::string family_and_device(const ::testing::TestParamInfo<FamilyOnDevice>& which) {
    return std::get<0>(which.param)->name + ("_" + std::get<1>(which.param));
}
INSTANTIATE_TEST_SUITE_P(, every_family,
                         ::testing::Combine(::testing::ValuesIn(oracle::families()),
                                            ::testing::ValuesIn(testing::devices())),
                         family_and_device);

TEST_P(every_family, matches_oracle_and_twin) {
    const auto& [family, driver] = GetParam();
    testing::SharedDevice& on = testing::shared_device(driver);
    const std::vector<std::string> drivers = testing::devices();
    const auto number = static_cast<std::uint32_t>(std::ranges::find(drivers, driver) - drivers.begin());
    expect_family_matches(on.device, on.dispatcher, *family, number, static_cast<std::uint32_t>(drivers.size()));
}

// Not one that compares with nothing: that of a kernel which nobody has filled in.
TEST(families, that_expect_nothing_do_not_pass) {
    static const oracle::Family nothing{.name = "nothing",
                                        .exactness = "P",
                                        .cases = [](std::uint64_t /*seed*/) { return oracle::Problems{}; },
                                        .benchmarks = nullptr};
    static const oracle::Family tolerant{
        .name = "tolerant", .exactness = "T", .cases = nothing.cases, .benchmarks = nullptr};
    static oracle::CheckReport with_oracle;
    with_oracle.worst_error = 0.5;
    EXPECT_NONFATAL_FAILURE(expect_something_expected(tolerant, {}), "nothing of tolerant is compared with an oracle");
    EXPECT_NONFATAL_FAILURE(expect_something_expected(nothing, with_oracle),
                            "nothing of nothing is compared with an exact twin");
}

// Twenty-eight there were when this became one test; a list that lost one would pass everything else.
TEST(families, are_all_there) { EXPECT_GE(oracle::families().size(), 28U); }

}  // namespace
}  // namespace yolk

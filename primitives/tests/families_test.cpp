// SPDX-License-Identifier: Apache-2.0
// The one test that every family of kernels needs: primitives.every_family.matches_oracle_and_twin/softmax_lavapipe and
// its like. A new family is found by itself; what is not a table of cases is in the test of its primitive.
#include <gmock/gmock.h>

#include <string>
#include <tuple>

#include "family_matches.hpp"
#include "yolk/oracle/families.hpp"
#include "yolk/testing/device_test.hpp"

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
    testing::SharedDevice& on = testing::shared_device(std::get<1>(GetParam()));
    expect_family_matches(on.device, on.dispatcher, *std::get<0>(GetParam()));
}

// Twenty-eight there were when this became one test; a list that lost one would pass everything else.
TEST(families, are_all_there) { EXPECT_GE(oracle::families().size(), 28U); }

}  // namespace
}  // namespace yolk

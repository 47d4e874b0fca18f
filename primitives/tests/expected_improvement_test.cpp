// SPDX-License-Identifier: Apache-2.0
#include "yolk/expected_improvement.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "yolk/exact/exact_improvement.h"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using testing::expect_error;

class expected_improvement : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(expected_improvement);

TEST_P(expected_improvement, bad_input_is_refused) {
    EXPECT_TRUE(expect_error(plan_expected_improvement(device(), {.count = 5, .stride = 4}), ErrorKind::BadInput,
                             "below its 5"));
    EXPECT_TRUE(
        expect_error(plan_expected_improvement(device(), {.count = 5, .stride = 5, .config = {{.workgroup_size = 7}}}),
                     ErrorKind::BadInput, "workgroup_size"));
    EXPECT_TRUE(expect_error(plan_expected_improvement(device(), {.count = 1, .stride = 1U << 31U, .steps = 1U << 31U}),
                             ErrorKind::BadInput, "the scores view of [expected_improvement]"));
}

// Relative, all the way down.
TEST(expected_improvement_host, the_tail_is_right) {
    for (int step = -640; step <= 384; ++step) {
        const double z = step / 64.0;
        const double density = std::exp(-0.5 * z * z) * 0.3989422804014327;
        // phi - a Q cancels; the continued fraction does not.
        double fraction = 0.0;
        for (int k = 400; k > 1; --k) fraction = k / (std::abs(z) + fraction);
        const double q = 1.0 / (std::abs(z) + fraction);
        const double tail = z == 0.0 ? density : density * q / (std::abs(z) + q);
        const double right =
            std::abs(z) < 0.5 ? z * 0.5 * std::erfc(-z / std::sqrt(2.0)) + density : std::max(z, 0.0) + tail;
        const double got = exact::exact_improvement(static_cast<float>(z));
        EXPECT_NEAR(got / right, 1.0, 6e-4) << z;
    }
    EXPECT_GE(exact::exact_improvement(-1e30F), 0x1p-100F);
    EXPECT_EQ(exact::exact_improvement(1e6F), 1e6F);
}

}  // namespace
}  // namespace yolk

// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/train/rank_devices.hpp"

#include <gmock/gmock.h>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk::train {
namespace {

using ::testing::ElementsAre;

TEST(rank_devices, are_dealt_among_the_ranks_of_a_machine) {
    EXPECT_THAT(dealt_devices(4, 0, 2), ElementsAre(0, 2));
    EXPECT_THAT(dealt_devices(4, 1, 2), ElementsAre(1, 3));
    EXPECT_THAT(dealt_devices(3, 1, 2), ElementsAre(1));
    EXPECT_THAT(dealt_devices(2, 1, 2), ElementsAre(1));
    EXPECT_THAT(dealt_devices(2, 2, 4), ElementsAre(0));
    EXPECT_THAT(dealt_devices(1, 3, 4), ElementsAre(0));
    EXPECT_THAT(dealt_devices(0, 3, 4), ElementsAre());
}

TEST(rank_devices, a_gpu_belongs_to_one_rank) {
    const DeviceClaim first{.rank = 0, .machine = 0, .uuid = "a", .name = "GPU A", .is_cpu = false};
    DeviceClaim second = first;
    EXPECT_TRUE(check_claims(std::vector{first, second}).has_value());  // one rank's own list
    second.rank = 1;
    EXPECT_TRUE(testing::expect_error(check_claims(std::vector{first, second}), ErrorKind::BadInput,
                                      "Ranks 0 and 1 both claim 'GPU A' of one machine"));
    second.machine = 1;
    EXPECT_TRUE(check_claims(std::vector{first, second}).has_value());
    second = {.rank = 1, .machine = 0, .uuid = "b", .name = "GPU B", .is_cpu = false};
    EXPECT_TRUE(check_claims(std::vector{first, second}).has_value());
    DeviceClaim processor{.rank = 0, .machine = 0, .uuid = "c", .name = "llvmpipe", .is_cpu = true};
    DeviceClaim other = processor;
    other.rank = 1;
    EXPECT_TRUE(check_claims(std::vector{processor, other}).has_value());
}

}  // namespace
}  // namespace yolk::train

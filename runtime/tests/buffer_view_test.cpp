// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "yolk/runtime/buffer.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk {
namespace {

using yolk::testing::expect_error;

using buffer_view = yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(buffer_view);

TEST_P(buffer_view, is_checked_for_range_alignment_and_size) {
    ASSERT_OK_AND_ASSIGN(const Buffer of, device().create_buffer({.size_bytes = 1000, .label = "weights"}));
    const char* what = "the out view of [noise]";
    EXPECT_OK(check_view(of, 1000, 1000, what));
    EXPECT_OK(check_view({of, 768, 232}, 232, 1000, what));
    EXPECT_OK(check_view({}, 0, 1000, what));
    EXPECT_OK(check_view({of, 0, 0}, 0, 1000, what));
    const struct {
        BufferView view;
        std::uint64_t needed, limit;
        const char* message;
    } refused[] = {
        {{}, 4, 1000, "Cannot use the out view of [noise]: it is empty, 4 bytes are needed."},
        {{of, 0, 1001}, 4, 2000, "1001 bytes at offset 0 reach past the end of the buffer [weights] of 1000 bytes"},
        {{of, 768, 233}, 4, 2000, "reach past the end"},
        {{of, 1024, 1}, 1, 2000, "reach past the end"},
        {{of, UINT64_MAX - 255, 512}, 4, 2000, "reach past the end"},  // their sum wraps to 256
        {{of, 256, UINT64_MAX}, 4, 2000, "reach past the end"},
        {{of, 128, 100}, 4, 1000, "offset 128 in the buffer [weights] is not a multiple of 256"},
        {{of, 0, 100}, 104, 1000, "it has 100 bytes of the buffer [weights], 104 are needed"},
        {{of, 0, 1000}, 4, 999, "above the device's limit of 999"},
    };
    for (const auto& [view, needed, limit, message] : refused) {
        EXPECT_TRUE(expect_error(check_view(view, needed, limit, what), ErrorKind::BadInput, message));
    }
    BufferView homeless;
    homeless.size_bytes = 4;
    EXPECT_TRUE(expect_error(check_view(homeless, 4, 1000, what), ErrorKind::BadInput, "no buffer"));
}

TEST_P(buffer_view, overlap_is_of_bytes_in_one_buffer) {
    ASSERT_OK_AND_ASSIGN(const Buffer a, device().create_buffer({.size_bytes = 1000, .label = "a"}));
    ASSERT_OK_AND_ASSIGN(const Buffer b, device().create_buffer({.size_bytes = 1000, .label = "b"}));
    EXPECT_TRUE(overlap(a, a));
    EXPECT_FALSE(overlap(a, b));
    EXPECT_FALSE(overlap({a, 0, 256}, {a, 256, 256}));
    EXPECT_FALSE(overlap({a, 256, 256}, {a, 0, 256}));
    EXPECT_TRUE(overlap({a, 0, 257}, {a, 256, 256}));
    EXPECT_TRUE(overlap({a, 300, 1}, {a, 256, 256}));
    EXPECT_FALSE(overlap({a, 256, 0}, {a, 0, 1000}));
    EXPECT_FALSE(overlap({a, UINT64_MAX - 1, 4}, {a, 0, 4}));
    EXPECT_FALSE(overlap({}, {}));
}

TEST_P(buffer_view, overlap_is_refused_where_something_is_written) {
    ASSERT_OK_AND_ASSIGN(const Buffer a, device().create_buffer({.size_bytes = 1024, .label = "a"}));
    const BufferView low(a, 0, 512);
    const BufferView high(a, 512, 512);
    const std::array both{low, high};
    const std::array twice{low, low};
    EXPECT_OK(check_no_overlap(both, {}, "[noise]"));
    EXPECT_OK(check_no_overlap({}, twice, "[noise]"));  // inputs may be one
    EXPECT_TRUE(expect_error(check_no_overlap(twice, {}, "[noise]"), ErrorKind::BadInput,
                             "[noise]: output 0 shares bytes of the buffer [a] with output 1"));
    EXPECT_TRUE(expect_error(check_no_overlap(std::span(&high, 1), both, "[noise]"), ErrorKind::BadInput,
                             "output 0 shares bytes of the buffer [a] with input 1"));
}

}  // namespace
}  // namespace yolk

// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>
#include <vector>

#include "noise_work.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/internal/testing/device_test.hpp"

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

// As in a std::vector that grows, or a struct that is returned.
TEST_P(buffer_view, stays_valid_where_its_buffer_object_is_moved) {
    constexpr std::uint32_t kMovedInts = 100;
    for (const bool discrete : {false, true}) {
        const Device& on = discrete ? discrete_device() : device();
        Dispatcher& through = discrete ? discrete_dispatcher() : dispatcher();
        std::vector<Buffer> buffers;
        std::vector<BufferView> views;
        for (int i = 0; i < 4; ++i) {
            ASSERT_OK_AND_ASSIGN(Buffer made, on.create_buffer({.size_bytes = 4 * kMovedInts, .label = "moved"}));
            views.emplace_back(made);
            buffers.push_back(std::move(made));
        }
        Buffer last = std::move(buffers.back());
        buffers.pop_back();
        ASSERT_OK_AND_ASSIGN(const NoiseBinding binding, bind_noise(on, views[0]));
        Buffer first = std::move(buffers[0]);
        const std::vector<std::int32_t> given(kMovedInts, 7);
        ASSERT_OK(through.upload(views[1], std::as_bytes(std::span(given))));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(on));
        recorder.dispatch(binding, noise_params(0, kMovedInts), noise_groups(kMovedInts));
        recorder.copy(views[1], views[2]);
        recorder.fill(views[3], 9);
        ASSERT_OK(through.run(recorder));
        for (const auto& [view, expected] :
             {std::pair(views[0], expected_noise(0, kMovedInts)), std::pair(views[2], given),
              std::pair(views[3], std::vector<std::int32_t>(kMovedInts, 9))}) {
            ASSERT_OK_AND_ASSIGN(const auto values, download_ints(through, view, kMovedInts));
            EXPECT_EQ(values, expected);
        }
        EXPECT_TRUE(overlap(views[0], first));
        EXPECT_TRUE(overlap(views[3], last));
        EXPECT_FALSE(overlap(views[0], last));
        EXPECT_TRUE(expect_error(check_view(views[3].part(256, 4 * kMovedInts), 4, 1000, "the view"),
                                 ErrorKind::BadInput, "past the end of the buffer [moved]"));
    }
}

TEST_P(buffer_view, parts_and_mappings_are_those_of_its_range) {
    ASSERT_OK_AND_ASSIGN(
        const Buffer of,
        device().create_buffer({.size_bytes = 1024, .domain = MemoryDomain::Readback, .label = "readback"}));
    const BufferView view(of, 256, 512);
    const BufferView part = view.part(128, 64);
    EXPECT_EQ(part.offset_bytes, 384U);
    EXPECT_EQ(part.size_bytes, 64U);
    EXPECT_EQ(part.buffer, view.buffer);
    EXPECT_EQ(part.mapped().data(), of.mapped().data() + 384);
    EXPECT_EQ(part.mapped().size(), 64U);
    EXPECT_TRUE(view.part(256, 1024).mapped().empty()) << "it leaves the buffer";
    EXPECT_TRUE(BufferView().mapped().empty());
    ASSERT_OK_AND_ASSIGN(const Buffer unmapped, discrete_device().create_buffer({.size_bytes = 16, .label = "device"}));
    EXPECT_TRUE(BufferView(unmapped).mapped().empty());
}

}  // namespace
}  // namespace yolk

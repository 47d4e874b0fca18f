// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "binding_impl.hpp"
#include "noise_work.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using yolk::testing::expect_error;

using kernel_binding = yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(kernel_binding);

TEST_P(kernel_binding, refuses_what_does_not_fit_the_kernel) {
    ASSERT_OK_AND_ASSIGN(const auto pipeline, device().pipeline(kernels::kNoiseI32, {}));
    ASSERT_OK_AND_ASSIGN(const Buffer good, device().create_buffer({.size_bytes = 1024, .label = "good"}));
    ASSERT_OK_AND_ASSIGN(const Buffer foreign,
                         discrete_device().create_buffer({.size_bytes = 1024, .label = "foreign"}));
    using Views = std::vector<BufferView>;
    const struct {
        Views views;
        const char* message;
    } refused[] = {
        {{}, "the kernel [noise_i32]: it has 1 bindings, 0 views were given"},
        {{good, good}, "2 views were given"},
        {{BufferView()}, "binding 0 (storage) of the kernel [noise_i32]: it is empty"},
        {{{good, 4, 256}}, "binding 0 (storage) of the kernel [noise_i32]: its offset 4"},
        {{{good, 0, 1025}}, "reach past the end of the buffer [good]"},
        {{foreign}, "the buffer [foreign] was made by another device"},
    };
    for (const auto& [views, message] : refused) {
        EXPECT_TRUE(expect_error(device().bind(pipeline, views), ErrorKind::BadInput, message));
    }
    EXPECT_TRUE(expect_error(device().bind(PipelineHandle{}, Views{good}), ErrorKind::BadInput,
                             "the pipeline handle is empty"));
    EXPECT_TRUE(expect_error(discrete_device().bind(pipeline, Views{foreign}), ErrorKind::BadInput,
                             "belongs to another device"));
    EXPECT_OK(device().bind(pipeline, Views{good}));
}

TEST_P(kernel_binding, refuses_ranges_above_the_limits) {
    // The noise kernel writes its buffer, so its binding is only taken for a uniform one here, never dispatched or
    // compiled as such: layouts come from the module's description.
    const DeviceLimits& limits = device().info().limits;
    ASSERT_OK_AND_ASSIGN(const auto storage, device().pipeline(kernels::kNoiseI32, {}));
    const std::uint64_t size = limits.max_storage_buffer_range + 4;
    if (size <= (std::uint64_t{256} << 20U)) {  // SwiftShader's is 1 GiB: not worth its memory
        ASSERT_OK_AND_ASSIGN(const Buffer large, device().create_buffer({.size_bytes = size, .label = "large"}));
        const BufferView view = large;
        EXPECT_TRUE(
            expect_error(device().bind(storage, std::span(&view, 1)), ErrorKind::BadInput, "above the device's limit"));
    }
    Pipeline uniform = *static_cast<const Pipeline*>(storage.handle.impl);
    uniform.signature.kinds.uniform_mask = 1;
    ASSERT_OK_AND_ASSIGN(const Buffer block,
                         device().create_buffer({.size_bytes = limits.max_uniform_buffer_range + 4, .label = "block"}));
    const BufferView view = block;
    EXPECT_TRUE(expect_error(device().bind(PipelineHandle{&uniform}, std::span(&view, 1)), ErrorKind::BadInput,
                             "binding 0 (uniform) of the kernel [noise_i32]"));
    Pipeline texel = *static_cast<const Pipeline*>(storage.handle.impl);
    texel.signature.kinds.texel_mask = 1;
    const std::uint64_t texel_bytes = std::uint64_t{4} * limits.max_texel_buffer_elements + 4;
    if (texel_bytes <= (std::uint64_t{1} << 20U)) {  // SwiftShader's are 256 KiB, lavapipe's 512 MiB
        ASSERT_OK_AND_ASSIGN(const Buffer large,
                             device().create_buffer({.size_bytes = texel_bytes, .label = "texels"}));
        const BufferView too_large = large;
        EXPECT_TRUE(expect_error(device().bind(PipelineHandle{&texel}, std::span(&too_large, 1)), ErrorKind::BadInput,
                                 "binding 0 (texel) of the kernel [noise_i32]"));
    }
}

TEST_P(kernel_binding, many_at_once_and_again) {
    ASSERT_OK_AND_ASSIGN(const Buffer out, device().create_buffer({.size_bytes = 256 * 300, .label = "out"}));
    for (int round = 0; round < 2; ++round) {
        std::vector<NoiseBinding> bindings;
        for (std::uint32_t i = 0; i < 300; ++i) {  // more than a pool holds
            ASSERT_OK_AND_ASSIGN(auto made, bind_noise(device(), {out, 256 * i, 256}));
            bindings.push_back(std::move(made));
        }
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
        for (std::uint32_t i = 0; i < 300; ++i) recorder.dispatch(bindings[i], noise_params(i, 64), noise_groups(64));
        ASSERT_OK(dispatcher().run(recorder));
        ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher(), {out, 256 * 299, 256}, 64));
        EXPECT_EQ(got, expected_noise(299, 64));
    }
}

}  // namespace
}  // namespace yolk

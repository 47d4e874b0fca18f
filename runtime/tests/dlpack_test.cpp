// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/dlpack.hpp"

#include <array>
#include <cstddef>

#include "dlpack_abi.hpp"
#include "noise_work.hpp"
#include "yolk/internal/testing/device_test.hpp"
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif

namespace yolk {
namespace {

using yolk::testing::expect_error;

const dlpack_abi::Tensor& tensor_of(const DLManagedTensor* tensor) {
    return reinterpret_cast<const dlpack_abi::ManagedTensor*>(tensor)->dl_tensor;
}

// By the specification on a machine with pointers of 64 bits.
static_assert(offsetof(dlpack_abi::Tensor, device) == 8 && offsetof(dlpack_abi::Tensor, ndim) == 16 &&
              offsetof(dlpack_abi::Tensor, dtype) == 20 && offsetof(dlpack_abi::Tensor, shape) == 24 &&
              offsetof(dlpack_abi::Tensor, strides) == 32 && offsetof(dlpack_abi::Tensor, byte_offset) == 40 &&
              sizeof(dlpack_abi::Tensor) == 48 && sizeof(dlpack_abi::ManagedTensor) == 64);
#if __has_include(<dlpack/dlpack.h>)
static_assert(sizeof(DLManagedTensor) == sizeof(dlpack_abi::ManagedTensor) &&
              offsetof(DLTensor, device) == offsetof(dlpack_abi::Tensor, device) &&
              offsetof(DLTensor, ndim) == offsetof(dlpack_abi::Tensor, ndim) &&
              offsetof(DLTensor, dtype) == offsetof(dlpack_abi::Tensor, dtype) &&
              offsetof(DLTensor, shape) == offsetof(dlpack_abi::Tensor, shape) &&
              offsetof(DLTensor, strides) == offsetof(dlpack_abi::Tensor, strides) &&
              offsetof(DLTensor, byte_offset) == offsetof(dlpack_abi::Tensor, byte_offset) &&
              offsetof(DLDataType, lanes) == offsetof(dlpack_abi::DataType, lanes) &&
              offsetof(DLManagedTensor, deleter) == offsetof(dlpack_abi::ManagedTensor, deleter));
static_assert(kDLCPU == static_cast<int>(DlpackDevice::Cpu) && kDLCUDA == static_cast<int>(DlpackDevice::Cuda) &&
              kDLInt == 0 && kDLUInt == 1 && kDLFloat == 2);
#endif

TEST(dlpack, fields_are_those_of_the_specification) {
    std::array<std::byte, 256> memory{};
    auto keep = std::make_shared<int>(1);
    const std::weak_ptr<int> alive = keep;
    ASSERT_OK_AND_ASSIGN(
        DLManagedTensor* const made,
        make_dlpack({.data = memory.data(), .size_bytes = 256, .device = DlpackDevice::Cuda, .device_id = 3},
                    {.dtype = DType::F32, .shape = {2, 3, 5}, .offset_bytes = 128}, std::move(keep)));
    const dlpack_abi::Tensor& tensor = tensor_of(made);
    EXPECT_EQ(tensor.data, memory.data() + 128);
    EXPECT_EQ(tensor.byte_offset, 0U);
    EXPECT_EQ(tensor.device.device_type, 2);
    EXPECT_EQ(tensor.device.device_id, 3);
    ASSERT_EQ(tensor.ndim, 3);
    EXPECT_EQ(std::vector(tensor.shape, tensor.shape + 3), (std::vector<std::int64_t>{2, 3, 5}));
    EXPECT_EQ(std::vector(tensor.strides, tensor.strides + 3), (std::vector<std::int64_t>{15, 5, 1}));
    EXPECT_FALSE(alive.expired());
    delete_dlpack(made);
    EXPECT_TRUE(alive.expired());
    delete_dlpack(nullptr);
}

TEST(dlpack, types_have_their_codes) {
    struct Expected {
        DType dtype;
        int code, bits;
    };
    for (const Expected& expected : {Expected{DType::F32, 2, 32}, Expected{DType::I32, 0, 32},
                                     Expected{DType::U32, 1, 32}, Expected{DType::I8, 0, 8}}) {
        ASSERT_OK_AND_ASSIGN(DLManagedTensor* const made,
                             make_dlpack({}, {.dtype = expected.dtype, .shape = {0, 7}}, {}));
        EXPECT_EQ(tensor_of(made).dtype.code, expected.code);
        EXPECT_EQ(tensor_of(made).dtype.bits, expected.bits);
        EXPECT_EQ(tensor_of(made).dtype.lanes, 1);
        EXPECT_EQ(tensor_of(made).device.device_type, 1);
        delete_dlpack(made);
    }
}

TEST(dlpack, what_does_not_lie_in_the_memory_is_refused) {
    std::array<std::byte, 64> memory{};
    const auto refused = [&](std::vector<std::int64_t> shape, std::uint64_t offset, const char* part) {
        return expect_error(make_dlpack({.data = memory.data(), .size_bytes = 64},
                                        {.shape = std::move(shape), .offset_bytes = offset}, {}),
                            ErrorKind::BadInput, part);
    };
    EXPECT_TRUE(refused({17}, 0, "shape [17] does not fit into the memory, which has room for 16"));
    EXPECT_TRUE(refused({4, 4}, 4, "room for 15"));
    EXPECT_TRUE(refused({INT64_MAX, INT64_MAX}, 0, "does not fit"));
    EXPECT_TRUE(refused({2, -1}, 0, "negative dimension"));
    EXPECT_TRUE(refused({1}, 2, "cannot begin at byte 2"));
    EXPECT_TRUE(refused({}, 68, "cannot begin at byte 68"));
    EXPECT_TRUE(refused({}, 64, "does not fit"));
}

// No element lies in the memory, but the strides must be numbers all the same.
TEST(dlpack, shapes_without_elements_have_strides) {
    constexpr std::int64_t kLarge = std::int64_t{1} << 40U;
    const auto made = [](std::vector<std::int64_t> shape) { return make_dlpack({}, {.shape = std::move(shape)}, {}); };
    ASSERT_OK_AND_ASSIGN(DLManagedTensor* const tensor, made({3, 0, 5, kLarge}));
    const std::int64_t* const strides = tensor_of(tensor).strides;
    EXPECT_EQ(std::vector(strides, strides + 4), (std::vector<std::int64_t>{5 * kLarge, 5 * kLarge, kLarge, 1}));
    delete_dlpack(tensor);
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{0, kLarge, kLarge}, {kLarge, 0, kLarge}, {kLarge, kLarge, 0}}) {
        EXPECT_TRUE(expect_error(made(shape), ErrorKind::BadInput, "has no elements, but strides that pass 2^63 - 1"));
    }
    EXPECT_TRUE(expect_error(made({0, -1}), ErrorKind::BadInput, "negative dimension"));
    ASSERT_OK_AND_ASSIGN(DLManagedTensor* const largest, made({0, INT64_MAX}));
    delete_dlpack(largest);
}

class mapped_dlpack_view : public yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(mapped_dlpack_view);

TEST_P(mapped_dlpack_view, shows_what_a_kernel_wrote_and_keeps_the_buffer) {
    constexpr std::uint32_t kShown = 96;
    ASSERT_OK_AND_ASSIGN(
        Buffer made,
        device().create_buffer({.size_bytes = kShown * 4, .domain = MemoryDomain::Readback, .label = "out"}));
    auto buffer = std::make_shared<const Buffer>(std::move(made));
    ASSERT_OK_AND_ASSIGN(const NoiseBinding noise, bind_noise(device(), *buffer));
    {
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
        recorder.dispatch(noise, noise_params(4, kShown), noise_groups(kShown));
        recorder.barrier(Barrier::ToHost);
        ASSERT_OK(dispatcher().run(recorder));
        ASSERT_OK(buffer->invalidate());
    }
    ASSERT_OK_AND_ASSIGN(DLManagedTensor* const view, mapped_dlpack(buffer, {.dtype = DType::I32, .shape = {8, 12}}));
    const std::weak_ptr<const Buffer> alive = buffer;
    buffer.reset();
    ASSERT_FALSE(alive.expired());
    const auto* numbers = static_cast<const std::int32_t*>(tensor_of(view).data);
    EXPECT_EQ(std::vector(numbers, numbers + kShown), expected_noise(4, kShown));
    delete_dlpack(view);
    EXPECT_TRUE(alive.expired());
}

TEST_P(mapped_dlpack_view, needs_a_mapping) {
    ASSERT_OK_AND_ASSIGN(Buffer made, discrete_device().create_buffer({.size_bytes = 64, .label = "own"}));
    EXPECT_TRUE(expect_error(mapped_dlpack(std::make_shared<const Buffer>(std::move(made)), {.shape = {4}}),
                             ErrorKind::Unsupported, "[own] is not mapped"));
    EXPECT_TRUE(expect_error(mapped_dlpack(nullptr, {.shape = {4}}), ErrorKind::BadInput, "no buffer"));
}

}  // namespace
}  // namespace yolk

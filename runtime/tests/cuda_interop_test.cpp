// SPDX-License-Identifier: Apache-2.0
// The pure decisions; sharing with CUDA where it is there, else its error; and, in a build with CUDA's headers, every
// call against a library that stands in for NVIDIA's (fake_cuda/), on memory that SwiftShader really shares.
#include "yolk/cuda.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "cuda_match.hpp"
#include "dlpack_abi.hpp"
#include "fake_cuda/fake_cuda.hpp"
#include "gpu_tables.hpp"
#include "noise_work.hpp"
#include "second_device.hpp"

namespace yolk {
namespace {

using yolk::testing::expect_error;

const CudaDeviceName kFirstGpu{.name = "first", .uuid = "5a1c6f7e00112233445566778899aab0"};
const CudaDeviceName kSecondGpu{.name = "second", .uuid = "5a1c6f7e00112233445566778899aab1"};

TEST(cuda_match, a_device_is_found_by_its_uuid) {
    const std::vector<CudaDeviceName> listed{kSecondGpu, kFirstGpu};
    ASSERT_OK_AND_ASSIGN(const std::size_t found, match_cuda_device(tables::geforce_3080(0), listed));
    EXPECT_EQ(found, 1U);
    EXPECT_TRUE(expect_error(match_cuda_device(tables::geforce_3080(5), listed), ErrorKind::Unsupported,
                             "It has: 0 'second' (5a1c6f7e00112233445566778899aab1), 1 'first'"));
    EXPECT_TRUE(expect_error(match_cuda_device(tables::geforce_3080(5), {}), ErrorKind::Unsupported, "It has: none."));
    const unsigned char bytes[16] = {0, 1, 0xFE, 0x10};
    EXPECT_EQ(uuid_text(std::as_bytes(std::span(bytes))), "0001fe10000000000000000000000000");
}

TEST(cuda_match, only_opaque_memory_of_that_device_is_taken) {
    MemoryHandle handle{.buffer_bytes = 100, .allocation_bytes = 256, .origin = {.device_uuid = kFirstGpu.uuid}};
    EXPECT_OK(check_for_cuda(handle, kFirstGpu));
    EXPECT_TRUE(
        expect_error(check_for_cuda(handle, kSecondGpu), ErrorKind::BadInput, "cannot import a buffer's memory"));
    handle.type = HandleType::DmaBuf;
    EXPECT_TRUE(expect_error(check_for_cuda(handle, kFirstGpu), ErrorKind::BadInput, "memory from dma-buf"));
    handle.type = HandleType::OpaqueFd;
    handle.buffer_bytes = 257;
    EXPECT_TRUE(
        expect_error(check_for_cuda(handle, kFirstGpu), ErrorKind::BadInput, "257 bytes in an allocation of 256"));
    handle.buffer_bytes = 0;
    EXPECT_TRUE(expect_error(check_for_cuda(handle, kFirstGpu), ErrorKind::BadInput, "1 at least"));
    EXPECT_OK(check_cuda_range(3, 5, 8));
    EXPECT_TRUE(expect_error(check_cuda_range(4, 5, 8), ErrorKind::BadInput, "reach past the end"));
    EXPECT_TRUE(expect_error(check_cuda_range(UINT64_MAX, 2, 8), ErrorKind::BadInput, "reach past the end"));
}

class cuda_interop : public yolk::testing::DeviceTest {
   protected:
    static constexpr std::uint32_t kNumbers = 300;

    /// By a submission that signals 1 and one that waits for 2.
    [[nodiscard]] Result<Submission> write_and_signal(const Buffer& buffer, const SharedTimeline& steps) {
        YOLK_TRY(noise_, bind_noise(device(), buffer));
        YOLK_TRY(writer_, Recorder::create(device(), {.label = "writer"}));
        writer_->dispatch(*noise_, noise_params(4, kNumbers), noise_groups(kNumbers));
        release_shared(*writer_, buffer);
        const TimelinePoint one{&steps, 1};
        return submit(dispatcher(), *writer_, {.signal_after = {&one, 1}});
    }
    [[nodiscard]] Result<Submission> wait_and_acquire(const Buffer& buffer, const SharedTimeline& steps) {
        YOLK_TRY(reader_, Recorder::create(device(), {.label = "reader"}));
        acquire_shared(*reader_, buffer);
        const TimelinePoint two{&steps, 2};
        return submit(dispatcher(), *reader_, {.wait_before = {&two, 1}});
    }
    std::optional<NoiseBinding> noise_;  ///< outlives the recorders, which wait for their work as they go
    std::optional<Recorder> writer_, reader_;
};
YOLK_FOR_EACH_DEVICE(cuda_interop);

/// Where CUDA is not there, or has not this device, that is what the error says.
void expect_refusal(const Device& device, const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::Unsupported);
    const Result<CudaDevice> refused = error;
#ifdef YOLK_HAS_CUDA_HEADERS
    if (::dlopen("libcuda.so.1", RTLD_NOW) == nullptr) {
        EXPECT_TRUE(expect_error(refused, ErrorKind::Unsupported, "CUDA's library cannot be loaded: libcuda.so.1: "));
        EXPECT_TRUE(expect_error(refused, ErrorKind::Unsupported, "It comes with NVIDIA's driver."));
    } else {
        EXPECT_NE(device.info().driver_name, "NVIDIA") << "CUDA should have this device: " << error.message;
        EXPECT_TRUE(expect_error(refused, ErrorKind::Unsupported, "CUDA"));
    }
#else
    EXPECT_TRUE(expect_error(refused, ErrorKind::Unsupported, "This build of Yolk has no CUDA"));
    static_cast<void>(device);
#endif
}

// On a CPU driver the refusal; on an NVIDIA GPU what examples/12_share_memory.cpp shows, and back.
TEST_P(cuda_interop, shares_bytes_and_order_both_ways_or_says_why_not) {
    const Result<CudaDevice> cuda = CudaDevice::open(device());
    if (!cuda) return expect_refusal(device(), cuda.error());
    ASSERT_OK_AND_ASSIGN(const Buffer buffer,
                         create_exportable_buffer(device(), {.size_bytes = kNumbers * 4, .label = "shared"}));
    ASSERT_OK_AND_ASSIGN(const MemoryHandle handle, export_memory(buffer));
    ASSERT_OK_AND_ASSIGN(const CudaBuffer there, CudaBuffer::import(*cuda, handle));
    ASSERT_OK_AND_ASSIGN(const SharedTimeline steps,
                         SharedTimeline::create(device(), {.exportable = true, .label = "steps"}));
    ASSERT_OK_AND_ASSIGN(const TimelineHandle steps_handle, steps.export_handle());
    ASSERT_OK_AND_ASSIGN(const CudaTimeline steps_there, CudaTimeline::import(*cuda, steps_handle));

    ASSERT_OK_AND_ASSIGN(const Submission written, write_and_signal(buffer, steps));
    ASSERT_OK(steps_there.wait(1));
    std::vector<std::int32_t> numbers(kNumbers);
    ASSERT_OK(there.download(0, std::as_writable_bytes(std::span(numbers))));
    EXPECT_EQ(numbers, expected_noise(4, kNumbers));
    ASSERT_OK(dispatcher().wait(written));

    ASSERT_OK_AND_ASSIGN(const Submission acquired, wait_and_acquire(buffer, steps));
    ASSERT_OK_AND_ASSIGN(const bool early, dispatcher().poll(acquired));
    EXPECT_FALSE(early);
    for (std::int32_t& number : numbers) number = 1000 - number;
    ASSERT_OK(there.upload(0, std::as_bytes(std::span(numbers))));
    ASSERT_OK(steps_there.signal(2));
    ASSERT_OK(dispatcher().wait(acquired));
    ASSERT_OK_AND_ASSIGN(const auto seen, download_ints(dispatcher(), buffer, kNumbers));
    EXPECT_EQ(seen, numbers);
    ASSERT_OK_AND_ASSIGN(DLManagedTensor* const tensor, there.dlpack({.dtype = DType::I32, .shape = {kNumbers}}));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(reinterpret_cast<dlpack_abi::ManagedTensor*>(tensor)->dl_tensor.data),
              there.address());
    delete_dlpack(tensor);
}

#ifdef YOLK_HAS_CUDA_HEADERS
TEST_P(cuda_interop, a_library_that_is_not_cudas_is_refused) {
    EXPECT_TRUE(expect_error(CudaDevice::open(device(), {.library = "libm.so.6"}), ErrorKind::Unsupported,
                             "CUDA's library libm.so.6 has no function cuInit"));
}

/// The stand-in, whose second device has SwiftShader's UUID. It maps what is exported as a file that begins with the
/// memory, which that of other drivers does not.
class faked_cuda : public ::testing::Test {
   protected:
    void SetUp() override {
        for (const std::string& name : yolk::testing::devices()) {
            auto& one = yolk::testing::shared_device(name);
            if (one.device.info().driver_name == "SwiftShader driver") shared_ = &one;
        }
        if (shared_ == nullptr) GTEST_SKIP() << "SwiftShader is not among the drivers of this run.";
        void* const library = ::dlopen(YOLK_FAKE_CUDA, RTLD_NOW);
        ASSERT_NE(library, nullptr) << ::dlerror();
        state_ = reinterpret_cast<FakeCudaState* (*)()>(::dlsym(library, "fake_cuda_state"))();
        *state_ = {};
        state_->device_count = 2;
        const std::string& uuid = shared().device.info().uuid;
        for (std::size_t i = 0; i < 16; ++i)
            state_->uuid[i] = static_cast<unsigned char>(std::stoul(uuid.substr(2 * i, 2), nullptr, 16));
    }
    void TearDown() override {
        if (state_ == nullptr) return;
        EXPECT_EQ(state_->memories, 0);
        EXPECT_EQ(state_->mappings, 0);
        EXPECT_EQ(state_->semaphores, 0);
        EXPECT_EQ(state_->contexts, 0);
        EXPECT_EQ(state_->pushed, 0);
    }
    [[nodiscard]] yolk::testing::SharedDevice& shared() const { return *shared_; }
    [[nodiscard]] Result<CudaDevice> open() const {
        return CudaDevice::open(shared().device, {.library = YOLK_FAKE_CUDA});
    }
    yolk::testing::SharedDevice* shared_ = nullptr;
    FakeCudaState* state_ = nullptr;
};

TEST_F(faked_cuda, both_sides_see_the_same_bytes) {
    constexpr std::uint32_t kNumbers = 300;
    auto& [device, dispatcher] = shared();
    ASSERT_OK_AND_ASSIGN(const Buffer buffer,
                         create_exportable_buffer(device, {.size_bytes = kNumbers * 4, .label = "shared"}));
    const std::ptrdiff_t before = open_descriptors();  // with that of the driver
    ASSERT_OK_AND_ASSIGN(const NoiseBinding noise, bind_noise(device, buffer));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device));
    recorder.dispatch(noise, noise_params(2, kNumbers), noise_groups(kNumbers));
    release_shared(recorder, buffer);
    ASSERT_OK(dispatcher.run(recorder));
    DLManagedTensor* tensor = nullptr;
    {
        ASSERT_OK_AND_ASSIGN(const MemoryHandle handle, export_memory(buffer));
        ASSERT_OK_AND_ASSIGN(const CudaDevice cuda, open());
        EXPECT_EQ(cuda.ordinal(), 1);
        EXPECT_EQ(cuda.name(), "fake second");
        ASSERT_OK_AND_ASSIGN(const CudaBuffer there, CudaBuffer::import(cuda, handle));
        EXPECT_EQ(state_->memory_flags, 1U) << "CUDA_EXTERNAL_MEMORY_DEDICATED";
        EXPECT_EQ(state_->memory_bytes, handle.allocation_bytes);
        EXPECT_EQ(there.size_bytes(), kNumbers * 4);
        std::vector<std::int32_t> got(kNumbers);
        ASSERT_OK(there.download(0, std::as_writable_bytes(std::span(got))));
        EXPECT_EQ(got, expected_noise(2, kNumbers));
        const std::array<std::int32_t, 2> written{11, -12};
        ASSERT_OK(there.upload(8, std::as_bytes(std::span(written))));
        ASSERT_OK_AND_ASSIGN(const auto seen, download_ints(dispatcher, {buffer, 8, 8}, 2));
        EXPECT_EQ(seen, (std::vector<std::int32_t>{11, -12}));
        EXPECT_TRUE(expect_error(there.upload(kNumbers * 4 - 4, std::as_bytes(std::span(written))), ErrorKind::BadInput,
                                 "reach past the end"));
        ASSERT_OK_AND_ASSIGN(tensor, there.dlpack({.dtype = DType::I32, .shape = {kNumbers}}));
    }
    EXPECT_EQ(state_->memories, 1) << "the tensor keeps what it shows";
    delete_dlpack(tensor);
    EXPECT_EQ(open_descriptors(), before);
}

TEST_F(faked_cuda, timelines_are_waited_for_and_signalled) {
    const Descriptor pretended(::dup(0));
    const std::ptrdiff_t before = open_descriptors();
    {
        ASSERT_OK_AND_ASSIGN(const CudaDevice cuda, open());
        TimelineHandle handle{.fd = Descriptor(::dup(pretended.get())),
                              .origin = {.device_uuid = shared().device.info().uuid}};
        ASSERT_OK_AND_ASSIGN(const CudaTimeline timeline, CudaTimeline::import(cuda, handle));
        ASSERT_OK(timeline.wait(7));
        ASSERT_OK(timeline.signal(8));
        EXPECT_EQ(state_->waited, 7U);
        EXPECT_EQ(state_->signalled, 8U);
        handle.origin.device_uuid = "ff";
        EXPECT_TRUE(
            expect_error(CudaTimeline::import(cuda, handle), ErrorKind::BadInput, "a timeline semaphore, which"));
        handle.origin.device_uuid = shared().device.info().uuid;
        handle.fd.close();
        EXPECT_TRUE(expect_error(CudaTimeline::import(cuda, handle), ErrorKind::BadInput, "is not open"));
    }
    EXPECT_EQ(open_descriptors(), before);
}

TEST_F(faked_cuda, what_was_moved_from_is_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer,
                         create_exportable_buffer(shared().device, {.size_bytes = 512, .label = "shared"}));
    ASSERT_OK_AND_ASSIGN(const MemoryHandle handle, export_memory(buffer));
    const TimelineHandle timeline_handle{.fd = Descriptor(::dup(handle.fd.get())), .origin = handle.origin};
    ASSERT_OK_AND_ASSIGN(CudaDevice cuda, open());
    ASSERT_OK_AND_ASSIGN(CudaBuffer memory, CudaBuffer::import(cuda, handle));
    ASSERT_OK_AND_ASSIGN(CudaTimeline timeline, CudaTimeline::import(cuda, timeline_handle));
    const CudaTimeline timeline_now(std::move(timeline));
    const CudaBuffer memory_now(std::move(memory));
    const CudaDevice cuda_now(std::move(cuda));
    const auto refused = [](const auto& result, const char* part) {
        return expect_error(result, ErrorKind::BadInput, part);
    };
    // NOLINTBEGIN(bugprone-use-after-move): that is what is tested
    EXPECT_EQ(cuda.ordinal(), -1);
    EXPECT_EQ(cuda.name(), "no device");
    EXPECT_TRUE(refused(CudaBuffer::import(cuda, handle), "the CUDA device was moved from"));
    EXPECT_TRUE(refused(CudaTimeline::import(cuda, timeline_handle), "the CUDA device was moved from"));
    EXPECT_EQ(memory.address(), 0U);
    EXPECT_EQ(memory.size_bytes(), 0U);
    std::array<std::byte, 4> bytes{};
    EXPECT_TRUE(refused(memory.upload(0, bytes), "the CUDA buffer was moved from"));
    EXPECT_TRUE(refused(memory.download(0, bytes), "the CUDA buffer was moved from"));
    EXPECT_TRUE(refused(memory.dlpack({}), "the CUDA buffer was moved from"));
    EXPECT_TRUE(refused(timeline.wait(1), "the CUDA timeline was moved from"));
    EXPECT_TRUE(refused(timeline.signal(1), "the CUDA timeline was moved from"));
    // NOLINTEND(bugprone-use-after-move)
    EXPECT_EQ(memory_now.size_bytes(), 512U);
    EXPECT_EQ(cuda_now.ordinal(), 1);
    EXPECT_OK(timeline_now.wait(1));
}

TEST_F(faked_cuda, what_cuda_refuses_is_an_error_and_leaves_nothing) {
    state_->device_count = 0;
    EXPECT_TRUE(
        expect_error(open(), ErrorKind::Unsupported, "CUDA returned CUDA_ERROR_NO_DEVICE (words of the driver)"));
    state_->device_count = 1;
    EXPECT_TRUE(expect_error(open(), ErrorKind::Unsupported, "It has: 0 'fake first' (eeeeeeee"));
    state_->device_count = 2;
    ASSERT_OK_AND_ASSIGN(const CudaDevice cuda, open());
    ASSERT_OK_AND_ASSIGN(const Buffer buffer,
                         create_exportable_buffer(shared().device, {.size_bytes = 512, .label = "shared"}));
    ASSERT_OK_AND_ASSIGN(const MemoryHandle handle, export_memory(buffer));
    const std::ptrdiff_t before = open_descriptors();
    state_->failing_import = 1;
    EXPECT_TRUE(expect_error(CudaBuffer::import(cuda, handle), ErrorKind::Driver,
                             "Cannot import a buffer's memory by CUDA: CUDA returned CUDA_ERROR_INVALID_VALUE"));
    const TimelineHandle timeline{.fd = Descriptor(::dup(0)), .origin = {.device_uuid = shared().device.info().uuid}};
    EXPECT_TRUE(expect_error(CudaTimeline::import(cuda, timeline), ErrorKind::Driver, "a timeline semaphore by CUDA"));
    EXPECT_EQ(open_descriptors(), before + 1);
}
#endif

}  // namespace
}  // namespace yolk

// SPDX-License-Identifier: Apache-2.0
#include "yolk/cuda.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "cuda_library.hpp"
#include "cuda_match.hpp"
#include "descriptor_check.hpp"

namespace yolk {

struct CudaDevice::Impl {
    std::shared_ptr<const CudaLibrary> cuda;
    CudaDeviceName name;
    int ordinal = -1;
    CUdevice device = 0;
    CUcontext context = nullptr;  ///< the primary one, retained

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() {
        if (context != nullptr) static_cast<void>(cuda->release_context(device));
    }
};

namespace {

/// Makes a device's context the thread's while it lives, as CUDA's calls want it.
class CurrentContext {
   public:
    explicit CurrentContext(const CudaDevice::Impl& device)
        : cuda_(*device.cuda), result_(cuda_.push_context(device.context)) {}
    ~CurrentContext() {
        CUcontext ours = nullptr;
        if (result_ == CUDA_SUCCESS) static_cast<void>(cuda_.pop_context(&ours));
    }
    CurrentContext(const CurrentContext&) = delete;
    CurrentContext& operator=(const CurrentContext&) = delete;
    [[nodiscard]] Result<void> check() const { return cuda_.check(result_, "use CUDA's context"); }

   private:
    const CudaLibrary& cuda_;
    CUresult result_;
};

Result<std::vector<CudaDeviceName>> list_cuda_devices(const CudaLibrary& cuda) {
    constexpr const char* kWhat = "list CUDA's devices";
    int count = 0;
    YOLK_TRY_VOID(cuda.check(cuda.device_count(&count), kWhat));
    std::vector<CudaDeviceName> devices;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        CUdevice device = 0;
        CUuuid uuid{};
        std::array<char, 256> name{};
        YOLK_TRY_VOID(cuda.check(cuda.device(&device, ordinal), kWhat));
        YOLK_TRY_VOID(cuda.check(cuda.device_uuid(&uuid, device), kWhat));
        YOLK_TRY_VOID(cuda.check(cuda.device_name(name.data(), static_cast<int>(name.size()) - 1, device), kWhat));
        devices.push_back({.name = name.data(), .uuid = uuid_text(std::as_bytes(std::span(uuid.bytes)))});
    }
    return devices;
}

Error moved_from(const char* action, const char* what) {
    return bad_input("Cannot {}: the {} was moved from.", action, what);
}

std::string timeline_text(const char* action, std::uint64_t value) {
    return fmt::format("{} {} of an imported timeline semaphore", action, value);
}

CUdeviceptr pointer_at(std::uint64_t address, std::uint64_t offset) { return CUdeviceptr{address + offset}; }

}  // namespace

Result<CudaDevice> CudaDevice::open(const Device& device, const CudaOptions& options) {
    auto impl = std::make_shared<Impl>();
    auto library = CudaLibrary::load(options.library);
    if (!library)
        return std::move(library).error().while_doing(fmt::format("opening CUDA for '{}'", device.info().name));
    impl->cuda = *library;
    const CudaLibrary& cuda = *impl->cuda;
    YOLK_TRY(const std::vector<CudaDeviceName> listed, list_cuda_devices(cuda));
    YOLK_TRY(const std::size_t index, match_cuda_device(device.info(), listed));
    impl->name = listed[index];
    impl->ordinal = static_cast<int>(index);
    const std::string what = fmt::format("open CUDA's device '{}'", impl->name.name);
    YOLK_TRY_VOID(cuda.check(cuda.device(&impl->device, impl->ordinal), what));
    YOLK_TRY_VOID(cuda.check(cuda.retain_context(&impl->context, impl->device), what));
    return CudaDevice(std::move(impl));
}

int CudaDevice::ordinal() const noexcept { return impl_ == nullptr ? -1 : impl_->ordinal; }
const std::string& CudaDevice::name() const noexcept {
    static const std::string none = "no device";
    return impl_ == nullptr ? none : impl_->name.name;
}

struct CudaBuffer::Impl {
    std::shared_ptr<const CudaDevice::Impl> device;
    CUexternalMemory memory = nullptr;
    CUdeviceptr address = 0;
    std::uint64_t size_bytes = 0;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() {
        if (memory == nullptr) return;
        const CurrentContext current(*device);
        if (address != 0) static_cast<void>(device->cuda->free_memory(address));
        static_cast<void>(device->cuda->destroy_memory(memory));
    }
};

Result<CudaBuffer> CudaBuffer::import(const CudaDevice& device, const MemoryHandle& handle) {
    constexpr const char* kWhat = "a buffer's memory by CUDA";
    if (device.impl() == nullptr) return moved_from("import a buffer's memory", "CUDA device");
    auto impl = std::make_shared<Impl>();
    impl->device = device.impl();
    impl->size_bytes = handle.buffer_bytes;
    const CudaLibrary& cuda = *impl->device->cuda;
    YOLK_TRY_VOID(check_for_cuda(handle, impl->device->name));
    YOLK_TRY_VOID(check_open(handle.fd.get(), kWhat));
    const CurrentContext current(*impl->device);
    YOLK_TRY_VOID(current.check());
    YOLK_TRY(Descriptor fd, duplicate(handle.fd.get(), kWhat));
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC imported{};
    imported.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    imported.handle.fd = fd.get();
    imported.size = handle.allocation_bytes;
    imported.flags = CUDA_EXTERNAL_MEMORY_DEDICATED;  // as create_exportable_buffer allocates
    // CUDA takes the descriptor where it succeeds, and only there.
    YOLK_TRY_VOID(cuda.check(cuda.import_memory(&impl->memory, &imported), fmt::format("import {}", kWhat)));
    leave_to_driver(std::move(fd));
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC mapped{};
    mapped.offset = 0;
    mapped.size = handle.buffer_bytes;
    YOLK_TRY_VOID(cuda.check(cuda.map_memory(&impl->address, impl->memory, &mapped), fmt::format("map {}", kWhat)));
    return CudaBuffer(std::move(impl));
}

std::uint64_t CudaBuffer::address() const noexcept { return impl_ == nullptr ? 0 : impl_->address; }
std::uint64_t CudaBuffer::size_bytes() const noexcept { return impl_ == nullptr ? 0 : impl_->size_bytes; }

Result<void> CudaBuffer::upload(std::uint64_t offset_bytes, std::span<const std::byte> bytes, CudaStream stream) const {
    if (impl_ == nullptr) return moved_from("upload by CUDA", "CUDA buffer");
    YOLK_TRY_VOID(check_cuda_range(offset_bytes, bytes.size(), impl_->size_bytes));
    const CurrentContext current(*impl_->device);
    YOLK_TRY_VOID(current.check());
    const CudaLibrary& cuda = *impl_->device->cuda;
    const std::string what = fmt::format("upload {} bytes by CUDA", bytes.size());
    auto* const on = static_cast<CUstream>(stream);
    YOLK_TRY_VOID(
        cuda.check(cuda.copy_up(pointer_at(impl_->address, offset_bytes), bytes.data(), bytes.size(), on), what));
    return cuda.check(cuda.synchronize(on), what);
}

Result<void> CudaBuffer::download(std::uint64_t offset_bytes, std::span<std::byte> bytes, CudaStream stream) const {
    if (impl_ == nullptr) return moved_from("download by CUDA", "CUDA buffer");
    YOLK_TRY_VOID(check_cuda_range(offset_bytes, bytes.size(), impl_->size_bytes));
    const CurrentContext current(*impl_->device);
    YOLK_TRY_VOID(current.check());
    const CudaLibrary& cuda = *impl_->device->cuda;
    const std::string what = fmt::format("download {} bytes by CUDA", bytes.size());
    auto* const on = static_cast<CUstream>(stream);
    YOLK_TRY_VOID(
        cuda.check(cuda.copy_down(bytes.data(), pointer_at(impl_->address, offset_bytes), bytes.size(), on), what));
    return cuda.check(cuda.synchronize(on), what);
}

Result<DLManagedTensor*> CudaBuffer::dlpack(const DlpackDesc& desc) const {
    if (impl_ == nullptr) return moved_from("make a tensor", "CUDA buffer");
    // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA's pointers are integers, DLPack's are not
    void* const data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(impl_->address));
    return make_dlpack({.data = data,
                        .size_bytes = impl_->size_bytes,
                        .device = DlpackDevice::Cuda,
                        .device_id = impl_->device->ordinal},
                       desc, impl_);
}

struct CudaTimeline::Impl {
    std::shared_ptr<const CudaDevice::Impl> device;
    CUexternalSemaphore semaphore = nullptr;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() {
        if (semaphore == nullptr) return;
        const CurrentContext current(*device);
        static_cast<void>(device->cuda->destroy_semaphore(semaphore));
    }
};

Result<CudaTimeline> CudaTimeline::import(const CudaDevice& device, const TimelineHandle& handle) {
    constexpr const char* kWhat = "a timeline semaphore by CUDA";
    if (device.impl() == nullptr) return moved_from("import a timeline semaphore", "CUDA device");
    auto impl = std::make_shared<Impl>();
    impl->device = device.impl();
    const CudaLibrary& cuda = *impl->device->cuda;
    YOLK_TRY_VOID(check_for_cuda(handle.origin, impl->device->name, "a timeline semaphore"));
    YOLK_TRY_VOID(check_open(handle.fd.get(), kWhat));
    const CurrentContext current(*impl->device);
    YOLK_TRY_VOID(current.check());
    YOLK_TRY(Descriptor fd, duplicate(handle.fd.get(), kWhat));
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC imported{};
    imported.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    imported.handle.fd = fd.get();
    // CUDA takes the descriptor where it succeeds, and only there.
    YOLK_TRY_VOID(cuda.check(cuda.import_semaphore(&impl->semaphore, &imported), fmt::format("import {}", kWhat)));
    leave_to_driver(std::move(fd));
    return CudaTimeline(std::move(impl));
}

Result<void> CudaTimeline::wait(std::uint64_t value, CudaStream stream) const {
    if (impl_ == nullptr) return moved_from("wait for a timeline semaphore by CUDA", "CUDA timeline");
    const CurrentContext current(*impl_->device);
    YOLK_TRY_VOID(current.check());
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params{};
    params.params.fence.value = value;
    const CudaLibrary& cuda = *impl_->device->cuda;
    return cuda.check(cuda.wait(&impl_->semaphore, &params, 1, static_cast<CUstream>(stream)),
                      timeline_text("wait for", value));
}

Result<void> CudaTimeline::signal(std::uint64_t value, CudaStream stream) const {
    if (impl_ == nullptr) return moved_from("signal a timeline semaphore by CUDA", "CUDA timeline");
    const CurrentContext current(*impl_->device);
    YOLK_TRY_VOID(current.check());
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params{};
    params.params.fence.value = value;
    const CudaLibrary& cuda = *impl_->device->cuda;
    return cuda.check(cuda.signal(&impl_->semaphore, &params, 1, static_cast<CUstream>(stream)),
                      timeline_text("signal", value));
}

}  // namespace yolk

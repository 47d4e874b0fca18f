// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for machines without a GPU: it checks what it is given, counts what is alive, and maps an imported
// descriptor into the process, so that memory of SwiftShader (a file that begins with the buffer) is really shared.
#include "fake_cuda.hpp"

#include <cuda.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace {

struct Memory {
    void* data;
    std::size_t size;
};

FakeCudaState state{};
int the_context = 0;
int the_semaphore = 0;

bool current() { return state.pushed > 0; }

}  // namespace

extern "C" {

FakeCudaState* fake_cuda_state() { return &state; }

CUresult cuInit(unsigned int flags) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return state.device_count > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
CUresult cuGetErrorName(CUresult error, const char** name) {
    *name = error == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_INVALID_VALUE";
    return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
    *text = "words of the driver";
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
    *count = state.device_count;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    *device = 40 + ordinal;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
    std::strncpy(name, device == 41 ? "fake second" : "fake first", static_cast<std::size_t>(size));
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
    std::memset(uuid->bytes, 0xEE, sizeof(uuid->bytes));
    if (device == 41) std::memcpy(uuid->bytes, state.uuid, sizeof(uuid->bytes));
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    if (device != 41) return CUDA_ERROR_INVALID_VALUE;
    ++state.contexts;
    *context = reinterpret_cast<CUcontext>(&the_context);
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
    --state.contexts;
    return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
    if (context != reinterpret_cast<CUcontext>(&the_context)) return CUDA_ERROR_INVALID_VALUE;
    ++state.pushed;
    return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext*) {
    --state.pushed;
    return CUDA_SUCCESS;
}

CUresult cuImportExternalMemory(CUexternalMemory* memory, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* desc) {
    if (!current() || state.failing_import != 0 || desc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
        return CUDA_ERROR_INVALID_VALUE;
    void* data = ::mmap(nullptr, desc->size, PROT_READ | PROT_WRITE, MAP_SHARED, desc->handle.fd, 0);
    if (data == MAP_FAILED) return CUDA_ERROR_INVALID_VALUE;
    ::close(desc->handle.fd);  // CUDA's now
    *memory = reinterpret_cast<CUexternalMemory>(new Memory{data, desc->size});
    state.memory_flags = desc->flags;
    state.memory_bytes = desc->size;
    ++state.memories;
    return CUDA_SUCCESS;
}
CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* address, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* desc) {
    const Memory& mapped = *reinterpret_cast<const Memory*>(memory);
    if (!current() || desc->offset + desc->size > mapped.size || desc->flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *address = reinterpret_cast<CUdeviceptr>(mapped.data) + desc->offset;
    ++state.mappings;
    return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr) {
    if (!current()) return CUDA_ERROR_INVALID_VALUE;
    --state.mappings;
    return CUDA_SUCCESS;
}
CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
    auto* const mapped = reinterpret_cast<Memory*>(memory);
    if (!current() || state.mappings >= state.memories) return CUDA_ERROR_INVALID_VALUE;  // mappings go first
    ::munmap(mapped->data, mapped->size);
    delete mapped;
    --state.memories;
    return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
    if (!current()) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
    if (!current()) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) { return current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

CUresult cuImportExternalSemaphore(CUexternalSemaphore* semaphore, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* desc) {
    if (!current() || state.failing_import != 0 || desc->flags != 0 ||
        desc->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD)
        return CUDA_ERROR_INVALID_VALUE;
    ::close(desc->handle.fd);
    *semaphore = reinterpret_cast<CUexternalSemaphore>(&the_semaphore);
    ++state.semaphores;
    return CUDA_SUCCESS;
}
CUresult cuDestroyExternalSemaphore(CUexternalSemaphore) {
    --state.semaphores;
    return CUDA_SUCCESS;
}
CUresult cuWaitExternalSemaphoresAsync(const CUexternalSemaphore*, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* params,
                                       unsigned int count, CUstream) {
    if (!current() || count != 1 || params->flags != 0) return CUDA_ERROR_INVALID_VALUE;
    state.waited = params->params.fence.value;
    return CUDA_SUCCESS;
}
CUresult cuSignalExternalSemaphoresAsync(const CUexternalSemaphore*,
                                         const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS* params, unsigned int count,
                                         CUstream) {
    if (!current() || count != 1 || params->flags != 0) return CUDA_ERROR_INVALID_VALUE;
    state.signalled = params->params.fence.value;
    return CUDA_SUCCESS;
}

}  // extern "C"

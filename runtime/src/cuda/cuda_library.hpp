// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's driver API that Yolk calls, from a library that is loaded at run time.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>

#include "yolk/result.hpp"

namespace yolk {

// NOLINTBEGIN(modernize-use-using): decltype of functions that are declared and never linked
#define YOLK_CUDA_FUNCTIONS(X)                                                        \
    X(init, cuInit, "cuInit")                                                         \
    X(error_name, cuGetErrorName, "cuGetErrorName")                                   \
    X(error_text, cuGetErrorString, "cuGetErrorString")                               \
    X(device_count, cuDeviceGetCount, "cuDeviceGetCount")                             \
    X(device, cuDeviceGet, "cuDeviceGet")                                             \
    X(device_name, cuDeviceGetName, "cuDeviceGetName")                                \
    X(device_uuid, cuDeviceGetUuid_v2, "cuDeviceGetUuid_v2")                          \
    X(retain_context, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")           \
    X(release_context, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2")     \
    X(push_context, cuCtxPushCurrent, "cuCtxPushCurrent_v2")                          \
    X(pop_context, cuCtxPopCurrent, "cuCtxPopCurrent_v2")                             \
    X(import_memory, cuImportExternalMemory, "cuImportExternalMemory")                \
    X(map_memory, cuExternalMemoryGetMappedBuffer, "cuExternalMemoryGetMappedBuffer") \
    X(destroy_memory, cuDestroyExternalMemory, "cuDestroyExternalMemory")             \
    X(free_memory, cuMemFree, "cuMemFree_v2")                                         \
    X(copy_up, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")                             \
    X(copy_down, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2")                           \
    X(synchronize, cuStreamSynchronize, "cuStreamSynchronize")                        \
    X(import_semaphore, cuImportExternalSemaphore, "cuImportExternalSemaphore")       \
    X(destroy_semaphore, cuDestroyExternalSemaphore, "cuDestroyExternalSemaphore")    \
    X(wait, cuWaitExternalSemaphoresAsync, "cuWaitExternalSemaphoresAsync")           \
    X(signal, cuSignalExternalSemaphoresAsync, "cuSignalExternalSemaphoresAsync")
// NOLINTEND(modernize-use-using)

/// Stays loaded until the process ends: CUDA does not survive being unloaded.
struct CudaLibrary {
#define YOLK_CUDA_MEMBER(member, function, symbol) decltype(&::function) member = nullptr;
    YOLK_CUDA_FUNCTIONS(YOLK_CUDA_MEMBER)
#undef YOLK_CUDA_MEMBER

    /// Loads `name` and initializes CUDA. Errors: Unsupported where there is no such library, one of its functions is
    /// missing, or it finds no GPU.
    [[nodiscard]] static Result<std::shared_ptr<const CudaLibrary>> load(const std::string& name);

    /// `what` completes "Cannot ...".
    [[nodiscard]] Error error(CUresult result, const std::string& what) const;
    [[nodiscard]] Result<void> check(CUresult result, const std::string& what) const {
        if (result == CUDA_SUCCESS) return {};
        return error(result, what);
    }
};

}  // namespace yolk

// SPDX-License-Identifier: Apache-2.0
#include "cuda_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace yolk {

Result<std::shared_ptr<const CudaLibrary>> CudaLibrary::load(const std::string& name) {
    void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* reason = ::dlerror();
        return unsupported("CUDA's library cannot be loaded: {}. It comes with NVIDIA's driver.",
                           reason != nullptr ? reason : name);
    }
    auto library = std::make_shared<CudaLibrary>();
#define YOLK_CUDA_LOAD(member, function, symbol)                                                                \
    library->member = reinterpret_cast<decltype(&::function)>(::dlsym(handle, symbol));                         \
    if (library->member == nullptr) {                                                                           \
        return unsupported("CUDA's library {} has no function {}. Install NVIDIA's driver 470 or newer.", name, \
                           symbol);                                                                             \
    }
    YOLK_CUDA_FUNCTIONS(YOLK_CUDA_LOAD)
#undef YOLK_CUDA_LOAD
    YOLK_TRY_VOID(library->check(library->init(0), fmt::format("start CUDA ({})", name)));
    return std::shared_ptr<const CudaLibrary>(std::move(library));
}

Error CudaLibrary::error(CUresult result, const std::string& what) const {
    const char* name = nullptr;
    const char* text = nullptr;
    if (error_name(result, &name) != CUDA_SUCCESS) name = nullptr;
    if (error_text(result, &text) != CUDA_SUCCESS) text = nullptr;
    ErrorKind kind = ErrorKind::Driver;
    if (result == CUDA_ERROR_NO_DEVICE) kind = ErrorKind::Unsupported;
    if (result == CUDA_ERROR_OUT_OF_MEMORY) kind = ErrorKind::OutOfMemory;
    return {kind,
            fmt::format("Cannot {}: CUDA returned {} ({}).", what, name != nullptr ? name : "an unknown error",
                        text != nullptr ? text : fmt::format("code {}", static_cast<int>(result))),
            static_cast<int>(result)};
}

}  // namespace yolk

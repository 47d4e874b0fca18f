// SPDX-License-Identifier: Apache-2.0
// Linked into every program that is built with AddressSanitizer (cmake/YolkBuildFlags.cmake), for LeakSanitizer.

/// Leaks of drivers, of the loader and of the validation layer are not ours to mend. A Vulkan object that we forget is
/// reported by the validation layer, not here.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): the name is LeakSanitizer's
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
    // NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
    return "leak:libvulkan_lvp.so\n"
           "leak:libvk_swiftshader.so\n"
           "leak:libLLVM\n"
           "leak:libvulkan.so\n"
           "leak:libVkLayer_khronos_validation.so\n";
}

/// In place of the C library's: what a driver leaked has no module, so no name to be suppressed by, once it is
/// unloaded.
extern "C" int dlclose(void* handle);
extern "C" int dlclose(void* /*handle*/) { return 0; }

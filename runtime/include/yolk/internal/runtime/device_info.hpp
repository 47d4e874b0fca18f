// SPDX-License-Identifier: Apache-2.0
// What a physical device is, as plain data: everything that choosing a device, a memory type or a kernel path depends
// on, so that those decisions are pure functions tested with tables of real GPUs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace yolk {

enum class DeviceKind { Other, Integrated, Discrete, Virtual, Cpu };

/// What the driver says of a heap and this process (VK_EXT_memory_budget): an estimate, which moves with what other
/// processes do.
struct MemoryBudget {
    std::uint64_t budget_bytes = 0;  ///< what the process may use before it fails or slows down, its own use included
    std::uint64_t used_bytes = 0;    ///< by the process
};

struct MemoryHeapInfo {
    std::uint64_t size_bytes = 0;
    bool device_local = false;
    /// When the device was listed or made (Device::heaps() asks anew); nothing where the driver does not say.
    std::optional<MemoryBudget> budget{};
};

struct MemoryTypeInfo {
    std::uint32_t heap = 0;
    bool device_local = false;
    bool host_visible = false;
    bool host_coherent = false;
    bool host_cached = false;
    /// Of a kind that is never chosen: it wants a feature that Yolk does not enable (protected, lazily allocated, AMD's
    /// uncached device-coherent memory).
    bool special = false;
};

/// What choosing a queue depends on (yolk/internal/runtime/queue_family.hpp).
struct QueueFamilyInfo {
    bool compute = false;
    bool graphics = false;
    std::uint32_t queue_count = 0;
    std::uint32_t timestamp_bits = 0;  ///< of a timestamp that count; 0 where the family has none
};

/// The limits that Yolk looks at; names follow VkPhysicalDeviceLimits. Sizes in bytes.
struct DeviceLimits {
    std::uint64_t max_storage_buffer_range = 0;
    std::uint64_t max_uniform_buffer_range = 0;
    std::uint64_t min_storage_buffer_offset_alignment = 0;
    std::uint64_t min_uniform_buffer_offset_alignment = 0;
    std::uint64_t min_texel_buffer_offset_alignment = 0;
    std::uint64_t non_coherent_atom_size = 0;
    std::uint64_t max_memory_allocation_size = 0;
    std::uint32_t max_memory_allocation_count = 0;
    std::uint32_t max_push_constants_size = 0;
    std::uint32_t max_shared_memory_size = 0;
    std::uint32_t max_workgroup_invocations = 0;
    std::array<std::uint32_t, 3> max_workgroup_size{};
    std::array<std::uint32_t, 3> max_workgroup_count{};
    std::uint32_t max_storage_buffers_per_stage = 0;
    std::uint32_t max_texel_buffer_elements = 0;
    std::uint32_t subgroup_size = 0;
    std::uint32_t min_subgroup_size = 0;  ///< the smallest that a pipeline may have; subgroup_size where none is chosen
    double timestamp_period_ns = 0.0;     ///< nanoseconds per tick; 0 where the queue has no timestamps
    /// Subgroups that a SIMD (AMD) or a multiprocessor (NVIDIA) holds at once, as VK_AMD_shader_core_properties or
    /// VK_NV_shader_sm_builtins says; 0 where the driver has neither.
    std::uint32_t max_resident_subgroups = 0;
    /// Compute units (AMD) or multiprocessors (NVIDIA), as the same extensions say; 0 where the driver has neither.
    std::uint32_t compute_units = 0;
};

/// Features, true where the device has them. The first two are the portable floor's (with Vulkan 1.2); the rest open
/// paths.
struct DeviceFeatures {
    bool timeline_semaphore = false;
    bool scalar_block_layout = false;
    bool shader_float16 = false;
    bool shader_int8 = false;
    bool storage_16bit = false;
    bool storage_8bit = false;
    bool shader_integer_dot_product = false;
    /// Of four signed bytes to a word: faster than the multiplications that it stands for, says the driver.
    bool integer_dot_accelerated = false;
    bool cooperative_matrix_khr = false;
    bool cooperative_matrix_nv = false;
    bool bfloat16_matrices = false;  ///< VK_KHR_shader_bfloat16, for cooperative matrices
    bool buffer_device_address = false;
    bool push_descriptor = false;
    bool subgroup_size_control = false;
    bool vulkan_memory_model = false;  ///< what cooperative matrices are written in
    bool memory_budget = false;        ///< the driver says how much of a heap is left to this process
    bool pipeline_statistics = false;  ///< VK_KHR_pipeline_executable_properties: what the compiler made of a pipeline
};

/// What the elements of a cooperative matrix are; numbers follow VkComponentTypeNV, which the KHR form kept.
enum class ComponentType : std::uint32_t { F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, BF16 = 1000141000 };

/// One multiplication that a device's matrix units do, over a subgroup: result[m, n] = a[m, k] b[k, n] + c[m, n].
struct CooperativeShape {
    std::uint32_t m = 0;
    std::uint32_t n = 0;
    std::uint32_t k = 0;
    ComponentType a = ComponentType::F16;
    ComponentType b = ComponentType::F16;
    ComponentType c = ComponentType::F32;
    ComponentType result = ComponentType::F32;
    bool khr = false;  ///< enumerated by VK_KHR_cooperative_matrix, else by VK_NV_cooperative_matrix
    friend bool operator==(const CooperativeShape&, const CooperativeShape&) = default;
};

/// How memory or a semaphore is passed between devices.
enum class HandleType {
    OpaqueFd,     ///< a file descriptor that the same driver on the same device takes, and CUDA on that device
    DmaBuf,       ///< a file descriptor of Linux, which other drivers take, too
    HostPointer,  ///< memory of this process, which the device may use; never exported
};

/// What a driver does with handles of one type.
struct HandleSupport {
    bool can_export = false;
    bool can_import = false;
    friend bool operator==(const HandleSupport&, const HandleSupport&) = default;
};

/// What a device shares with others (yolk/internal/runtime/sharing.hpp): of buffers as Yolk makes them, and of timeline
/// semaphores by opaque file descriptor. All false where the driver lacks the extension.
struct SharingSupport {
    HandleSupport opaque_fd{};
    HandleSupport dma_buf{};
    HandleSupport host_pointer{};
    HandleSupport timeline{};
    /// An imported host pointer and its size are multiples of it; 0 where none can be imported.
    std::uint64_t host_pointer_alignment = 0;
};

struct DeviceInfo {
    std::uint32_t index = 0;  ///< position in the enumeration; what `--device N` means
    std::string name;
    DeviceKind kind = DeviceKind::Other;
    std::uint32_t vendor_id = 0;
    std::uint32_t device_id = 0;
    std::string vendor;             ///< "NVIDIA", "AMD", "Intel", "Mesa", "Google", ... or the id in hex
    std::uint32_t api_version = 0;  ///< as Vulkan packs it
    std::string driver_name;        ///< "llvmpipe", "SwiftShader driver", "NVIDIA", "radv", ...
    std::string driver_info;        ///< the driver's own version text
    std::uint32_t driver_version = 0;
    std::string uuid;         ///< 32 hexadecimal digits
    std::string driver_uuid;  ///< the same; builds of a driver that take each other's handles have the same one
    bool has_compute_queue = false;
    DeviceLimits limits;
    DeviceFeatures features;
    std::vector<MemoryHeapInfo> heaps;
    std::vector<MemoryTypeInfo> memory_types;
    std::vector<CooperativeShape> cooperative_shapes{};  ///< of subgroups, as enumerated
    std::vector<QueueFamilyInfo> queue_families{};
    SharingSupport sharing{};
};

[[nodiscard]] const char* to_string(DeviceKind kind) noexcept;
/// "opaque file descriptor", "dma-buf", "host pointer".
[[nodiscard]] const char* to_string(HandleType type) noexcept;
/// "f16", "f32", "i8", ...; "?" for what Yolk does not know.
[[nodiscard]] const char* to_string(ComponentType type) noexcept;
/// "1.3.230".
[[nodiscard]] std::string version_text(std::uint32_t packed);

}  // namespace yolk

// SPDX-License-Identifier: Apache-2.0
// Compute pipelines by kernel and specialization constants, made on first use, kept as long as the device or, for those
// who try thousands, until they let them go; and the file that saves drivers from compiling them again.
#pragma once

#include <volk.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "device_context.hpp"
#include "pipeline_key.hpp"
#include "specialized_modules.hpp"
#include "yolk/device.hpp"
#include "yolk/internal/runtime/pipeline_report.hpp"
#include "yolk/internal/shaders/kernel.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// A process asks for hundreds of pipelines, of up to 40 KB each (NVK); a larger file is not read, and none is written.
inline constexpr std::size_t kMaxPipelineFileBytes = std::size_t{256} << 20U;

/// What a PipelineHandle points at. Immutable once made.
struct Pipeline {
    VkPipeline handle = VK_NULL_HANDLE;  ///< null: left out
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
    KernelSignature signature;
    std::string name;
    const DeviceContext* context = nullptr;  ///< of the device it belongs to
};

/// Thread-safe. A pipeline that two threads ask for at once is made once; different pipelines are made side by side.
class PipelineCache {
   public:
    explicit PipelineCache(const DeviceContext& context, PipelineCapture capture = PipelineCapture::Nothing,
                           std::size_t max_file_bytes = kMaxPipelineFileBytes);
    ~PipelineCache();
    PipelineCache(const PipelineCache&) = delete;
    PipelineCache& operator=(const PipelineCache&) = delete;

    /// Reads the file of `folder` (empty: none). What is wrong with the file is logged and the cache starts empty.
    [[nodiscard]] Result<void> open(const std::filesystem::path& folder);
    /// Writes the file where pipelines were made and the driver's data changed since it was read or written.
    [[nodiscard]] Result<void> save();
    /// Of the file; empty where there is none.
    [[nodiscard]] std::filesystem::path folder() const { return file_.parent_path(); }
    [[nodiscard]] Result<const Pipeline*> get(const KernelModule& kernel, std::span<const SpecConstant> constants);
    /// From here to end_temporary(), what this thread asks for and the cache does not hold is made in a driver's cache
    /// that no file keeps, and destroyed at the end; other threads do not see it. Error: another one is open.
    [[nodiscard]] Result<void> begin_temporary();
    /// On the thread that began.
    void end_temporary() noexcept;
    void watch(std::shared_ptr<CompileWatch> watch);
    [[nodiscard]] std::shared_ptr<CompileWatch> watch();
    /// Of the pipelines made, or refused, since the last call.
    [[nodiscard]] std::vector<PipelineReport> take_reports();
    /// Device::leave_out_pipelines.
    void leave_out(std::function<bool(std::uint64_t identity)> is_left_out);
    /// Whether get() does not compile this one, unless it has already.
    [[nodiscard]] bool leaves_out(const KernelModule& kernel, std::span<const SpecConstant> constants);

   private:
    using Key = PipelineKey;
    struct Entry {
        std::mutex making;  ///< held while the pipeline is made
        Pipeline pipeline;
    };
    using Entries = std::map<Key, std::unique_ptr<Entry>>;
    struct Temporary {
        std::thread::id owner;
        VkPipelineCache cache = VK_NULL_HANDLE;
        Entries entries;
    };
    struct Layout {
        VkDescriptorSetLayout set = VK_NULL_HANDLE;
        VkPipelineLayout pipeline = VK_NULL_HANDLE;
    };

    [[nodiscard]] Result<void> check(const KernelModule& kernel, const Key& key) const;
    [[nodiscard]] Result<Layout> layout(const KernelModule& kernel);
    [[nodiscard]] Result<VkDescriptorSetLayout> make_set_layout(const KernelModule& kernel) const;
    [[nodiscard]] Result<VkPipelineCache> make_driver_cache(std::span<const std::byte> payload) const;
    /// What this thread has open, else null. The caller holds mutex_.
    [[nodiscard]] Temporary* temporary_of_this_thread() const noexcept;
    [[nodiscard]] bool leaves_out(std::uint64_t identity) const;  ///< mutex_ is held
    [[nodiscard]] Result<void> make(const KernelModule& kernel, const Key& key, bool temporary, Pipeline& pipeline);
    [[nodiscard]] Result<VkPipeline> compile(const KernelModule& kernel, const Key& key, VkPipelineLayout layout,
                                             std::span<const std::uint32_t> code, VkPipelineCache cache);
    /// Adds the report; `compiled` is passed on, unless the statistics cannot be read.
    [[nodiscard]] Result<VkPipeline> report(const KernelModule& kernel, const Key& key, double seconds,
                                            Result<std::vector<std::uint32_t>> code, Result<VkPipeline> compiled);
    void destroy(const Entries& entries) const noexcept;
    [[nodiscard]] std::vector<std::byte> read_file_payload() const;

    const DeviceContext& context_;
    const PipelineCapture capture_;
    std::size_t max_file_bytes_;
    VkPipelineCache cache_ = VK_NULL_HANDLE;
    std::filesystem::path file_;  ///< empty: none
    SpecializedModules modules_;

    std::mutex mutex_;  ///< of the maps; never held while a pipeline is made
    Entries entries_;
    std::unique_ptr<Temporary> temporary_;  ///< null: none is open
    std::map<KernelSignature, Layout> layouts_;
    std::mutex file_mutex_;
    std::vector<PipelineReport> reports_;                                                   ///< guarded by mutex_
    std::function<bool(std::uint64_t)> is_left_out_ = [](std::uint64_t) { return false; };  ///< guarded by mutex_
    bool made_since_save_ = false;                                                          ///< guarded by mutex_
    std::shared_ptr<CompileWatch> watch_;                                                   ///< guarded by mutex_
    std::uint64_t saved_hash_ = 0;  ///< of the payload in the file; guarded by file_mutex_
};

}  // namespace yolk

// SPDX-License-Identifier: Apache-2.0
// A logical device: buffers, pipelines and bindings are made from it. It owns memory blocks and pipelines, never the
// caller's buffers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/core/counters.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/internal/runtime/device_selection.hpp"
#include "yolk/internal/runtime/instance.hpp"
#include "yolk/internal/runtime/low_precision.hpp"
#include "yolk/internal/shaders/kernel.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// What a device keeps of each pipeline that it makes (yolk/internal/runtime/pipeline_report.hpp).
enum class PipelineCapture {
    Nothing,
    Code,             ///< the SPIR-V that the driver is given, of pipelines that are left out as well
    Statistics,       ///< what the driver's compiler says of its work, where DeviceFeatures::pipeline_statistics
    Representations,  ///< and the compiler's own forms of the kernel, assembly among them
};

struct DeviceOptions {
    MemoryPolicy memory_policy = MemoryPolicy::Automatic;
    /// Folder of the pipeline cache; empty for none. A torn or foreign file in it is ignored with a notice.
    std::filesystem::path pipeline_cache_folder{};
    /// What one submission may cost, in multiply-adds as plans estimate them (LinearGrid): recordings are cut into as
    /// many as that takes, so that no driver's watchdog ends them (docs/adr/0007-long-work-is-cut.md). 0: 2^28 at
    /// first, then what takes about an eighth of a second by the times that are measured, from 2^20 to 2^34.
    std::uint64_t max_submission_cost = 0;
    /// Less than the device's own limit of a storage binding, in bytes: plans then do as they would on a device that
    /// binds no more, for trying what such a device makes of long views. 0, or more than the limit: the limit.
    std::uint64_t max_storage_buffer_range = 0;
    /// Pipelines leave reports (Device::take_pipeline_reports). Each is then compiled anew, with flags that make it
    /// another pipeline to the driver: neither the cache file nor a driver's cache is read or written. Specialized
    /// modules are taken from the folder, and kept there, with PipelineCapture::Code.
    PipelineCapture pipeline_capture = PipelineCapture::Nothing;
};

/// The default folder for caches: $YOLK_CACHE, else $XDG_CACHE_HOME/yolk, else ~/.cache/yolk; empty where none can be
/// told.
[[nodiscard]] std::filesystem::path default_cache_folder();

/// A pipeline of the device's cache; valid as long as the device, or the TemporaryPipelines it was made in. Plain
/// handle.
struct PipelineHandle {
    const void* impl = nullptr;
};

/// A pipeline with its buffers: what a recorder dispatches. Move-only; it and the buffers must outlive the work that
/// uses it. Immutable: any number of recorders may dispatch it, on any threads.
class Binding {
   public:
    Binding() noexcept = default;

    struct Impl;  // runtime/src/device/binding_impl.hpp
    [[nodiscard]] const Impl* impl() const noexcept { return impl_.get(); }

   private:
    friend class Device;
    explicit Binding(Owned<Impl> impl) noexcept : impl_(std::move(impl)) {}
    Owned<Impl> impl_;
};

/// Typed forms, so that a kernel's parameters cannot be mistaken for another's.
template <class Params>
struct PipelineOf {
    PipelineHandle handle;
};
template <class Params>
struct BindingOf {
    Binding binding;
};

/// What was found out about a device by running on it (yolk/internal/runtime/probe.hpp); unset until probed.
struct DeviceFindings {
    /// What the loops of one invocation may cost in all, by the rules of yolk/internal/runtime/loop_budget.hpp; nothing
    /// where no limit was found.
    std::optional<std::uint64_t> loop_limit;
    /// Why exact mode must be refused; empty where the arithmetic is exact (or not probed).
    std::string inexact_reason;
    /// Paths of low precision that are open by the device's features and gave wrong results: no plan takes them.
    std::vector<WrongPath> wrong_paths{};
    /// Why nothing can be run: the driver compiles kernels, and what they should write stays as it was. Plans can be
    /// made on such a device, and their pipelines inspected. Empty where kernels execute (or not probed).
    std::string not_executing_reason{};
    bool probed = false;
};

class TuningTable;      // yolk/internal/runtime/tuning_table.hpp
struct PipelineReport;  // yolk/internal/runtime/pipeline_report.hpp

/// Told of each pipeline that a device makes, on the thread that asks for it; several threads may be at it at once.
/// Some drivers (lavapipe) put much of their compilation off to the first dispatch, of which nobody is told.
class CompileWatch {
   public:
    CompileWatch() = default;
    CompileWatch(const CompileWatch&) = delete;
    CompileWatch& operator=(const CompileWatch&) = delete;
    virtual ~CompileWatch() = default;
    /// Before the driver is asked. False: it is not asked, and what needs the pipeline fails (ErrorKind::Cancelled).
    [[nodiscard]] virtual bool begins(std::string_view kernel) = 0;
    /// After it, well or not.
    virtual void ended() = 0;
};

/// Threading: every member may be called from any thread, set_findings and set_tuning_table included; recorders and
/// dispatchers have their own contracts. Movable; the buffers, bindings, recorders and dispatchers made from it share
/// ownership of the VkDevice.
class Device {
   public:
    /// `index`: of instance.devices(). Errors: index out of range, below the floor (says what it lacks), driver.
    [[nodiscard]] static Result<Device> create(const Instance& instance, std::uint32_t index,
                                               const DeviceOptions& options = {});

    [[nodiscard]] const DeviceInfo& info() const noexcept;
    /// info().heaps, with the budgets of this moment.
    [[nodiscard]] std::vector<MemoryHeapInfo> heaps() const;
    /// ForceDiscrete or Native.
    [[nodiscard]] MemoryPolicy memory_policy() const noexcept;
    /// info() with the paths closed that a self-check found wrong: what plans decide by.
    [[nodiscard]] DeviceInfo usable_info() const;
    [[nodiscard]] OperationCounts counts() const noexcept;
    [[nodiscard]] OperationCounters& counters() const noexcept;

    /// Errors: size 0, above the device's limits (named), out of memory (names the request and what is free).
    [[nodiscard]] Result<Buffer> create_buffer(const BufferDesc& desc) const;

    /// Made on first use and kept; the same kernel and constants give the same handle.
    [[nodiscard]] Result<PipelineHandle> pipeline(const KernelModule& kernel,
                                                  std::span<const SpecConstant> constants) const;
    template <class Params>
    [[nodiscard]] Result<PipelineOf<Params>> pipeline(const Kernel<Params>& kernel,
                                                      std::span<const SpecConstant> constants) const {
        YOLK_TRY(const PipelineHandle handle, pipeline(static_cast<const KernelModule&>(kernel), constants));
        return PipelineOf<Params>{handle};
    }

    /// `views[b]` goes to binding b; as many as the kernel has, none empty. Plans check sizes and overlap before this.
    [[nodiscard]] Result<Binding> bind(PipelineHandle pipeline, std::span<const BufferView> views) const;
    template <class Params>
    [[nodiscard]] Result<BindingOf<Params>> bind(PipelineOf<Params> pipeline, std::span<const BufferView> views) const {
        YOLK_TRY(Binding binding, bind(pipeline.handle, views));
        return BindingOf<Params>{std::move(binding)};
    }

    /// What a submission may cost now (DeviceOptions::max_submission_cost).
    [[nodiscard]] std::uint64_t max_submission_cost() const noexcept;
    /// What one workgroup may cost, which cannot be cut: DeviceOptions::max_submission_cost, else 2^28. It does not
    /// follow the times, so that plans are the same in every run.
    [[nodiscard]] std::uint64_t max_workgroup_cost() const noexcept;

    /// Findings of the probes; made by probe() in yolk/internal/runtime/probe.hpp, kept here for plans to respect.
    [[nodiscard]] const DeviceFindings& findings() const noexcept;
    void set_findings(DeviceFindings findings) const;

    /// What plans look configurations up in that their descriptions leave unset; null: nothing is tuned, as in the
    /// beginning. Plans made after set_tuning_table returns see the new table, plans made before stay as they are.
    [[nodiscard]] std::shared_ptr<const TuningTable> tuning_table() const;
    void set_tuning_table(std::shared_ptr<const TuningTable> table) const;

    /// In place of the last one; null: nobody is told, as in the beginning. The device keeps it alive.
    void watch_compilation(std::shared_ptr<CompileWatch> watch) const;

    /// Of the pipelines that were made since the last call, in that order; none without
    /// DeviceOptions::pipeline_capture.
    [[nodiscard]] std::vector<PipelineReport> take_pipeline_reports() const;

    /// From now on pipelines whose identities (PipelineReport::identity) `is_left_out` names are not compiled, unless
    /// they exist already: plans get a handle that cannot be bound, and there is no report except of
    /// PipelineCapture::Code. Called on any thread that asks for a pipeline. For inspections; no effect without
    /// DeviceOptions::pipeline_capture.
    void leave_out_pipelines(std::function<bool(std::uint64_t identity)> is_left_out) const;

    /// Writes the pipeline cache file now (the destructor tries, too, and logs a failure).
    [[nodiscard]] Result<void> save_pipeline_cache() const;

    struct Impl;  // runtime/src/device/device_impl.hpp
    [[nodiscard]] const std::shared_ptr<Impl>& impl() const noexcept { return impl_; }

   private:
    friend struct Interop;  // runtime/src/device/private_access.hpp
    explicit Device(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<Impl> impl_;
};

/// While it lives, pipelines that its thread asks of the device for the first time are destroyed with it, and no file
/// keeps them: for those who try thousands of configurations, each once. Plans, bindings and work that use them must
/// have ended before it. Lives on one thread, one at a time for a device; other threads are not concerned. Move-only.
class TemporaryPipelines {
   public:
    /// Errors: another one of the device lives, driver.
    [[nodiscard]] static Result<TemporaryPipelines> begin(const Device& device);
    TemporaryPipelines() noexcept;
    ~TemporaryPipelines();
    TemporaryPipelines(TemporaryPipelines&&) noexcept;
    TemporaryPipelines& operator=(TemporaryPipelines&&) noexcept;

   private:
    std::shared_ptr<Device::Impl> device_;  ///< null: ended, or never begun
};

}  // namespace yolk

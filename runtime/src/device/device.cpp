// SPDX-License-Identifier: Apache-2.0
#include "yolk/device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "binding_impl.hpp"
#include "buffer_impl.hpp"
#include "device_impl.hpp"
#include "instance_impl.hpp"
#include "yolk/internal/runtime/device_selection.hpp"
#include "yolk/internal/runtime/hang_limit.hpp"

namespace yolk {

Result<Device> Device::create(const Instance& instance, std::uint32_t index, const DeviceOptions& options) {
    const auto devices = instance.devices();
    if (index >= devices.size()) {
        return bad_input("There is no device {}: the instance has {}, counted from 0.", index, devices.size());
    }
    if (const std::vector<std::string> missing = missing_from_floor(devices[index]); !missing.empty()) {
        return unsupported("Device {} '{}' cannot run Yolk's kernels; it lacks: {}.", index, devices[index].name,
                           fmt::join(missing, ", "));
    }
    YOLK_TRY(auto impl, make_device(instance.impl(), index, options));
    return Device(std::move(impl));
}

const DeviceInfo& Device::info() const noexcept { return impl_->context.info; }
std::vector<MemoryHeapInfo> Device::heaps() const { return impl_->context.heaps_now(); }
MemoryPolicy Device::memory_policy() const noexcept { return impl_->context.memory_policy; }
OperationCounts Device::counts() const noexcept { return impl_->context.counters.snapshot(); }
OperationCounters& Device::counters() const noexcept { return impl_->context.counters; }

Result<Buffer> Device::create_buffer(const BufferDesc& desc) const {
    YOLK_TRY(auto buffer, make_buffer(impl_, desc));
    return Buffer(std::move(buffer));
}

Result<PipelineHandle> Device::pipeline(const KernelModule& kernel, std::span<const SpecConstant> constants) const {
    if (!impl_->context.health.good())
        return impl_->context.failed(fmt::format("get a pipeline of the kernel [{}]", kernel.name));
    YOLK_TRY(const Pipeline* const pipeline, impl_->pipelines->get(kernel, constants));
    return PipelineHandle{pipeline};
}

Result<Binding> Device::bind(PipelineHandle pipeline, std::span<const BufferView> views) const {
    if (!impl_->context.health.good()) return impl_->context.failed("bind a kernel");
    YOLK_TRY(auto binding, make_binding(impl_, pipeline, views));
    return Binding(std::move(binding));
}

std::uint64_t Device::max_submission_cost() const noexcept { return impl_->context.pace.piece_cost(); }
std::uint64_t Device::max_workgroup_cost() const noexcept { return impl_->context.pace.first_cost(); }
DeviceInfo Device::usable_info() const { return without_wrong_paths(info(), findings().wrong_paths); }
const DeviceFindings& Device::findings() const noexcept { return impl_->findings(); }
void Device::set_findings(DeviceFindings findings) const { impl_->set_findings(std::move(findings)); }
std::shared_ptr<const TuningTable> Device::tuning_table() const { return impl_->tuning_table(); }
void Device::set_tuning_table(std::shared_ptr<const TuningTable> table) const {
    impl_->set_tuning_table(std::move(table));
}
void Device::watch_compilation(std::shared_ptr<CompileWatch> watch) const { impl_->pipelines->watch(std::move(watch)); }
std::vector<PipelineReport> Device::take_pipeline_reports() const { return impl_->pipelines->take_reports(); }
void Device::leave_out_pipelines(std::function<bool(std::uint64_t identity)> is_left_out) const {
    impl_->pipelines->leave_out(std::move(is_left_out));
}
Result<void> Device::save_pipeline_cache() const { return impl_->pipelines->save(); }

Result<TemporaryPipelines> TemporaryPipelines::begin(const Device& device) {
    if (!device.impl()->context.health.good()) return device.impl()->context.failed("begin temporary pipelines");
    YOLK_TRY_VOID(device.impl()->pipelines->begin_temporary());
    TemporaryPipelines begun;
    begun.device_ = device.impl();
    return begun;
}

TemporaryPipelines::TemporaryPipelines() noexcept = default;
TemporaryPipelines::TemporaryPipelines(TemporaryPipelines&&) noexcept = default;
TemporaryPipelines& TemporaryPipelines::operator=(TemporaryPipelines&& other) noexcept {
    std::swap(device_, other.device_);
    return *this;
}
TemporaryPipelines::~TemporaryPipelines() {
    if (device_) device_->pipelines->end_temporary();
}

Result<void> set_hang_limit(const Device& device, std::chrono::nanoseconds limit) {
    if (limit < std::chrono::milliseconds(1)) {
        return bad_input("The hang limit of device '{}' is {} ns; it must be at least 1 ms.", device.info().name,
                         limit.count());
    }
    device.impl()->hang_limit = limit;
    return {};
}

}  // namespace yolk

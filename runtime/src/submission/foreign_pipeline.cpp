// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/foreign_pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "device_impl.hpp"
#include "recorder_impl.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/memory.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/runtime/instance.hpp"

namespace yolk {
namespace {

// SwiftShader 25 takes 0.8 GiB and 44 s of a busy core for one roll-out of Acrobot from a file, lavapipe 22 0.1 GiB
// and 0.1 s.
constexpr std::uint64_t kCompilerBytes = std::uint64_t{3} << 30U;
constexpr std::uint64_t kThreadBytes = std::uint64_t{128} << 20U;  // stacks and arenas of a driver's threads
constexpr std::uint64_t kCompilerSeconds = 240;
constexpr std::chrono::minutes kCompilerTime{40};  // on a busy machine

/// KernelModule without its name and code, as a worker of the same version reads it.
struct ModuleNumbers {
    std::uint32_t binding_count = 0, uniform_mask = 0, texel_mask = 0, texel4_mask = 0, params_bytes = 0, needs = 0;
    std::uint32_t unrolled = 0, tolerant = 0;
};

enum RequestField : std::size_t { kUuid, kDeviceName, kKernelName, kNumbers, kCode, kConstants, kFieldCount };

template <class T>
std::string text_of_bytes(std::span<const T> values) {
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}
template <class T>
Result<std::vector<T>> values_in(const std::string& bytes) {
    if (bytes.size() % sizeof(T) != 0) return io_error("A request for a pipeline is not one.", 0);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

WorkerMessage request_of(const DeviceInfo& info, const KernelModule& kernel, std::span<const SpecConstant> constants) {
    const ModuleNumbers numbers{.binding_count = kernel.binding_count,
                                .uniform_mask = kernel.uniform_mask,
                                .texel_mask = kernel.texel_mask,
                                .texel4_mask = kernel.texel4_mask,
                                .params_bytes = kernel.params_bytes,
                                .needs = kernel.needs,
                                .unrolled = kernel.unrolled ? 1U : 0U,
                                .tolerant = kernel.tolerant ? 1U : 0U};
    return {info.uuid,
            info.name,
            std::string(kernel.name),
            text_of_bytes(std::span(&numbers, 1)),
            text_of_bytes(kernel.spirv),
            text_of_bytes(constants)};
}

/// Pipelines that a worker has made: for this process, and, by an empty file for each in the folder of the pipeline
/// cache, for others with the same driver. Thread-safe.
class TriedPipelines {
   public:
    [[nodiscard]] bool contains(const std::string& key, const std::filesystem::path& folder) {
        std::error_code error;
        if (!folder.empty() && std::filesystem::exists(mark_of(key, folder), error)) return true;
        const std::lock_guard lock(mutex_);
        return keys_.contains(key);
    }
    void add(const std::string& key, const std::filesystem::path& folder) {
        // Without the file the next process asks a worker again.
        if (!folder.empty() && create_folders(folder))
            (void)write_file_atomically(mark_of(key, folder), std::string_view());
        const std::lock_guard lock(mutex_);
        keys_.insert(key);
    }

   private:
    static std::filesystem::path mark_of(const std::string& key, const std::filesystem::path& folder) {
        return folder / ("tried-" + key);
    }

    std::mutex mutex_;
    std::set<std::string> keys_;
};

std::string key_of(const WorkerMessage& request, const std::string& driver) {
    Hasher hasher;
    const auto add = [&hasher](const std::string& field) {
        const std::uint64_t size = field.size();
        hasher.add_values(std::span(&size, 1)).add_values(std::span<const char>(field));
    };
    add(driver);
    for (const std::string& field : request) add(field);
    return hasher.hex();
}

/// With buffers of no use, because nothing runs. The worker's limit on processor time is the only one on the wait.
Result<void> make_and_dispatch(const Device& device, const KernelModule& kernel,
                               std::span<const SpecConstant> constants) {
    YOLK_TRY(const PipelineHandle made, device.pipeline(kernel, constants));
    YOLK_TRY(const Buffer buffer, device.create_buffer({.size_bytes = kViewAlignment, .label = "first dispatch"}));
    const std::vector<BufferView> views(kernel.binding_count, buffer);
    YOLK_TRY(const Binding binding, device.bind(made, views));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device, {.hang_limit = kCompilerTime}));
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.label = "first dispatch"}));
    const std::vector<std::byte> params(kernel.params_bytes);
    recorder.begin();
    dispatch_no_workgroup(recorder, binding, params);
    return dispatcher.run(recorder);
}

}  // namespace

Result<void> try_foreign_pipeline(const Device& device, const KernelModule& kernel,
                                  std::span<const SpecConstant> constants) {
    const DeviceInfo& info = device.info();
    if (info.kind != DeviceKind::Cpu || is_worker() || device.impl()->pipelines->leaves_out(kernel, constants))
        return {};
    static TriedPipelines tried;
    const WorkerMessage request = request_of(info, kernel, constants);
    const std::string key = key_of(request, info.driver_uuid);
    const std::filesystem::path folder = device.impl()->pipelines->folder();
    if (tried.contains(key, folder)) return {};
    const std::shared_ptr<CompileWatch> watch = device.impl()->pipelines->watch();
    if (watch && !watch->begins(kernel.name))
        return cancelled("The kernel [{}] was not compiled, because its caller asked for an end.", shown(kernel.name));
    const WorkerLimits limits{.memory_bytes = kCompilerBytes + kThreadBytes * std::thread::hardware_concurrency(),
                              .cpu_seconds = kCompilerSeconds,
                              .time = kCompilerTime,
                              .writes_files = true};  // SwiftShader keeps code in a file in memory
    const Result<WorkerAnswer> answer = call_worker(kPipelineTask, request, limits);
    if (watch) watch->ended();
    if (!answer) return answer.error();
    if (answer->failure) {
        return Error{ErrorKind::Driver,
                     fmt::format("The kernel [{}] cannot be run on '{}': while the driver compiled it, its process {}. "
                                 "It may take {} of memory and {} s of processor time. Make the shader smaller, with "
                                 "fewer loops inside one another, or take another device.",
                                 shown(kernel.name), shown(info.name), answer->failure->how,
                                 size_text(limits.memory_bytes), limits.cpu_seconds)};
    }
    tried.add(key, folder);
    return {};
}

Result<WorkerMessage> pipeline_task(WorkerCall& call) {
    const WorkerMessage& request = call.request();
    if (request.size() != kFieldCount) return bad_input("A request for a pipeline has {} fields.", request.size());
    YOLK_TRY(const std::vector<ModuleNumbers> numbers, values_in<ModuleNumbers>(request[kNumbers]));
    YOLK_TRY(const std::vector<std::uint32_t> code, values_in<std::uint32_t>(request[kCode]));
    YOLK_TRY(const std::vector<SpecConstant> constants, values_in<SpecConstant>(request[kConstants]));
    if (numbers.size() != 1) return bad_input("A request for a pipeline describes {} kernels.", numbers.size());
    const ModuleNumbers& of = numbers.front();
    const KernelModule kernel{.name = request[kKernelName],
                              .spirv = code,
                              .binding_count = of.binding_count,
                              .uniform_mask = of.uniform_mask,
                              .texel_mask = of.texel_mask,
                              .texel4_mask = of.texel4_mask,
                              .params_bytes = of.params_bytes,
                              .unrolled = of.unrolled != 0,
                              .needs = of.needs,
                              .tolerant = of.tolerant != 0};
    YOLK_TRY(const Instance instance, Instance::create());
    const auto is_it = [&request](const DeviceInfo& info) {
        return info.uuid == request[kUuid] && info.name == request[kDeviceName];
    };
    const auto found = std::ranges::find_if(instance.devices(), is_it);
    if (found == instance.devices().end())
        return io_error(fmt::format("The worker does not find the device '{}'; have drivers been removed meanwhile?",
                                    shown(request[kDeviceName])),
                        0);
    YOLK_TRY(const Device device, Device::create(instance, found->index));
    YOLK_TRY_VOID(make_and_dispatch(device, kernel, constants));
    return WorkerMessage{"made"};
}

}  // namespace yolk

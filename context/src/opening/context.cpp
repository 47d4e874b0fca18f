// SPDX-License-Identifier: Apache-2.0
#include "yolk/context.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/runtime/device_selection.hpp"
#include "yolk/internal/runtime/hang_limit.hpp"
#include "yolk/internal/runtime/probe.hpp"

namespace yolk {

/// Destroyed in the reverse order: the dispatcher first, which waits for its work.
struct Context::Impl {
    Instance instance;
    Device device;
    Dispatcher dispatcher;
    std::string label;
};

namespace {

Result<void> check_context_options(const ContextOptions& options) {
    if (!options.tuning && !options.tuning_table.empty()) {
        return bad_input("A context is to take the tuning table '{}' while tuning is off. Give one of the two.",
                         shown(options.tuning_table));
    }
    if (!options.pipeline_cache && !options.cache_folder.empty()) {
        return bad_input(
            "A context is to keep its pipelines in '{}' while the pipeline cache is off. Give one of the two.",
            shown(options.cache_folder));
    }
    return {};
}

/// The place of the table. One that the caller or $YOLK_TABLE names must hold a table of ours, if anything; what lies
/// in the default place is a cache, of which a notice is enough.
Result<std::filesystem::path> table_of(const ContextOptions& options) {
    std::filesystem::path path = options.tuning_table.empty() ? default_table_path() : options.tuning_table;
    const char* named = std::getenv("YOLK_TABLE");  // NOLINT(concurrency-mt-unsafe): nothing of ours sets variables
    if (!options.tuning_table.empty() || (named != nullptr && *named != '\0')) YOLK_TRY_VOID(check_tuning_table(path));
    return path;
}

Result<std::uint32_t> chosen_index(const Instance& instance, const std::string& wanted) {
    Result<DeviceChoice> choice = choose_device(instance.devices(), requested_device(wanted));
    if (choice) return choice->index;
    if (wanted.empty() && !requested_device(wanted).empty())
        return std::move(choice).error().while_doing("choosing the device that $YOLK_DEVICE names");
    return std::move(choice).error();
}

/// Whether the device does what the options want of it.
Result<void> check_execution(const Device& device, const ContextOptions& options) {
    const std::string& reason = device.findings().not_executing_reason;
    if (reason.empty() || options.may_not_execute) return {};
    return unsupported(
        "Nothing can be run on '{}': {}. `yolk inspect` shows what its compiler makes of kernels, `yolk devices` what "
        "it has; for everything else choose another device (--device, $YOLK_DEVICE).",
        device.info().name, reason);
}

}  // namespace

std::string requested_device(const std::string& wanted) {
    if (!wanted.empty()) return wanted;
    const char* named = std::getenv("YOLK_DEVICE");  // NOLINT(concurrency-mt-unsafe): nothing of ours sets variables
    return named != nullptr ? named : "";
}

Result<Context> Context::create(const ContextOptions& options) {
    YOLK_TRY(const Instance instance, Instance::create());
    return create(instance, options);
}

Result<Context> Context::create(const Instance& instance, const ContextOptions& options) {
    YOLK_TRY_VOID(check_context_options(options));
    YOLK_TRY(const std::uint32_t index, chosen_index(instance, options.device));
    std::filesystem::path table;
    if (options.tuning) {
        YOLK_TRY(table, table_of(options));
    }
    std::filesystem::path cache_folder = options.cache_folder;
    const bool captures = options.pipeline_capture != PipelineCapture::Nothing;
    if (options.pipeline_cache && !captures && cache_folder.empty()) cache_folder = default_cache_folder();
    YOLK_TRY(Device device, Device::create(instance, index,
                                           {.memory_policy = options.memory_policy,
                                            .pipeline_cache_folder = std::move(cache_folder),
                                            .pipeline_capture = options.pipeline_capture}));
    YOLK_TRY_VOID(set_hang_limit(device, options.hang_limit));
    YOLK_TRY_VOID(probe(device));  // plans respect what it finds
    YOLK_TRY_VOID(check_execution(device, options));
    if (options.tuning) load_tuning(device, table);
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    return Context(std::make_shared<Impl>(Impl{instance, std::move(device), std::move(dispatcher), options.label}));
}

const Instance& Context::instance() const noexcept { return impl_->instance; }
const Device& Context::device() const noexcept { return impl_->device; }
Dispatcher& Context::dispatcher() const noexcept { return impl_->dispatcher; }

Result<Buffer> Context::scratch(const MemoryNeeds& needs, std::string label) const {
    if (needs.size_bytes == 0) return Buffer();
    return device().create_buffer({.size_bytes = needs.size_bytes, .label = std::move(label)});
}

Result<Buffer> Context::allocate_bytes(std::uint64_t count, std::size_t value_bytes, std::string label) const {
    if (count > UINT64_MAX / value_bytes) {
        return bad_input("The buffer [{}] was asked for with {} values of {} bytes, which is more than 2^64 bytes.",
                         label, count, value_bytes);
    }
    return device().create_buffer({.size_bytes = count * value_bytes, .label = std::move(label)});
}

Result<Buffer> Context::upload_bytes(std::span<const std::byte> bytes, std::string label) const {
    YOLK_TRY(Buffer buffer, device().create_buffer({.size_bytes = bytes.size(), .label = std::move(label)}));
    YOLK_TRY_VOID(dispatcher().upload(buffer, bytes));
    return buffer;
}

Result<void> Context::check_download(const BufferView& from, std::size_t value_bytes) {
    YOLK_TRY_VOID(check_inside(from, "the view to download"));
    if (from.size_bytes % value_bytes == 0) return {};
    return bad_input("Cannot download {} bytes as values of {} bytes: {} are left over. Give a view of whole values.",
                     from.size_bytes, value_bytes, from.size_bytes % value_bytes);
}

Error Context::no_host_memory(const BufferView& from) {
    return {ErrorKind::OutOfMemory,
            fmt::format("There is no host memory to download {} bytes to. Download in parts.", from.size_bytes)};
}

void Context::separate(Recorder& recorder) noexcept {
    recorder.barrier(Barrier::ComputeToCompute);
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.barrier(Barrier::TransferToCompute);
    recorder.barrier(Barrier::TransferToTransfer);
}

Result<Recorder> Context::create_recorder() const { return Recorder::create(device(), {.label = impl_->label}); }

Result<void> Context::run_recorded(Recorder& recorder) const {
    recorder.barrier(Barrier::ToHost);
    return dispatcher().run(recorder);
}

}  // namespace yolk

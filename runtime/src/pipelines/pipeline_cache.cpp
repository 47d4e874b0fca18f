// SPDX-License-Identifier: Apache-2.0
#include "pipeline_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "driver_code.hpp"
#include "host_room.hpp"
#include "pipeline_file.hpp"
#include "pipeline_reader.hpp"
#include "vk_result.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/runtime/low_precision.hpp"
#include "yolk/internal/shaders/module_interface.hpp"
#include "yolk/log.hpp"

namespace yolk {
namespace {

std::string constants_text(const std::vector<SpecConstant>& constants) {
    std::string text;
    for (const auto& [id, value] : constants) text += fmt::format("{}{}={}", text.empty() ? "" : " ", id, value);
    return text.empty() ? "no constants" : text;
}

/// Entries whose pipeline was made.
template <class Entries>
std::uint64_t made_of(const Entries& entries) {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        entries, [](const auto& entry) { return entry.second->pipeline.handle != VK_NULL_HANDLE; }));
}

}  // namespace

PipelineCache::PipelineCache(const DeviceContext& context, PipelineCapture capture, std::size_t max_file_bytes)
    : context_(context), capture_(capture), max_file_bytes_(max_file_bytes) {}

PipelineCache::~PipelineCache() {
    if (context_.abandon(made_of(entries_) + 2 * layouts_.size() + (cache_ != VK_NULL_HANDLE ? 1 : 0))) return;
    destroy(entries_);
    for (const auto& [key, layout] : layouts_) {
        context_.vk.vkDestroyPipelineLayout(context_.handle, layout.pipeline, nullptr);
        context_.vk.vkDestroyDescriptorSetLayout(context_.handle, layout.set, nullptr);
    }
    context_.vk.vkDestroyPipelineCache(context_.handle, cache_, nullptr);
}

void PipelineCache::destroy(const Entries& entries) const noexcept {
    for (const auto& [key, entry] : entries)
        context_.vk.vkDestroyPipeline(context_.handle, entry->pipeline.handle, nullptr);
}

std::vector<std::byte> PipelineCache::read_file_payload() const {
    std::error_code ignored;
    if (file_.empty()) return {};
    remove_abandoned_parts(file_);
    if (!std::filesystem::exists(file_, ignored)) return {};
    auto bytes = read_file(file_, max_file_bytes_);
    if (!bytes) {
        log_warning(fmt::format("The pipeline cache is not used: {}", bytes.error().message));
        return {};
    }
    auto payload = decode_pipeline_file(context_.info, *bytes);
    if (!payload) {
        log_warning(fmt::format("The pipeline cache '{}' is ignored: {}.", shown(file_), payload.error().message));
        return {};
    }
    return *std::move(payload);
}

Result<void> PipelineCache::open(const std::filesystem::path& folder) {
    if (!folder.empty() && capture_ == PipelineCapture::Nothing) file_ = folder / pipeline_file_name(context_.info);
    // Statistics say how long it takes to make a pipeline anew. Code is the same, made or kept.
    const bool takes_kept = capture_ == PipelineCapture::Nothing || capture_ == PipelineCapture::Code;
    if (!folder.empty() && takes_kept) modules_.open(folder);
    const std::vector<std::byte> payload = read_file_payload();
    saved_hash_ = payload.empty() ? 0 : hash64(payload);
    YOLK_TRY(cache_, make_driver_cache(payload));
    return {};
}

Result<VkPipelineCache> PipelineCache::make_driver_cache(std::span<const std::byte> payload) const {
    const VkPipelineCacheCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                         .initialDataSize = payload.size(),
                                         .pInitialData = payload.empty() ? nullptr : payload.data()};
    VkPipelineCache made = VK_NULL_HANDLE;
    const VkResult result = context_.vk.vkCreatePipelineCache(context_.handle, &info, nullptr, &made);
    if (result != VK_SUCCESS)
        return vk_error(result, fmt::format("create the pipeline cache of device '{}'", context_.info.name));
    return made;
}

Result<void> PipelineCache::begin_temporary() {
    auto begun = std::make_unique<Temporary>();
    begun->owner = std::this_thread::get_id();
    YOLK_TRY(begun->cache, make_driver_cache({}));
    const std::unique_lock lock(mutex_);
    if (temporary_ == nullptr) {
        temporary_ = std::move(begun);
        return {};
    }
    context_.vk.vkDestroyPipelineCache(context_.handle, begun->cache, nullptr);
    return bad_input("Temporary pipelines of device '{}' are open already; end those first.", context_.info.name);
}

void PipelineCache::end_temporary() noexcept {
    std::unique_ptr<Temporary> ended;
    {
        const std::lock_guard lock(mutex_);
        ended = std::move(temporary_);
    }
    if (ended == nullptr || context_.abandon(made_of(ended->entries) + 1)) return;
    destroy(ended->entries);
    context_.vk.vkDestroyPipelineCache(context_.handle, ended->cache, nullptr);
}

void PipelineCache::watch(std::shared_ptr<CompileWatch> watch) {
    const std::lock_guard lock(mutex_);
    watch_.swap(watch);
}

std::shared_ptr<CompileWatch> PipelineCache::watch() {
    const std::lock_guard lock(mutex_);
    return watch_;
}

std::vector<PipelineReport> PipelineCache::take_reports() {
    const std::lock_guard lock(mutex_);
    return std::exchange(reports_, {});
}

void PipelineCache::leave_out(std::function<bool(std::uint64_t identity)> is_left_out) {
    const std::lock_guard lock(mutex_);
    is_left_out_ = std::move(is_left_out);
}

bool PipelineCache::leaves_out(const KernelModule& kernel, std::span<const SpecConstant> constants) {
    const std::uint64_t identity = Key(kernel, constants).identity();
    const std::lock_guard lock(mutex_);
    return leaves_out(identity);
}

bool PipelineCache::leaves_out(std::uint64_t identity) const {
    return capture_ != PipelineCapture::Nothing && is_left_out_(identity);
}

PipelineCache::Temporary* PipelineCache::temporary_of_this_thread() const noexcept {
    const bool ours = temporary_ != nullptr && temporary_->owner == std::this_thread::get_id();
    return ours ? temporary_.get() : nullptr;
}

Result<void> PipelineCache::save() {
    if (file_.empty()) return {};
    const std::lock_guard file_lock(file_mutex_);
    {
        const std::lock_guard lock(mutex_);
        if (!made_since_save_) return {};
    }
    std::size_t size = 0;
    const std::string what = fmt::format("read the pipeline cache of device '{}'", context_.info.name);
    YOLK_TRY_VOID(vk_check(context_.vk.vkGetPipelineCacheData(context_.handle, cache_, &size, nullptr), what));
    size = std::min(size, max_file_bytes_ - kPipelineFileHeaderBytes);
    std::vector<std::byte> payload(size);
    // VK_INCOMPLETE: there is more than a file may hold, or another thread's pipeline made it grow since; what was
    // given is a legal cache all the same.
    const VkResult result = context_.vk.vkGetPipelineCacheData(context_.handle, cache_, &size, payload.data());
    if (result != VK_INCOMPLETE) YOLK_TRY_VOID(vk_check(result, what));
    payload.resize(size);
    const std::uint64_t hash = hash64(payload);
    if (hash != saved_hash_) {
        YOLK_TRY_VOID(create_folders(file_.parent_path()));
        YOLK_TRY_VOID(write_file_atomically(file_, encode_pipeline_file(context_.info, payload)));
        saved_hash_ = hash;
    }
    modules_.prune();
    const std::lock_guard lock(mutex_);
    made_since_save_ = false;
    return {};
}

Result<const Pipeline*> PipelineCache::get(const KernelModule& kernel, std::span<const SpecConstant> constants) {
    const Key key(kernel, constants);
    Entry* entry = nullptr;
    bool temporary = false;
    {
        const std::lock_guard lock(mutex_);
        Entries* into = &entries_;
        if (Temporary* ours = temporary_of_this_thread(); ours != nullptr && !entries_.contains(key)) {
            into = &ours->entries;
            temporary = true;
        }
        const auto found = into->find(key);
        if (found != into->end()) entry = found->second.get();
    }
    if (entry == nullptr) {
        YOLK_TRY_VOID(check(kernel, key));
        const std::lock_guard lock(mutex_);
        Entries& into = temporary ? temporary_->entries : entries_;
        entry = into.try_emplace(key, std::make_unique<Entry>()).first->second.get();
    }
    const std::lock_guard making(entry->making);
    if (entry->pipeline.handle == VK_NULL_HANDLE) YOLK_TRY_VOID(make(kernel, key, temporary, entry->pipeline));
    return &entry->pipeline;
}

Result<void> PipelineCache::check(const KernelModule& kernel, const Key& key) const {
    const DeviceLimits& limits = context_.info.limits;
    if (kernel.spirv.empty()) return bad_input("The kernel [{}] has no code.", kernel.name);
    if (const std::string missing = missing_needs(context_.info, kernel.needs); !missing.empty()) {
        return unsupported("The kernel [{}] needs {}, which device '{}' does not have.", kernel.name, missing,
                           context_.info.name);
    }
    if (kernel.binding_count > 32) {
        return bad_input("The kernel [{}] has {} bindings; at most 32 are allowed.", kernel.name, kernel.binding_count);
    }
    if (kernel.params_bytes > limits.max_push_constants_size || kernel.params_bytes % 4 != 0) {
        return unsupported("The kernel [{}] has {} bytes of parameters; device '{}' takes {}, in multiples of 4.",
                           kernel.name, kernel.params_bytes, context_.info.name, limits.max_push_constants_size);
    }
    if (kernel.binding_count > limits.max_storage_buffers_per_stage) {
        return unsupported("The kernel [{}] has {} bindings; device '{}' takes {}.", kernel.name, kernel.binding_count,
                           context_.info.name, limits.max_storage_buffers_per_stage);
    }
    const auto twice = std::ranges::adjacent_find(key.constants, {}, &SpecConstant::id);
    if (twice != key.constants.end()) {
        return bad_input("Specialization constant {} of the kernel [{}] was given twice.", twice->id, kernel.name);
    }
    return {};
}

Result<VkDescriptorSetLayout> PipelineCache::make_set_layout(const KernelModule& kernel) const {
    std::vector<VkDescriptorSetLayoutBinding> bindings(kernel.binding_count);
    const BindingKinds kinds(kernel);
    for (std::uint32_t b = 0; b < kernel.binding_count; ++b) {
        bindings[b] = {.binding = b,
                       .descriptorType = kinds.type_of(b),
                       .descriptorCount = 1,
                       .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    }
    const VkDescriptorSetLayoutCreateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                               .bindingCount = kernel.binding_count,
                                               .pBindings = bindings.data()};
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
    const VkResult result = context_.vk.vkCreateDescriptorSetLayout(context_.handle, &info, nullptr, &set_layout);
    if (result != VK_SUCCESS)
        return vk_error(result, fmt::format("create the binding layout of the kernel [{}]", kernel.name));
    return set_layout;
}

Result<PipelineCache::Layout> PipelineCache::layout(const KernelModule& kernel) {
    const KernelSignature key(kernel);
    const std::lock_guard lock(mutex_);
    if (const auto found = layouts_.find(key); found != layouts_.end()) return found->second;
    Layout made;
    YOLK_TRY(made.set, make_set_layout(kernel));
    const VkPushConstantRange params{
        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .offset = 0, .size = kernel.params_bytes};
    const VkPipelineLayoutCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                          .setLayoutCount = 1,
                                          .pSetLayouts = &made.set,
                                          .pushConstantRangeCount = kernel.params_bytes > 0 ? 1U : 0U,
                                          .pPushConstantRanges = &params};
    const VkResult result = context_.vk.vkCreatePipelineLayout(context_.handle, &info, nullptr, &made.pipeline);
    if (result != VK_SUCCESS) {
        context_.vk.vkDestroyDescriptorSetLayout(context_.handle, made.set, nullptr);
        return vk_error(result, fmt::format("create the pipeline layout of the kernel [{}]", kernel.name));
    }
    layouts_.emplace(key, made);
    return made;
}

Result<void> PipelineCache::make(const KernelModule& kernel, const Key& key, bool temporary, Pipeline& pipeline) {
    YOLK_TRY(const Layout layout_of_kernel, layout(kernel));
    // One that was left out has been given out, and others may be reading it.
    const bool is_new = pipeline.context == nullptr;
    if (is_new) {
        pipeline = {.layout = layout_of_kernel.pipeline,
                    .set_layout = layout_of_kernel.set,
                    .signature = KernelSignature(kernel),
                    .name = std::string(kernel.name),
                    .context = &context_};
    }
    VkPipelineCache cache = cache_;
    std::shared_ptr<CompileWatch> watch;
    bool left_out = false;
    {
        const std::lock_guard lock(mutex_);
        left_out = leaves_out(key.identity());
        if (left_out && (capture_ != PipelineCapture::Code || !is_new)) return {};
        if (temporary) cache = temporary_->cache;
        watch = watch_;
    }
    if (capture_ != PipelineCapture::Nothing) cache = VK_NULL_HANDLE;
    if (watch && !watch->begins(kernel.name))
        return cancelled("The kernel [{}] was not compiled, because its caller asked for an end.", kernel.name);
    const auto begin = std::chrono::steady_clock::now();
    const bool keeps = !temporary || capture_ == PipelineCapture::Code;  // the module, for whoever compiles it
    Result<std::vector<std::uint32_t>> code =
        code_for_driver(context_.info, modules_, kernel, key.spirv_hash, key.constants, keeps);
    Result<VkPipeline> compiled = VkPipeline{VK_NULL_HANDLE};
    if (!code) {
        compiled = code.error();
    } else if (!left_out) {
        compiled = compile(kernel, key, layout_of_kernel.pipeline, *code, cache);
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (watch) watch->ended();
    if (capture_ != PipelineCapture::Nothing)
        compiled = report(kernel, key, taken.count(), std::move(code), std::move(compiled));
    YOLK_TRY(pipeline.handle, compiled);
    if (left_out) return {};
    context_.name(VK_OBJECT_TYPE_PIPELINE, pipeline.handle, pipeline.name);
    context_.counters.pipelines_created.fetch_add(1);
    if (temporary) return {};
    const std::lock_guard lock(mutex_);
    made_since_save_ = true;
    return {};
}

Result<VkPipeline> PipelineCache::report(const KernelModule& kernel, const Key& key, double seconds,
                                         Result<std::vector<std::uint32_t>> code, Result<VkPipeline> compiled) {
    PipelineReport made{.kernel = std::string(kernel.name),
                        .constants = key.constants,
                        .identity = key.identity(),
                        .tolerant = kernel.tolerant,
                        .specialized = !kernel.unrolled && leaves_constants(context_.info),
                        .compile_seconds = seconds};
    if (capture_ == PipelineCapture::Code && code) made.code = *std::move(code);
    if (const Result<ModuleInterface> interface = read_interface(kernel.spirv)) {
        if (const std::optional<WorkgroupUse> use = interface->workgroup(key.constants)) {
            made.workgroup_size = use->size[0] * use->size[1] * use->size[2];
            made.declared_shared = use->shared_bytes;
        }
    }
    if (!compiled) {
        made.refused = compiled.error().message;
    } else if (capture_ != PipelineCapture::Code && context_.info.features.pipeline_statistics) {
        Result<std::vector<PipelineExecutable>> read = read_executables(context_, *compiled, capture_);
        if (!read) {
            context_.vk.vkDestroyPipeline(context_.handle, *compiled, nullptr);
            return std::move(read).error();
        }
        made.executables = *std::move(read);
    }
    const std::lock_guard lock(mutex_);
    reports_.push_back(std::move(made));
    return compiled;
}

Result<VkPipeline> PipelineCache::compile(const KernelModule& kernel, const Key& key, VkPipelineLayout layout,
                                          std::span<const std::uint32_t> code, VkPipelineCache cache) {
    const std::string what = fmt::format("compile the kernel [{}] with {} on device '{}'", kernel.name,
                                         constants_text(key.constants), context_.info.name);
    if (const std::string lacks = lacks_host_room(context_.info, 0);
        !lacks.empty() && context_.info.kind == DeviceKind::Cpu) {
        return Error{ErrorKind::OutOfMemory,
                     fmt::format("Cannot {}: {}. Make more memory available, or ask for less.", what, lacks), 0};
    }
    const VkShaderModuleCreateInfo module_info{
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = code.size_bytes(), .pCode = code.data()};
    VkShaderModule module = VK_NULL_HANDLE;
    YOLK_TRY_VOID(vk_check(context_.vk.vkCreateShaderModule(context_.handle, &module_info, nullptr, &module), what));
    // In a specialized module no constant is left that these could set; they are ignored.
    std::vector<VkSpecializationMapEntry> entries(key.constants.size());
    for (std::uint32_t i = 0; i < entries.size(); ++i) {
        const auto offset = static_cast<std::uint32_t>(i * sizeof(SpecConstant) + offsetof(SpecConstant, value));
        entries[i] = {.constantID = key.constants[i].id, .offset = offset, .size = sizeof(SpecConstant::value)};
    }
    const VkSpecializationInfo specialization{.mapEntryCount = static_cast<std::uint32_t>(entries.size()),
                                              .pMapEntries = entries.data(),
                                              .dataSize = std::span(key.constants).size_bytes(),
                                              .pData = key.constants.data()};
    const bool has_statistics = context_.info.features.pipeline_statistics;
    const VkPipelineCreateFlags flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT |  // grids are cut by rows
                                        (has_statistics ? capture_flags(capture_) : 0U);
    const VkComputePipelineCreateInfo info{.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                           .flags = flags,
                                           .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                     .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                     .module = module,
                                                     .pName = "main",
                                                     .pSpecializationInfo = &specialization},
                                           .layout = layout};
    VkPipeline pipeline = VK_NULL_HANDLE;
    const VkResult result = context_.vk.vkCreateComputePipelines(context_.handle, cache, 1, &info, nullptr, &pipeline);
    context_.vk.vkDestroyShaderModule(context_.handle, module, nullptr);
    if (result != VK_SUCCESS) return vk_error(result, what);
    return pipeline;
}

}  // namespace yolk

// SPDX-License-Identifier: Apache-2.0
#include "user_kernel_module.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "yolk/internal/core/memory.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/runtime/dispatch_part.hpp"
#include "yolk/internal/runtime/foreign_pipeline.hpp"

namespace yolk::autotune {
namespace {

using oracle::ElementType;

// SPIR-V's capabilities. Subgroup operations are part of Vulkan 1.1.
constexpr std::uint32_t kMatrix = 0, kShader = 1, kFloat16 = 9, kInt8 = 39;
constexpr std::uint32_t kFirstSubgroup = 61, kLastSubgroup = 68, kStorage16 = 4433, kStorage8 = 4448;
constexpr std::uint32_t kFirstDot = 6016, kLastDot = 6019;

/// As NVIDIA's GPUs have them; a CPU driver takes them of its thread's stack, once for each invocation of a subgroup.
constexpr std::uint64_t kMostLocalBytes = std::uint64_t{512} << 10U;

bool is_enabled(std::uint32_t capability, const DeviceFeatures& has) {
    switch (capability) {
        case kMatrix:
        case kShader: return true;
        case kFloat16: return has.shader_float16;
        case kInt8: return has.shader_int8;
        case kStorage16: return has.storage_16bit;
        case kStorage8: return has.storage_8bit;
        default: break;
    }
    if (capability >= kFirstDot && capability <= kLastDot) return has.shader_integer_dot_product;
    return capability >= kFirstSubgroup && capability <= kLastSubgroup;
}

ScalarType scalar_of(ElementType element) {
    switch (element) {
        case ElementType::I32: return ScalarType::I32;
        case ElementType::U32: return ScalarType::U32;
        case ElementType::F32: break;
    }
    return ScalarType::F32;
}

/// Nothing where the type cannot hold the value.
std::optional<std::uint32_t> scalar_word(ScalarType type, const ExpressionValue& value) {
    const auto* whole = std::get_if<std::int64_t>(&value);
    const auto* const real = std::get_if<double>(&value);
    const bool* const truth = std::get_if<bool>(&value);
    // One fraction among a parameter's values makes all of them reals; the fraction is what does not fit.
    std::int64_t of_real = 0;
    if (real != nullptr && std::abs(*real) <= 0xFFFFFFFFU && *real == std::floor(*real) && type != ScalarType::Bool) {
        of_real = static_cast<std::int64_t>(*real);
        whole = &of_real;
    }
    switch (type) {
        case ScalarType::U32:
            if (whole == nullptr || *whole < 0 || *whole > INT64_C(0xFFFFFFFF)) return std::nullopt;
            return static_cast<std::uint32_t>(*whole);
        case ScalarType::I32:
            if (whole == nullptr || *whole < INT32_MIN || *whole > INT32_MAX) return std::nullopt;
            return static_cast<std::uint32_t>(*whole);
        case ScalarType::F32: {
            if (whole == nullptr && real == nullptr) return std::nullopt;
            const double number = whole != nullptr ? static_cast<double>(*whole) : *real;
            if (!(std::abs(number) <= 3.4028234663852886e38)) return std::nullopt;
            return std::bit_cast<std::uint32_t>(static_cast<float>(number));
        }
        case ScalarType::Bool:
            if (truth != nullptr) return *truth ? 1U : 0U;
            return whole != nullptr && (*whole == 0 || *whole == 1) ? std::optional(static_cast<std::uint32_t>(*whole))
                                                                    : std::nullopt;
        case ScalarType::Other: break;
    }
    return std::nullopt;
}

/// Parts along each dimension of a grid that runs backwards, at most; in all kMostParts^3, a barrier between any two.
constexpr std::uint32_t kMostParts = 8;

/// Where the parts of `groups` workgroups begin, from the last part to the first.
std::vector<std::pair<std::uint32_t, std::uint32_t>> parts_backwards(std::uint32_t groups) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> parts;  // first, count
    const std::uint32_t count = std::min(groups, kMostParts);
    for (std::uint32_t part = count; part-- > 0;) {
        const auto begin_of = [&](std::uint32_t p) {
            return static_cast<std::uint32_t>(std::uint64_t{groups} * p / count);
        };
        parts.emplace_back(begin_of(part), begin_of(part + 1) - begin_of(part));
    }
    return parts;
}

void record_backwards(Recorder& recorder, const Binding& binding, const KernelRun& run) {
    const auto params = std::as_bytes(std::span(run.push_words));
    bool is_first = true;
    for (const auto& [z, depth] : parts_backwards(run.groups.z)) {
        for (const auto& [y, height] : parts_backwards(run.groups.y)) {
            for (const auto& [x, width] : parts_backwards(run.groups.x)) {
                if (!std::exchange(is_first, false)) recorder.barrier(Barrier::ComputeToCompute);
                dispatch_part(recorder, binding, params, {x, y, z}, {width, height, depth});
            }
        }
    }
}

class PlannedKernel final : public oracle::PlannedProblem {
   public:
    /// `places`: for each binding of the shader the buffer's index, or nothing.
    PlannedKernel(const Device& device, PipelineHandle pipeline, SharedKernel kernel,
                  std::vector<std::optional<std::size_t>> places, KernelRun run)
        : device_(device),
          pipeline_(pipeline),
          kernel_(std::move(kernel)),
          places_(std::move(places)),
          run_(std::move(run)) {}

    [[nodiscard]] MemoryNeeds scratch() const override {
        const bool any = std::ranges::any_of(places_, [](const auto& place) { return !place; });
        return {.size_bytes = any ? kViewAlignment : 0};
    }
    [[nodiscard]] Result<Record> bind(std::span<const BufferView> views, const BufferView& scratch) const override {
        YOLK_TRY(std::shared_ptr<const Binding> bound, bound_to(views, scratch));
        return Record([bound = std::move(bound), run = run_](Recorder& recorder) {
            recorder.dispatch(*bound, std::as_bytes(std::span(run.push_words)), run.groups);
        });
    }
    /// A block whose array is asked for its length would see more elements.
    [[nodiscard]] bool takes_room(std::size_t buffer, oracle::BufferRole /*role*/) const override {
        return std::ranges::all_of(kernel_->interface.bindings, [&](const InterfaceBinding& binding) {
            return places_[binding.binding] != buffer || (!binding.is_uniform && !binding.asks_length);
        });
    }
    /// A shader that asks for the number of workgroups would see that of a part; one workgroup has no order.
    [[nodiscard]] std::optional<Result<Record>> bind_backwards(std::span<const BufferView> views,
                                                               const BufferView& scratch) const override {
        const std::uint64_t groups = std::uint64_t{run_.groups.x} * run_.groups.y * run_.groups.z;
        if (run_.has_order || kernel_->interface.asks_group_count || groups == 1) return std::nullopt;
        Result<std::shared_ptr<const Binding>> bound = bound_to(views, scratch);
        if (!bound) return Result<Record>(bound.error());
        return Result<Record>(
            Record([bound = *bound, run = run_](Recorder& recorder) { record_backwards(recorder, *bound, run); }));
    }

   private:
    [[nodiscard]] Result<std::shared_ptr<const Binding>> bound_to(std::span<const BufferView> views,
                                                                  const BufferView& scratch) const {
        std::vector<BufferView> arranged;
        arranged.reserve(places_.size());
        for (const std::optional<std::size_t>& place : places_) arranged.push_back(place ? views[*place] : scratch);
        YOLK_TRY(Binding binding, device_.bind(pipeline_, arranged));
        return std::make_shared<const Binding>(std::move(binding));
    }

    const Device& device_;
    PipelineHandle pipeline_;
    SharedKernel kernel_;
    std::vector<std::optional<std::size_t>> places_;
    KernelRun run_;
};

}  // namespace

bool is_above_fp32(const CompiledKernel& kernel) {
    return std::ranges::any_of(kernel.interface.capabilities, [](std::uint32_t capability) {
        return capability == kFloat16 || capability == kInt8 || (capability >= kFirstDot && capability <= kLastDot);
    });
}

Result<SharedKernel> compile_user_kernel(const KernelSource& source, const KernelCompileOptions& options,
                                         const DeviceInfo& info) {
    auto kernel = std::make_shared<CompiledKernel>();
    kernel->name = source.name;
    YOLK_TRY(kernel->spirv, compile_kernel(source, options));
    YOLK_TRY(kernel->interface, read_interface(kernel->spirv));
    for (const std::uint32_t capability : kernel->interface.capabilities) {
        if (is_enabled(capability, info.features)) continue;
        return unsupported(
            "The shader '{}' needs capability {} of SPIR-V, which is not enabled on '{}'. Allowed are 32-bit "
            "arithmetic, subgroup operations, and where the device has them 16- and 8-bit storage, float16, int8 and "
            "integer dot products.",
            shown(source.name), capability, shown(info.name));
    }
    const InterfaceBinding* before = nullptr;
    for (const InterfaceBinding& binding : kernel->interface.bindings) {
        if (!binding.is_buffer)
            return bad_input(
                "The shader '{}' has '{}' at binding {}, which is not a single buffer; images, samplers and arrays of "
                "buffers cannot be given to it.",
                shown(source.name), shown(binding.name), binding.binding);
        if (binding.set != 0)
            return bad_input("The shader '{}' has '{}' in set {}; buffers are in set 0.", shown(source.name),
                             shown(binding.name), binding.set);
        if (before != nullptr && before->binding == binding.binding)
            return bad_input(
                "The shader '{}' has both '{}' and '{}' at binding {}; one buffer has one binding and each binding one "
                "declaration.",
                shown(source.name), shown(before->name), shown(binding.name), binding.binding);
        before = &binding;
    }
    return SharedKernel(std::move(kernel));
}

Result<void> check_buffers(const CompiledKernel& kernel, std::span<const KernelBuffer> buffers, bool all_used) {
    std::vector<std::uint32_t> there;
    for (const InterfaceBinding& binding : kernel.interface.bindings) {
        there.push_back(binding.binding);
        const auto buffer = std::ranges::find(buffers, binding.binding, &KernelBuffer::binding);
        if (buffer == buffers.end()) {
            return bad_input(
                "The shader '{}' has '{}' at binding {}, for which no buffer is declared; add one to 'buffers'.",
                shown(kernel.name), shown(binding.name), binding.binding);
        }
        if (binding.element != ScalarType::Other && binding.element != scalar_of(buffer->element)) {
            return bad_input("The buffer '{}' is declared as {}; the shader '{}' has {} at binding {}.",
                             shown(buffer->name), to_string(scalar_of(buffer->element)), shown(kernel.name),
                             to_string(binding.element), binding.binding);
        }
        if (buffer->is_checked() && all_used && (binding.is_readonly || binding.is_uniform)) {
            return bad_input(
                "The buffer '{}' is declared as written; the shader '{}' can only read binding {}. Give it the role "
                "input, or take readonly or uniform away.",
                shown(buffer->name), shown(kernel.name), binding.binding);
        }
    }
    if (!all_used) return {};
    for (const KernelBuffer& buffer : buffers) {
        if (std::ranges::find(there, buffer.binding) != there.end()) continue;
        return bad_input("The buffer '{}' is declared at binding {}, which the shader '{}' does not have; it has {}.",
                         shown(buffer.name), buffer.binding, shown(kernel.name), fmt::join(there, ", "));
    }
    return {};
}

Result<void> check_push_constants(const CompiledKernel& kernel, std::span<const KernelPush> declared) {
    const std::size_t declared_bytes = declared.size() * sizeof(std::uint32_t);
    if (kernel.interface.push_bytes != declared_bytes) {
        return bad_input(
            "The shader '{}' has {} bytes of push constants; {} are declared (4 for each entry of 'push_constants').",
            shown(kernel.name), kernel.interface.push_bytes, declared_bytes);
    }
    for (const InterfaceMember& member : kernel.interface.push_constants) {
        const std::size_t index = member.offset_bytes / sizeof(std::uint32_t);
        if (member.type == ScalarType::Other || index >= declared.size()) continue;
        if (member.type != scalar_of(declared[index].type)) {
            return bad_input("push_constants[{}] is {}; the shader '{}' has {} there ('{}').", index,
                             to_string(scalar_of(declared[index].type)), shown(kernel.name), to_string(member.type),
                             shown(member.name));
        }
    }
    return {};
}

Result<SpecConstant> spec_constant(const CompiledKernel& kernel, std::uint32_t id, const ExpressionValue& value) {
    const auto& constants = kernel.interface.constants;
    const auto found = std::ranges::find(constants, id, &InterfaceConstant::id);
    if (found == constants.end()) {
        std::vector<std::uint32_t> ids;
        ids.reserve(constants.size());
        for (const InterfaceConstant& constant : constants) ids.push_back(constant.id);
        return bad_input("The shader '{}' has no specialization constant {}; it has {}.", shown(kernel.name), id,
                         ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", ")));
    }
    if (const std::optional<std::uint32_t> word = scalar_word(found->type, value)) return SpecConstant{id, *word};
    return bad_input("{} is not a legal value of the specialization constant {} of '{}'{}, which is {}.",
                     to_text(value), id, shown(kernel.name),
                     found->name.empty() ? "" : fmt::format(" ({})", shown(found->name)), to_string(found->type));
}

Result<void> check_workgroup(const CompiledKernel& kernel, std::span<const SpecConstant> constants,
                             const DeviceLimits& limits) {
    if (const std::uint64_t local = kernel.interface.local_bytes(constants); local > kMostLocalBytes) {
        return unsupported(
            "The local variables of an invocation take {}, most of it in arrays; at most {} are allowed.",
            size_text(local), size_text(kMostLocalBytes));
    }
    const std::optional<WorkgroupUse> use = kernel.interface.workgroup(constants);
    if (!use) return {};  // the driver decides
    std::uint64_t invocations = 1;
    for (std::size_t i = 0; i < 3; ++i) {
        if (use->size[i] == 0 || use->size[i] > limits.max_workgroup_size[i]) {
            return unsupported("The workgroup is {}; the device takes 1 to {} along each dimension.",
                               fmt::join(use->size, " x "), fmt::join(limits.max_workgroup_size, ", "));
        }
        invocations *= use->size[i];
        if (invocations > limits.max_workgroup_invocations) {
            return unsupported("The workgroup {} has more than {} invocations, all that the device takes.",
                               fmt::join(use->size, " x "), limits.max_workgroup_invocations);
        }
    }
    if (use->shared_bytes > limits.max_shared_memory_size) {
        return unsupported("A workgroup shares {} bytes; the device has {}.", use->shared_bytes,
                           limits.max_shared_memory_size);
    }
    return {};
}

Result<KernelRun> run_of(const KernelLaunch& launch, std::span<const ExpressionValue> values,
                         const DeviceLimits& limits) {
    KernelRun run;
    std::array<std::uint64_t, 3> groups{};
    for (std::size_t i = 0; i < 3; ++i) {
        YOLK_TRY(groups[i], launch.groups[i].evaluate_count(values));
        if (groups[i] == 0) return bad_input("'{}' dispatches no workgroup.", shown(launch.groups[i].text()));
        if (groups[i] > limits.max_workgroup_count[i]) {
            return unsupported("'{}' dispatches {} workgroups; the device takes {}.", shown(launch.groups[i].text()),
                               groups[i], limits.max_workgroup_count[i]);
        }
    }
    run.groups = {static_cast<std::uint32_t>(groups[0]), static_cast<std::uint32_t>(groups[1]),
                  static_cast<std::uint32_t>(groups[2])};
    for (const KernelPush& push : launch.push_constants) {
        YOLK_TRY(const ExpressionValue value, push.value.evaluate(values));
        const std::optional<std::uint32_t> word = scalar_word(scalar_of(push.type), value);
        if (!word) {
            return bad_input("The push constant '{}' is {}, which is not a valid {}.", shown(push.value.text()),
                             to_text(value), to_string(scalar_of(push.type)));
        }
        run.push_words.push_back(*word);
    }
    return run;
}

Result<std::unique_ptr<oracle::PlannedProblem>> plan_user_kernel(const Device& device, const SharedKernel& kernel,
                                                                 std::span<const SpecConstant> constants, KernelRun run,
                                                                 std::span<const KernelBuffer> buffers) {
    const std::vector<InterfaceBinding>& bindings = kernel->interface.bindings;
    if (bindings.empty()) return bad_input("The shader '{}' has no buffer.", shown(kernel->name));
    KernelModule module{.name = kernel->name,
                        .spirv = kernel->spirv,
                        .binding_count = bindings.back().binding + 1,
                        .params_bytes = static_cast<std::uint32_t>(run.push_words.size() * sizeof(std::uint32_t)),
                        .tolerant = true};
    std::vector<std::optional<std::size_t>> places(module.binding_count);
    for (const InterfaceBinding& binding : bindings) {
        const auto buffer = std::ranges::find(buffers, binding.binding, &KernelBuffer::binding);
        if (buffer == buffers.end()) return check_buffers(*kernel, buffers, false).error();
        places[binding.binding] = static_cast<std::size_t>(buffer - buffers.begin());
        if (!binding.is_uniform) continue;
        module.uniform_mask |= 1U << binding.binding;
        if (buffer->size_bytes() > device.info().limits.max_uniform_buffer_range) {
            return unsupported(
                "The buffer '{}' has {} bytes; a uniform buffer of the device has at most {}. Declare it as a storage "
                "buffer in the shader.",
                shown(buffer->name), buffer->size_bytes(), device.info().limits.max_uniform_buffer_range);
        }
    }
    YOLK_TRY_VOID(try_foreign_pipeline(device, module, constants));
    YOLK_TRY(const PipelineHandle pipeline, device.pipeline(module, constants));
    return std::unique_ptr<oracle::PlannedProblem>(
        std::make_unique<PlannedKernel>(device, pipeline, kernel, std::move(places), std::move(run)));
}

}  // namespace yolk::autotune

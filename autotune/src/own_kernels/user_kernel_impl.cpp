// SPDX-License-Identifier: Apache-2.0
#include "user_kernel_impl.hpp"

#include <fmt/format.h>

#include <cstring>

#include "yolk/internal/core/memory.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::autotune {
namespace {

constexpr std::uint64_t kTriedUntilOneCompiles = 32;

}  // namespace

bool is_direct(const KernelParameter& parameter) {
    return std::ranges::all_of(parameter.values, [](const ExpressionValue& value) {
        const auto* const whole = std::get_if<std::int64_t>(&value);
        return std::holds_alternative<bool>(value) ||
               (whole != nullptr && *whole >= 0 && *whole <= INT64_C(0xFFFFFFFF));
    });
}

std::uint32_t direct(const ExpressionValue& value) {
    const auto* const whole = std::get_if<std::int64_t>(&value);
    return whole != nullptr ? static_cast<std::uint32_t>(*whole) : static_cast<std::uint32_t>(std::get<bool>(value));
}

std::vector<ExpressionValue> UserKernel::Impl::values_of(std::span<const std::uint32_t> configuration) const {
    std::vector<ExpressionValue> values;
    for (std::size_t i = 0; i < space.parameters.size(); ++i) {
        const KernelParameter& parameter = space.parameters[i];
        const auto is_it = [&](const ExpressionValue& value) { return direct(value) == configuration[i]; };
        const auto at = is_direct(parameter) ? std::ranges::find_if(parameter.values, is_it)
                                             : parameter.values.begin() + configuration[i];
        values.push_back(*at);
    }
    values.insert(values.end(), space.sizes.begin(), space.sizes.end());
    return values;
}

KernelCompileOptions UserKernel::Impl::options_of(std::span<const ExpressionValue> values) const {
    KernelCompileOptions options{.optimized = space.optimized};
    for (std::size_t i = 0; i < space.parameters.size(); ++i) {
        const KernelParameter& parameter = space.parameters[i];
        if (parameter.define.empty()) continue;
        // As in C: #if takes numbers.
        const bool* const truth = std::get_if<bool>(&values[i]);
        options.defines.emplace_back(parameter.define, truth != nullptr ? (*truth ? "1" : "0") : to_text(values[i]));
    }
    return options;
}

Result<SharedKernel> UserKernel::Impl::compiled(std::span<const ExpressionValue> values) {
    KernelCompileOptions options = options_of(values);
    const std::lock_guard lock(mutex);
    const auto known = kernels.find(options);
    if (known != kernels.end()) return known->second;
    Result<SharedKernel> made = compile_user_kernel(source, options, info);
    if (made) {
        if (Result<void> right = check_buffers(**made, space.buffers, false); !right) made = right.error();
    }
    if (made) {
        if (Result<void> right = check_push_constants(**made, space.launch.push_constants); !right)
            made = right.error();
    }
    return kernels.emplace(std::move(options), std::move(made)).first->second;
}

/// Of those that the shader has: a macro may have taken one away.
Result<std::vector<SpecConstant>> UserKernel::Impl::constants_of(const CompiledKernel& kernel,
                                                                 std::span<const ExpressionValue> values) const {
    std::vector<SpecConstant> constants;
    for (std::size_t i = 0; i < space.parameters.size(); ++i) {
        const std::optional<std::uint32_t> id = space.parameters[i].constant_id;
        if (!id || std::ranges::find(kernel.interface.constants, *id, &InterfaceConstant::id) ==
                       kernel.interface.constants.end())
            continue;
        YOLK_TRY(const SpecConstant constant, spec_constant(kernel, *id, values[i]));
        constants.push_back(constant);
    }
    return constants;
}

Result<void> UserKernel::Impl::check_constraints(std::span<const ExpressionValue> values) const {
    for (const Expression& constraint : space.constraints) {
        YOLK_TRY(const bool holds, constraint.evaluate_bool(values));
        if (!holds) return bad_input("The constraint '{}' is not met.", shown(constraint.text()));
    }
    return {};
}

/// A shader that does not compile is no matter of the device: its evaluation fails, with the compiler's words.
Result<void> UserKernel::Impl::check_device(std::span<const ExpressionValue> values) {
    YOLK_TRY_VOID(run_of(space.launch, values, info.limits));
    if (define_combinations > kPrecompiled) return {};
    const Result<SharedKernel> kernel = compiled(values);
    if (!kernel) return {};
    YOLK_TRY(const std::vector<SpecConstant> constants, constants_of(**kernel, values));
    return check_workgroup(**kernel, constants, info.limits);
}

Result<void> UserKernel::Impl::check_sizes() const {
    for (const KernelBuffer& buffer : space.buffers) {
        const std::uint64_t most = info.limits.max_storage_buffer_range;
        if (buffer.size_bytes() <= most) continue;
        return unsupported("The buffer '{}' has {} bytes; a binding of '{}' has at most {}. Take smaller sizes.",
                           shown(buffer.name), buffer.size_bytes(), shown(info.name), most);
    }
    std::uint64_t all_bytes = 0;
    for (const KernelBuffer& buffer : space.buffers) all_bytes += buffer.size_bytes();
    // On the host: contents and what is right; with what the driver holds, where that is the host's memory.
    YOLK_TRY_VOID(check_host_memory(3 * all_bytes, "the buffers of the kernel, with their contents and what is right"));
    const std::size_t push_bytes = space.launch.push_constants.size() * sizeof(std::uint32_t);
    if (push_bytes > info.limits.max_push_constants_size) {
        return unsupported("{} bytes of push constants are declared; '{}' takes {}.", push_bytes, shown(info.name),
                           info.limits.max_push_constants_size);
    }
    return {};
}

Result<std::unique_ptr<oracle::PlannedProblem>> UserKernel::Impl::plan(const Device& device,
                                                                       std::span<const std::uint32_t> configuration) {
    const std::vector<ExpressionValue> values = values_of(configuration);
    YOLK_TRY(KernelRun run, run_of(space.launch, values, info.limits));
    YOLK_TRY(const SharedKernel kernel, compiled(values));
    YOLK_TRY(const std::vector<SpecConstant> constants, constants_of(*kernel, values));
    YOLK_TRY_VOID(check_workgroup(*kernel, constants, info.limits));
    run.has_order = space.workgroups_wait;
    return plan_user_kernel(device, kernel, constants, std::move(run), space.buffers);
}

Result<std::unique_ptr<oracle::PlannedProblem>> UserKernel::Impl::plan_reference(const Device& device) const {
    const KernelReference& given = *space.reference;
    YOLK_TRY(const SharedKernel kernel,
             compile_user_kernel(*reference, {.defines = given.defines, .optimized = space.optimized}, info));
    YOLK_TRY_VOID(check_buffers(*kernel, space.buffers, false));
    YOLK_TRY_VOID(check_push_constants(*kernel, given.launch.push_constants));
    std::vector<SpecConstant> constants;
    for (const auto& [id, value] : given.constants) {
        YOLK_TRY(const SpecConstant constant, spec_constant(*kernel, id, value));
        constants.push_back(constant);
    }
    YOLK_TRY_VOID(check_workgroup(*kernel, constants, info.limits));
    std::vector<ExpressionValue> values(space.parameters.size());  // read by nothing in it
    values.insert(values.end(), space.sizes.begin(), space.sizes.end());
    YOLK_TRY(KernelRun run, run_of(given.launch, values, info.limits));
    run.has_order = space.workgroups_wait;
    return plan_user_kernel(device, kernel, constants, std::move(run), space.buffers);
}

Configuration UserKernel::Impl::given_default() const {
    Configuration configuration;
    for (const KernelParameter& parameter : space.parameters)
        configuration.push_back(is_direct(parameter) ? direct(parameter.values.front()) : 0);
    for (const auto& [parameter, position] : space.defaults) {
        const KernelParameter& of = space.parameters[parameter];
        configuration[parameter] = is_direct(of) ? direct(of.values[position]) : static_cast<std::uint32_t>(position);
    }
    return configuration;
}

Result<void> UserKernel::Impl::check_declarations(const TuningSpace& combinations) {
    std::vector<ExpressionValue> values = values_of(given_default());
    Result<SharedKernel> kernel = compiled(values);
    std::optional<Error> first;
    const std::uint64_t tried = std::min(combinations.combinations(), kCountable);
    for (std::uint64_t i = 0; !kernel && i < tried; ++i) {
        if (!first) first = kernel.error();
        if (kernels.size() > kTriedUntilOneCompiles) break;
        const std::vector<ExpressionValue> others = values_of(combinations.combination(i));
        if (check_constraints(others)) kernel = compiled(others);
    }
    if (!kernel) return *first;
    YOLK_TRY_VOID(check_buffers(**kernel, space.buffers, true));
    for (const KernelParameter& parameter : space.parameters) {
        if (!parameter.constant_id) continue;
        for (const ExpressionValue& value : parameter.values) {
            if (const auto constant = spec_constant(**kernel, *parameter.constant_id, value); !constant) {
                Error error = constant.error();
                return std::move(error).while_doing(
                    fmt::format("looking at the parameter '{}'", shown(parameter.name)));
            }
        }
    }
    return {};
}

void UserKernel::Impl::prepare_held() {
    for (const KernelBuffer& buffer : space.buffers) {
        if (buffer.role == oracle::BufferRole::Input) continue;
        ReferenceOutput output{.name = buffer.name,
                               .element = buffer.element,
                               .tolerance = buffer.tolerance,
                               .is_scratch = buffer.is_scratch};
        if (buffer.golden) {
            output.right.resize(buffer.elements);
            std::memcpy(output.right.data(), buffer.golden->data(), buffer.golden->size());
        }
        references.push_back(std::move(output));
    }
}

}  // namespace yolk::autotune

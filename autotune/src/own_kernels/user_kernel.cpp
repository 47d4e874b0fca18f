// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/user_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "shader_language.hpp"
#include "user_kernel_impl.hpp"
#include "yolk/internal/context/knob_value.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kLargestSpaceFile = std::size_t{1} << 20U;

/// Where values are positions, the name says what they stand for: a table keeps that.
TuningKnob knob_of(const KernelParameter& parameter) {
    TuningKnob knob{.name = parameter.name, .values = {}};
    std::vector<KnobValue> meanings;
    for (std::size_t i = 0; i < parameter.values.size(); ++i) {
        knob.values.push_back(is_direct(parameter) ? direct(parameter.values[i]) : static_cast<std::uint32_t>(i));
        meanings.push_back(std::visit([](const auto& value) { return KnobValue(value); }, parameter.values[i]));
    }
    if (!is_direct(parameter)) knob.name = listed_name(parameter.name, meanings);
    return knob;
}

std::vector<TuningKnob> knobs_of(const KernelSpace& space) {
    std::vector<TuningKnob> knobs;
    for (const KernelParameter& parameter : space.parameters) knobs.push_back(knob_of(parameter));
    return knobs;
}

/// 16 digits of a hash over all that makes another kernel of it.
std::string identity_of(const KernelSource& source, const KernelSpace& space,
                        const std::optional<KernelSource>& reference) {
    Hasher hasher;
    const auto add = [&hasher](const std::string& text) {
        const std::uint64_t size = text.size();
        hasher.add_values(std::span(&size, 1)).add_values(std::span<const char>(text));
    };
    const auto add_source = [&add](const KernelSource& of) {
        add(of.text);
        for (const auto& [name, text] : of.includes) {
            add(name);
            add(text);
        }
    };
    add_source(source);
    add(space.identity);
    if (reference) add_source(*reference);
    return hasher.hex().substr(0, 16);
}

}  // namespace

UserKernel::UserKernel(std::shared_ptr<Impl> impl)
    : impl_(std::move(impl)),
      space_(
          kUserKernelFamily, knobs_of(impl_->space),
          [of = impl_](std::span<const std::uint32_t> configuration) -> Result<void> {
              const std::vector<ExpressionValue> values = of->values_of(configuration);
              YOLK_TRY_VOID(of->check_constraints(values));
              return of->check_device(values);
          },
          impl_->shape) {}

namespace {

Result<std::shared_ptr<UserKernel::Impl>> load_kernel(const Device& device, const std::filesystem::path& shader,
                                                      const std::filesystem::path& space,
                                                      std::span<const std::filesystem::path> includes) {
    auto impl = std::make_shared<UserKernel::Impl>();
    impl->info = device.usable_info();
    YOLK_TRY_VOID(check_is_glsl(shader));
    impl->files = {.shader = shader, .space = space, .includes = {includes.begin(), includes.end()}};
    YOLK_TRY(impl->source, load_kernel_source(shader, includes));
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(space, kLargestSpaceFile));
    std::string text;
    for (const std::byte byte : bytes) text += static_cast<char>(byte);
    YOLK_TRY(impl->space, parse_kernel_space(text, space.filename().string(), space.parent_path()));
    if (impl->space.reference) {
        const std::filesystem::path& reference = impl->space.reference->shader;
        YOLK_TRY_VOID(check_is_glsl(reference));
        YOLK_TRY_VOID(check_within(reference, space, includes));
        YOLK_TRY(impl->reference, load_kernel_source(reference, includes));
    }
    if (impl->space.name.empty()) impl->space.name = impl->source.name;
    for (const KernelParameter& parameter : impl->space.parameters) {
        if (!parameter.define.empty() && impl->define_combinations <= kPrecompiled)
            impl->define_combinations *= parameter.values.size();
    }
    impl->shape.variant =
        fmt::format("{} {}", impl->space.name, identity_of(impl->source, impl->space, impl->reference));
    for (const std::int64_t size : impl->space.sizes) impl->shape.extents.push_back(static_cast<std::uint64_t>(size));
    return impl;
}

/// Where all combinations can be looked at: how many are legal, the first of them, and why the first other is none.
struct Looked {
    UserKernelSpace counts;
    std::optional<Configuration> first;
    std::string reason;
};

Looked look(UserKernel::Impl& impl, const TuningSpace& space) {
    Looked looked{.counts = {.combinations = space.combinations()}, .first = {}, .reason = {}};
    looked.counts.counted = space.combinations() <= kCountable;
    if (!looked.counts.counted) {
        const std::vector<Configuration> drawn = space.draw(1, 1);
        if (!drawn.empty()) looked.first = drawn.front();
        looked.reason = "none was found among many that were drawn";
        return looked;
    }
    for (std::uint64_t i = 0; i < space.combinations(); ++i) {
        const Configuration configuration = space.combination(i);
        const std::vector<ExpressionValue> values = impl.values_of(configuration);
        const Result<void> constraints = impl.check_constraints(values);
        const Result<void> device = constraints ? impl.check_device(values) : Result<void>();
        if (!constraints) {
            ++looked.counts.against_constraints;
        } else if (!device) {
            ++looked.counts.beyond_device;
        } else {
            ++looked.counts.legal;
            if (!looked.first) looked.first = configuration;
        }
        if (looked.reason.empty() && (!constraints || !device)) {
            looked.reason =
                fmt::format("{}: {}", space.text(configuration), (constraints ? device : constraints).error().message);
        }
    }
    return looked;
}

}  // namespace

Result<std::unique_ptr<UserKernel>> UserKernel::create_to_inspect(const Device& device,
                                                                  const std::filesystem::path& shader,
                                                                  const std::filesystem::path& space,
                                                                  std::span<const std::filesystem::path> includes) {
    YOLK_TRY(const std::shared_ptr<Impl> impl, load_kernel(device, shader, space, includes));
    YOLK_TRY_VOID(impl->check_sizes());
    std::unique_ptr<UserKernel> kernel(new UserKernel(impl));
    YOLK_TRY_VOID(impl->check_declarations(kernel->space_));
    impl->prepare_held();
    Looked looked = look(*impl, kernel->space_);
    kernel->counts_ = looked.counts;
    if (!looked.first) {
        return bad_input("'{}' has no configuration that is legal on '{}'; the first: {}", shown(space.filename()),
                         shown(impl->info.name), looked.reason);
    }
    kernel->default_ = impl->given_default();
    if (const Result<void> legal = kernel->space_.check(kernel->default_); !legal) {
        const std::vector<ExpressionValue> values = impl->values_of(kernel->default_);
        if (const Result<void> holds = impl->check_constraints(values); !holds && !impl->space.defaults.empty()) {
            return bad_input("The default configuration of '{}' ({}) is not legal: {}", shown(space.filename()),
                             kernel->space_.text(kernel->default_), holds.error().message);
        }
        if (!impl->space.defaults.empty())
            log_warning(fmt::format("The default configuration is not for this device, another takes its place. {}",
                                    legal.error().message));
        kernel->default_ = *looked.first;
    }
    return kernel;
}

Result<std::unique_ptr<UserKernel>> UserKernel::create(const Device& device, Dispatcher& dispatcher,
                                                       const std::filesystem::path& shader,
                                                       const std::filesystem::path& space,
                                                       std::span<const std::filesystem::path> includes) {
    YOLK_TRY(std::unique_ptr<UserKernel> kernel, create_to_inspect(device, shader, space, includes));
    const std::shared_ptr<Impl>& impl = kernel->impl_;
    if (impl->space.reference) {
        YOLK_TRY_VOID(take_reference(
            device, dispatcher, fmt::format("The reference '{}'", shown(impl->reference->name)), impl->space.buffers,
            [&] { return impl->plan_reference(device); }, impl->references));
    } else if (impl->space.reference_is_default) {
        YOLK_TRY_VOID(take_reference(
            device, dispatcher, fmt::format("The default configuration ({})", kernel->space_.text(kernel->default_)),
            impl->space.buffers, [&] { return impl->plan(device, kernel->default_); }, impl->references));
    }
    return kernel;
}

Result<std::unique_ptr<UserKernel>> UserKernel::create_to_tune(const Device& device, Dispatcher& dispatcher,
                                                               const std::filesystem::path& shader,
                                                               const std::filesystem::path& space,
                                                               std::span<const std::filesystem::path> includes) {
    if (device.info().kind == DeviceKind::Cpu) return create_to_inspect(device, shader, space, includes);
    return create(device, dispatcher, shader, space, includes);
}

const UserKernelFiles& UserKernel::files() const noexcept { return impl_->files; }

std::string UserKernel::name() const {
    return fmt::format("{} [{}]", impl_->space.name, fmt::join(impl_->shape.extents, ", "));
}
TuningSpace UserKernel::space(const DeviceInfo& /*info*/) const { return space_; }
Configuration UserKernel::default_configuration(const DeviceInfo& /*info*/) const { return default_; }
const UserKernelSpace& UserKernel::counts() const noexcept { return counts_; }

Result<std::unique_ptr<oracle::PlannedProblem>> UserKernel::plan(const Device& device,
                                                                 const Configuration& configuration) const {
    YOLK_TRY_VOID(space_.check(configuration));
    return impl_->plan(device, configuration);
}

std::vector<oracle::ProblemBuffer> UserKernel::buffers() const {
    std::vector<oracle::ProblemBuffer> all;
    for (const KernelBuffer& buffer : impl_->space.buffers)
        all.push_back({buffer.name, buffer.role, buffer.size_bytes(), initial_content(buffer)});
    return all;
}

oracle::BufferBytes UserKernel::buffer_bytes() const {
    oracle::BufferBytes sum;
    for (const KernelBuffer& buffer : impl_->space.buffers)
        sum.add(oracle::BufferRole::Input, static_cast<double>(buffer.size_bytes()));
    return sum;
}

/// verify() knows what is right.
std::vector<oracle::Expected> UserKernel::expected() const {
    return std::vector<oracle::Expected>(impl_->references.size());
}

// All shaders are there since their combinations were pruned; where there are more, nobody knows.
ArithmeticUnit UserKernel::unit(const DeviceInfo& /*info*/, const Configuration& /*configuration*/) const {
    if (impl_->define_combinations > kPrecompiled) return ArithmeticUnit::Other;
    const std::lock_guard lock(impl_->mutex);
    const bool above = std::ranges::any_of(
        impl_->kernels, [](const auto& compiled) { return compiled.second && is_above_fp32(**compiled.second); });
    return above ? ArithmeticUnit::Other : ArithmeticUnit::Fp32Lanes;
}

oracle::Work UserKernel::work() const {
    oracle::Work work;
    for (const KernelBuffer& buffer : impl_->space.buffers)
        work.bytes += static_cast<double>(buffer.size_bytes()) * (buffer.role == oracle::BufferRole::InOut ? 2.0 : 1.0);
    if (!impl_->space.operations) return work;
    const Result<ExpressionValue> operations = impl_->space.operations->evaluate(impl_->values_of(default_));
    if (!operations) return work;
    const auto* const whole = std::get_if<std::int64_t>(&*operations);
    const auto* const real = std::get_if<double>(&*operations);
    if (whole != nullptr) work.operations = static_cast<double>(*whole);
    if (real != nullptr) work.operations = *real;
    return work;
}

void UserKernel::verify(oracle::CheckReport& report, const std::string& case_name,
                        std::span<const std::vector<std::uint32_t>> outputs) const {
    for (std::size_t i = 0; i < std::min(outputs.size(), impl_->references.size()); ++i) {
        const ReferenceOutput& output = impl_->references[i];
        if (!output.right.empty()) verify_output(report, case_name, output, outputs[i]);
    }
    impl_->same.verify(report, case_name, impl_->references, outputs);
}

std::string UserKernel::reference() const {
    if (impl_->reference) return fmt::format("the reference '{}'", shown(impl_->reference->name));
    if (impl_->space.reference_is_default) return "the results of the default configuration";
    const bool golden =
        std::ranges::any_of(impl_->references, [](const ReferenceOutput& output) { return !output.right.empty(); });
    return golden ? "golden files" : "";
}

std::vector<std::string> UserKernel::unchecked_outputs() const {
    std::vector<std::string> names;
    if (impl_->reference || impl_->space.reference_is_default) return names;
    for (const ReferenceOutput& output : impl_->references) {
        if (output.right.empty() && !output.is_scratch) names.push_back(output.name);
    }
    return names;
}

Json UserKernel::sizes() const {
    Json json = Json::object();
    for (std::size_t i = 0; i < impl_->space.sizes.size(); ++i)
        json[impl_->space.scope[impl_->space.parameters.size() + i]] = impl_->space.sizes[i];
    return json;
}

namespace {

Json json_of(const ExpressionValue& value) {
    return std::visit([](const auto& choice) { return Json(choice); }, value);
}

}  // namespace

Json UserKernel::describe(const Configuration& configuration) const {
    const std::vector<ExpressionValue> values = impl_->values_of(configuration);
    Json json{{"configuration", Json::object()},
              {"specialization", Json::array()},
              {"defines", Json::object()},
              {"dispatch", Json::array()},
              {"push_constants", Json::array()}};
    const std::vector<KernelParameter>& parameters = impl_->space.parameters;
    const Result<SharedKernel> kernel = impl_->compiled(values);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        json["configuration"][parameters[i].name] = json_of(values[i]);
        if (!parameters[i].constant_id || !kernel) continue;
        const auto& constants = (*kernel)->interface.constants;
        const auto constant = std::ranges::find(constants, *parameters[i].constant_id, &InterfaceConstant::id);
        if (constant == constants.end()) continue;
        const Result<SpecConstant> word = spec_constant(**kernel, constant->id, values[i]);
        json["specialization"].push_back({{"constant_id", constant->id},
                                          {"name", constant->name.empty() ? parameters[i].name : constant->name},
                                          {"type", to_string(constant->type)},
                                          {"value", json_of(values[i])},
                                          {"bits", word ? word->value : 0U}});
    }
    for (const auto& [name, value] : impl_->options_of(values).defines) json["defines"][name] = value;
    const Result<KernelRun> run = run_of(impl_->space.launch, values, impl_->info.limits);
    if (!run) return json;
    json["dispatch"] = {run->groups.x, run->groups.y, run->groups.z};
    for (const KernelPush& push : impl_->space.launch.push_constants) {
        if (const Result<ExpressionValue> value = push.value.evaluate(values))
            json["push_constants"].push_back(json_of(*value));
    }
    return json;
}

}  // namespace yolk::autotune

// SPDX-License-Identifier: Apache-2.0
#include "yolk/environment.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "environments.hpp"
#include "yolk/internal/abi/rollout.h"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/shaders/environment_compiler.hpp"

namespace yolk {

namespace abi_ro = abi::rollout;

namespace {

constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxNameBytes = 64;

bool is_name_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/// The name goes into policies, checkpoints and messages, so it is kept plain.
Result<std::string> name_of(const std::filesystem::path& file) {
    std::string name = file.stem().string();
    if (!name.empty() && name.size() <= kMaxNameBytes && std::all_of(name.begin(), name.end(), is_name_character))
        return name;
    return bad_input(
        "The environment '{}' has the name '{}'; a file's name, without its extension, must be of 1 to {} "
        "letters, digits, '_' or '-'. Rename it.",
        shown(file), shown(name), kMaxNameBytes);
}

}  // namespace

void LoadedEnvironment::Form::set(std::string kernel_name, std::vector<std::uint32_t> module, bool tolerant) noexcept {
    name = std::move(kernel_name);
    spirv = std::move(module);
    kernel = {KernelModule{.name = name,
                           .spirv = spirv,
                           .binding_count = abi_ro::kBindingCount,
                           .uniform_mask = abi_ro::kUniformMask,
                           .params_bytes = sizeof(abi_ro::Params),
                           .tolerant = tolerant}};
}

Result<std::shared_ptr<const LoadedEnvironment>> load_environment(const std::filesystem::path& file) {
    YOLK_TRY(std::string name, name_of(file));
    Result<std::vector<std::byte>> bytes = read_file(file, kMaxSourceBytes);
    if (!bytes) return std::move(bytes).error().while_doing("loading an environment");
    const std::string_view source(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    YOLK_TRY(CompiledEnvironment compiled, compile_environment(source, file.string()));

    const std::shared_ptr<LoadedEnvironment> loaded(new LoadedEnvironment());
    loaded->name_ = std::move(name);
    loaded->source_hash_ = Hasher().add(*bytes).hex();
    loaded->inexact_reason_ = std::move(compiled.inexact_reason);
    const std::string kernel = "rollout_" + loaded->name_;
    const bool tolerant = !loaded->inexact_reason_.empty();
    loaded->looped_.set(kernel, std::move(compiled.looped), tolerant);
    loaded->unrolled_.set(kernel + "_unrolled", std::move(compiled.unrolled), tolerant);
    loaded->packed_.set(kernel + "_packed", std::move(compiled.packed), tolerant);
    loaded->looped_fast_.set(kernel + "_fast", std::move(compiled.looped_fast), true);
    loaded->unrolled_fast_.set(kernel + "_unrolled_fast", std::move(compiled.unrolled_fast), true);
    loaded->packed_fast_.set(kernel + "_packed_fast", std::move(compiled.packed_fast), true);
    const EnvironmentFacts& facts = compiled.facts;
    loaded->info_ = {.name = loaded->name_,
                     .observation_count = facts.observation_count,
                     .action_count = facts.action_count,
                     .state_words = facts.state_words,
                     .max_steps = facts.max_steps,
                     .solved_return = facts.solved_return,
                     .best_return = facts.best_return,
                     .actions = action_space(facts.actions)};
    return std::shared_ptr<const LoadedEnvironment>(loaded);
}

}  // namespace yolk

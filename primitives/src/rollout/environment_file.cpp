// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/environment_file.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "yolk/core/file.hpp"
#include "yolk/core/hash.hpp"
#include "yolk/shaders/environment_compiler.hpp"

namespace yolk {

namespace abi_ro = abi::rollout;

namespace {

constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxNameBytes = 64;

bool is_name_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

Kernel<abi_ro::Params> rollout_kernel(const std::string& name, const std::vector<std::uint32_t>& spirv) noexcept {
    return {KernelModule{.name = name,
                         .spirv = spirv,
                         .binding_count = abi_ro::kBindingCount,
                         .uniform_mask = abi_ro::kUniformMask,
                         .params_bytes = sizeof(abi_ro::Params)}};
}

/// The name goes into policies, checkpoints and messages, so it is kept plain.
Result<std::string> name_of(const std::filesystem::path& file) {
    std::string name = file.stem().string();
    if (!name.empty() && name.size() <= kMaxNameBytes && std::all_of(name.begin(), name.end(), is_name_character))
        return name;
    return bad_input(
        "The environment '{}' has the name '{}'; a file's name, without its extension, must be of 1 to {} "
        "letters, digits, '_' or '-'. Rename it.",
        file.string(), name, kMaxNameBytes);
}

}  // namespace

Result<std::shared_ptr<const LoadedEnvironment>> load_environment(const std::filesystem::path& file) {
    YOLK_TRY(std::string name, name_of(file));
    Result<std::vector<std::byte>> bytes = read_file(file, kMaxSourceBytes);
    if (!bytes) return std::move(bytes).error().while_doing("loading an environment");
    const std::string_view source(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    YOLK_TRY(CompiledEnvironment compiled, compile_environment(source, file.string()));

    const std::shared_ptr<LoadedEnvironment> loaded(new LoadedEnvironment());
    loaded->name_ = std::move(name);
    loaded->looped_name_ = "rollout_" + loaded->name_;
    loaded->unrolled_name_ = loaded->looped_name_ + "_unrolled";
    loaded->looped_fast_name_ = loaded->looped_name_ + "_fast";
    loaded->unrolled_fast_name_ = loaded->unrolled_name_ + "_fast";
    loaded->source_hash_ = Hasher().add(*bytes).hex();
    loaded->inexact_reason_ = std::move(compiled.inexact_reason);
    loaded->looped_spirv_ = std::move(compiled.looped);
    loaded->unrolled_spirv_ = std::move(compiled.unrolled);
    loaded->looped_fast_spirv_ = std::move(compiled.looped_fast);
    loaded->unrolled_fast_spirv_ = std::move(compiled.unrolled_fast);
    loaded->looped_ = rollout_kernel(loaded->looped_name_, loaded->looped_spirv_);
    loaded->unrolled_ = rollout_kernel(loaded->unrolled_name_, loaded->unrolled_spirv_);
    loaded->looped_fast_ = rollout_kernel(loaded->looped_fast_name_, loaded->looped_fast_spirv_);
    loaded->unrolled_fast_ = rollout_kernel(loaded->unrolled_fast_name_, loaded->unrolled_fast_spirv_);
    const EnvironmentFacts& facts = compiled.facts;
    loaded->info_ = {.name = loaded->name_,
                     .observation_count = facts.observation_count,
                     .action_count = facts.action_count,
                     .state_words = facts.state_words,
                     .max_steps = facts.max_steps,
                     .solved_return = facts.solved_return,
                     .best_return = facts.best_return};
    return std::shared_ptr<const LoadedEnvironment>(loaded);
}

}  // namespace yolk

// SPDX-License-Identifier: Apache-2.0
// Modules that are made at run time for programs, once per process for each structure; some take milliseconds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/internal/shaders/exactness.hpp"
#include "yolk/result.hpp"

namespace yolk {

using ProgramModule = std::shared_ptr<const std::vector<std::uint32_t>>;

/// An error if an operation of a body that was written for the program is not exact; quotients by the plan's parameters
/// are. The tests of the catalogue have read the library's other functions.
[[nodiscard]] inline Result<void> check_exact_program(std::span<const std::uint32_t> spirv) {
    YOLK_TRY(const std::vector<InexactInstruction> all, find_inexact(spirv));
    const auto wrong = std::ranges::find_if(all, [](const InexactInstruction& one) {
        return !one.by_parameters && (one.function.starts_with("program_") || one.function.starts_with("main"));
    });
    if (wrong == all.end()) return {};
    return failed_work("A program is not exact: {}", to_string(*wrong));
}

template <class Code, Result<std::vector<std::uint32_t>> (*kMake)(std::span<const std::uint32_t>, const Code&)>
class ProgramModules {
   public:
    [[nodiscard]] static Result<ProgramModule> get(const KernelModule& library, const Code& code) {
        static ProgramModules modules;
        return modules.find(library, code);
    }

   private:
    static constexpr std::size_t kMost = 1024;  // of 10 to 100 KB

    Result<ProgramModule> find(const KernelModule& library, const Code& code) {
        const std::lock_guard lock(mutex_);
        const std::pair key(library.name, code);
        if (const auto found = modules_.find(key); found != modules_.end()) return found->second;
        YOLK_TRY(std::vector<std::uint32_t> spirv, kMake(library.spirv, code));
        YOLK_TRY_VOID(check_exact_program(spirv));
        if (modules_.size() >= kMost) modules_.clear();
        return modules_[key] = std::make_shared<const std::vector<std::uint32_t>>(std::move(spirv));
    }

    std::mutex mutex_;
    std::map<std::pair<std::string_view, Code>, ProgramModule> modules_;  // by library
};

}  // namespace yolk

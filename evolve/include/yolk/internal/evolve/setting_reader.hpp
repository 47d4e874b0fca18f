// SPDX-License-Identifier: Apache-2.0
// The settings of a run, read back from the names and text that settings_of() made.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// Reads settings by name. The first that is missing or no value of its kind is the error. `what` names them in errors;
/// both must outlive it.
class SettingReader {
   public:
    SettingReader(const NamedValues& settings, std::string_view what) : settings_(settings), what_(what) {}

    [[nodiscard]] const std::string* find(std::string_view name) const;
    [[nodiscard]] Result<std::string> text(std::string_view name) const;
    template <class Number>
    [[nodiscard]] Result<void> number(std::string_view name, Number& to) const {
        YOLK_TRY(const std::string given, text(name));
        const auto [end, code] = std::from_chars(given.data(), given.data() + given.size(), to);
        if (code != std::errc() || end != given.data() + given.size()) return wrong(name, given);
        return {};
    }
    [[nodiscard]] Result<void> flag(std::string_view name, bool& to) const;
    [[nodiscard]] Error wrong(std::string_view name, std::string_view given) const;

   private:
    const NamedValues& settings_;
    std::string_view what_;
};

/// What stands between commas.
[[nodiscard]] std::vector<std::string> listed(std::string_view text);

/// What settings_of() was given. Errors: a setting that is missing, unknown, or outside its limits.
[[nodiscard]] Result<EvolutionOptions> options_of(const SettingReader& settings);

}  // namespace yolk::evolve

// SPDX-License-Identifier: Apache-2.0
// `yolk tune` on the table: what is in it, why a shape gets what it gets, and changes by hand.
#pragma once

#include <string>

#include "options.hpp"

namespace yolk::cli {

struct TableFlags {
    bool list = false;
    std::string show;
    std::string explain;
    std::string export_to;
    std::string import_from;
    std::string pin;
    std::string configuration;
    std::string forget;
    std::string prior;  ///< of `yolk tune --surface`, too
    [[nodiscard]] bool any() const {
        return list || !show.empty() || !explain.empty() || !export_to.empty() || !import_from.empty() ||
               !pin.empty() || !forget.empty();
    }
};

void add_table_flags(App& app, TableFlags& flags);
[[nodiscard]] Result<int> tune_table(const TableFlags& flags, const CommonFlags& common);

}  // namespace yolk::cli

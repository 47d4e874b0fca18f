// SPDX-License-Identifier: Apache-2.0
#include "environment_flag.hpp"

#include <filesystem>

namespace yolk::cli {

Result<ChosenEnvironment> choose_environment(std::string_view value) {
    ChosenEnvironment chosen;
    if (value.ends_with(".glsl") || value.find('/') != std::string_view::npos) {
        YOLK_TRY(chosen.own, load_environment(std::filesystem::path(value)));
        chosen.info = chosen.own->info();
        return chosen;
    }
    Result<EnvironmentInfo> built_in = find_environment(value);
    if (!built_in) {
        Error error = std::move(built_in).error();
        error.message += " A file is given by a name that ends in .glsl or has a '/'.";
        return error;
    }
    chosen.info = *built_in;
    return chosen;
}

}  // namespace yolk::cli

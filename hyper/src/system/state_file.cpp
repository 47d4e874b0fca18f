// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/state_file.hpp"

#include <fmt/format.h>

#include <cmath>

#include "stored_parameters.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::hyper {

template <class Fields>
void each_field(Fields& fields, StateInfo& info) {
    fields.maybe("system", info.system);
    fields.maybe("scores", info.scores);
    fields.maybe("seed", info.seed);
}

Result<void> save_state(const System& system, const std::filesystem::path& path, StateInfo info) {
    for (const auto& [name, score] : info.scores) {
        if (!std::isfinite(score))
            return bad_input("The score '{}' is {}, so the system is not saved.", shown(name), score);
    }
    info.system = system.name();
    StateFile file{.fields = FieldWriter::json_of(info)};
    YOLK_TRY_VOID(store_parameters(system.parameters(), file));
    return write_state(path, kSystemKind, std::move(file));
}

Result<StateInfo> load_state(System& system, const std::filesystem::path& path) {
    const std::string what = fmt::format("'{}'", shown(path));
    YOLK_TRY(const StateFile file, read_state(path, kSystemKind));
    FieldReader reader(file.fields);
    StateInfo info;
    each_field(reader, info);
    for (const auto& [name, score] : info.scores) {
        if (!std::isfinite(score)) reader.fail("scores");
    }
    YOLK_TRY_VOID(check_fields(reader, kSystemKind, what));
    YOLK_TRY_VOID(restore_parameters(system.parameters(), file, kSystemKind, what));
    return info;
}

}  // namespace yolk::hyper

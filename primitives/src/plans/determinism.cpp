// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/primitives/determinism.hpp"

namespace yolk {

std::string_view to_string(Determinism determinism) noexcept {
    return determinism == Determinism::Exact ? "exact" : "fast";
}

Result<Determinism> parse_determinism(std::string_view name) {
    for (const Determinism determinism : {Determinism::Exact, Determinism::Fast}) {
        if (name == to_string(determinism)) return determinism;
    }
    return bad_input("'{}' is not a determinism; there are exact and fast.", name);
}

}  // namespace yolk

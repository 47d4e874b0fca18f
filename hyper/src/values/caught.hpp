// SPDX-License-Identifier: Apache-2.0
// The boundary to users' code: what it throws ends here.
#pragma once

#include <exception>
#include <string>

#include "yolk/result.hpp"

namespace yolk::hyper {

/// What `call()`, which returns a Result, comes to; exceptions become errors. `who()` names it, and is asked only then.
template <class Who, class Call>
auto caught(const Who& who, Call&& call) -> decltype(call()) {
    try {
        return call();
    } catch (const std::exception& exception) {
        return bad_input("{} threw: {}", who(), exception.what());
    } catch (...) {
        return bad_input("{} threw something that is not a std::exception.", who());
    }
}

}  // namespace yolk::hyper

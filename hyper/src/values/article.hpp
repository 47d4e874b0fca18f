// SPDX-License-Identifier: Apache-2.0
// Types and kinds in messages: "a tensor [3]", "an integer".
#pragma once

#include <string>

#include "yolk/tensor.hpp"

namespace yolk::hyper {

template <class Type>
[[nodiscard]] std::string with_article(const Type& type) {
    const std::string name(to_string(type));
    return (name.starts_with('i') ? "an " : "a ") + name;
}
/// Where a sentence begins.
template <class Type>
[[nodiscard]] std::string begun_with_article(const Type& type) {
    std::string text = with_article(type);
    text.front() = 'A';
    return text;
}

}  // namespace yolk::hyper

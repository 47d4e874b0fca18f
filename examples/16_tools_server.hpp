// SPDX-License-Identifier: Apache-2.0
// A model that asks for tools, and the one that reflects, by rule.
#pragma once

#include "yolk/chat_server.hpp"

namespace tools_example {

/// Reads the question, and behind it what the tools said: lines "TOOL INPUT: OUTPUT". It asks for the price of each
/// thing first if the prompt says "price list", otherwise it has the calculator multiply by names. A sum it lets
/// calculate twice, unless the prompt says "twice". Then it answers. Reflection: the sentence that the records show to
/// be missing.
[[nodiscard]] yolk::chat_server::Reply answer(const yolk::Json& request);

}  // namespace tools_example

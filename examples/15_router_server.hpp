// SPDX-License-Identifier: Apache-2.0
// Three models and the one that reflects, by rule.
#pragma once

#include "yolk/chat_server.hpp"

namespace router_example {

/// What each request asks for is seen by its form:
/// - a reply by schema: the share of a mail's lines that are quoted, if the prompt says "quoted"; otherwise .5;
/// - "Summary:" at the end: the lines that are not quoted, with numbers if the prompt says "number";
/// - "Answer:" at the end: the last wish and the last order in the text, as "refund 4711" if the prompt says "alone",
/// as a
///   sentence otherwise; with another action where temperature times top_p is too high for the order (.3 is not);
/// - the house's reflection prompt: the text with the sentence that the feedback asks for.
[[nodiscard]] yolk::chat_server::Reply answer(const yolk::Json& request);

}  // namespace router_example

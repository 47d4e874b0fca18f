// SPDX-License-Identifier: Apache-2.0
// A model that writes JSON, well or badly.
#pragma once

#include "yolk/chat_server.hpp"

namespace temperature_example {

/// Describes the item that the user names. What it writes is JSON where temperature times top_p is low enough for the
/// item (.3 is for all), the penalties together are at most 1, and the reply fits into max_tokens (60 are enough).
[[nodiscard]] yolk::chat_server::Reply answer(const yolk::Json& request);

}  // namespace temperature_example

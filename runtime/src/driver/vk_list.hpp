// SPDX-License-Identifier: Apache-2.0
// What Vulkan lists in two calls: one for the count, one for the items.
#pragma once

#include <volk.h>

#include <cstdint>
#include <string>
#include <vector>

#include "vk_result.hpp"

namespace yolk {

/// `ask(count, items)`, once more where the list grew between the two calls. `what` as in vk_error.
template <class Item, class Ask>
[[nodiscard]] Result<std::vector<Item>> vk_list(const std::string& what, Ask ask) {
    std::vector<Item> items;
    VkResult result = VK_INCOMPLETE;
    while (result == VK_INCOMPLETE) {
        std::uint32_t count = 0;
        YOLK_TRY_VOID(vk_check(ask(&count, static_cast<Item*>(nullptr)), what));
        items.resize(count);
        result = ask(&count, items.data());
        items.resize(count);
    }
    YOLK_TRY_VOID(vk_check(result, what));
    return items;
}

}  // namespace yolk

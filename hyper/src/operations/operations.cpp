// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/operations.hpp"

#include <vector>

#include "operation_lists.hpp"

namespace yolk::hyper {

std::span<const Operation* const> operations() noexcept {
    static const std::vector<const Operation*> all = [] {
        std::vector<const Operation*> list;
        for (const auto& part : {elementwise_operations(), row_operations(), tensor_operations(), move_operations(),
                                 structure_operations(), data_operations(), list_operations(), passing_operations(),
                                 control_operations()}) {
            for (const Operation& operation : part) list.push_back(&operation);
        }
        return list;
    }();
    return all;
}

const Operation* find_operation(std::string_view name) noexcept {
    for (const Operation* operation : operations()) {
        if (operation->name == name) return operation;
    }
    return nullptr;
}

}  // namespace yolk::hyper

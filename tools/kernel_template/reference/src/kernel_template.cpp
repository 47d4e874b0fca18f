// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/kernel_template.hpp"

#include <bit>

#include "yolk/exact/exact_elementwise.h"

namespace yolk::reference {

// Replace: the kernel's operations in the kernel's order. What both compute element by element is one source in
// yolk/exact/ (docs/adr/0003).
std::vector<float> kernel_template_twin(const KernelTemplateDesc& desc, const std::vector<float>& in) {
    std::vector<float> out;
    out.reserve(desc.count);
    for (const float value : in) {
        const auto x = std::bit_cast<std::uint32_t>(value);
        out.push_back(std::bit_cast<float>(exact::exact_product_word(x, x)));
    }
    return out;
}

}  // namespace yolk::reference

// SPDX-License-Identifier: Apache-2.0
// The exact twin of the kernel kernel_template (docs/kernels/kernel_template.md).
#pragma once

#include <vector>

#include "yolk/primitives/kernel_template.hpp"

namespace yolk::reference {

/// Replace: what goes in and comes out.
[[nodiscard]] std::vector<float> kernel_template_twin(const KernelTemplateDesc& desc, const std::vector<float>& in);

}  // namespace yolk::reference

// SPDX-License-Identifier: Apache-2.0
#include "yolk/softmax.hpp"

#include "twin_source.hpp"
#include "yolk/internal/primitives/row_steps.hpp"

namespace yolk::reference {

void run_twin(const SoftmaxDesc& desc, const HostViews& views) { run_twin(row_program_of(desc), views); }
template struct Twin<SoftmaxDesc>;

}  // namespace yolk::reference

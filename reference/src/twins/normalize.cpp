// SPDX-License-Identifier: Apache-2.0
#include "yolk/normalize.hpp"

#include <vector>

#include "twin_source.hpp"
#include "yolk/internal/primitives/row_steps.hpp"

namespace yolk::reference {

/// The program has no input for a scale or bias that there is not.
void run_twin(const NormalizeDesc& desc, const HostViews& views) {
    std::vector<HostView> used{views[0]};
    if (desc.scale != RowVector::None) used.push_back(views[1]);
    if (desc.bias != RowVector::None) used.push_back(views[2]);
    used.push_back(views[3]);
    run_twin(row_program_of(desc), HostViews(used));
}
template struct Twin<NormalizeDesc>;

}  // namespace yolk::reference

// SPDX-License-Identifier: Apache-2.0
// How a twin is defined. Its source has `void run_twin(const SoftmaxDesc&, const HostViews&)`, with the arguments of
// SoftmaxDesc::Call behind them, and ends in `template struct Twin<SoftmaxDesc>;`. Twins call each other by run_twin,
// so that nothing is instantiated but at those ends.
#pragma once

#include <algorithm>
#include <span>

#include "yolk/twin.hpp"

namespace yolk {
struct BlockInverseDesc;
struct MatmulDesc;
struct RowProgramDesc;
}  // namespace yolk

namespace yolk::reference {

template <class Desc, class... Arguments>
void Twin<Desc, void(Arguments...)>::run(const Desc& desc, const HostViews& views, Arguments... arguments) {
    run_twin(desc, views, arguments...);
}

/// As much of a result as is wanted.
template <class T>
void copy_wanted(std::span<const T> result, std::span<T> view) {
    std::copy_n(result.begin(), std::min(result.size(), view.size()), view.begin());
}

// Those that others are made of.
void run_twin(const BlockInverseDesc& desc, const HostViews& views);
void run_twin(const MatmulDesc& desc, const HostViews& views);
void run_twin(const RowProgramDesc& desc, const HostViews& views);

}  // namespace yolk::reference

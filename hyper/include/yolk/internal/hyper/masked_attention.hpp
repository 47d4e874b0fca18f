// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "yolk/internal/hyper/traced_operations.hpp"

namespace yolk::hyper {

/// attention() (traced_layers.hpp), in which a query sees the keys where `seen` is not 0. `seen` goes with
/// [..., n, m]: [m] hides the same keys, such as padding, from all queries.
[[nodiscard]] Traced masked_attention(const Traced& q, const Traced& k, const Traced& v, const Traced& seen,
                                      Line line = Line::current());

}  // namespace yolk::hyper

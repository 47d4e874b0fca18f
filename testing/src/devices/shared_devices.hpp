// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace yolk::testing {

/// Destroys the shared devices, then the instance; the layer may report what was left undestroyed.
void destroy_shared_devices();

}  // namespace yolk::testing

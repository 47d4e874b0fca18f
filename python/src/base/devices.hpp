// SPDX-License-Identifier: Apache-2.0
// Vulkan devices, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "yolk/context.hpp"
#include "yolk/device.hpp"
#include "yolk/result.hpp"

namespace yolk::python {
namespace nb = nanobind;

/// None: the best device, or $YOLK_DEVICE. A text or a number: as the command's --device. A list of them: each of
/// those; "all": every device above the portable floor. Throws Raised. Opening takes tenths of a second, without the
/// interpreter's lock.
[[nodiscard]] std::vector<Device> open_devices(nb::handle wanted, bool tuning);

[[nodiscard]] nb::list names_of(const std::vector<Device>& devices);

/// The same for one request ("": the best device, or $YOLK_DEVICE), with a dispatcher, which others may share.
[[nodiscard]] Result<Context> open_context(const std::string& request);

/// What was opened is kept open for later calls, which need not compile its kernels again. From now on it is not: a
/// device was lost, or the interpreter ends. In a fork nothing happens.
void forget_devices();

/// Error, Unsupported: this process is a fork of one that has opened devices, whose drivers' threads it does not have.
[[nodiscard]] Result<void> check_not_forked();

void bind_devices(nb::module_& module);

}  // namespace yolk::python

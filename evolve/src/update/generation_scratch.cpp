// SPDX-License-Identifier: Apache-2.0
#include "generation_scratch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "yolk/log.hpp"

namespace yolk::evolve {

Result<Buffer> create_scratch(const Device& device, std::uint64_t wanted, std::uint64_t least) {
    while (wanted > 0) {
        auto made = device.create_buffer({.size_bytes = wanted, .label = "generation scratch"});
        if (made || made.error().kind != ErrorKind::OutOfMemory || wanted <= least) return made;
        wanted = std::max(wanted / 2, least);
        log_info(fmt::format("There is no memory for all of the scratch at once; trying with {} bytes.", wanted));
    }
    return Buffer();
}

}  // namespace yolk::evolve

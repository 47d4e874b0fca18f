// SPDX-License-Identifier: Apache-2.0
// Archives of .npz files and wheels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::tasks {

struct ZipMember {
    std::string name{};
    std::uint32_t packed_bytes = 0, bytes = 0;
    std::uint32_t header_at = 0;  ///< of its local header
    std::uint16_t method = 0;     ///< 0: as it is, 8: deflate
};
/// The directory of an archive without encryption, of less than 4 GiB. `name` is what errors call it.
[[nodiscard]] Result<std::vector<ZipMember>> zip_members(std::string_view archive, const std::string& name);
[[nodiscard]] Result<std::string> zip_data(std::string_view archive, const ZipMember& member, const std::string& name);

}  // namespace yolk::tasks

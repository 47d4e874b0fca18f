// SPDX-License-Identifier: Apache-2.0
// TLS for the tests' server, with a certificate for 127.0.0.1 that nobody but itself has signed.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "yolk/chat_server.hpp"

namespace yolk::chat {

/// What Options::wrap takes. Writes the certificate to `certificate`; the private key stays in memory. Null on failure.
[[nodiscard]] std::function<std::unique_ptr<chat_server::Stream>(int)> self_signed_tls(
    const std::filesystem::path& certificate);

}  // namespace yolk::chat

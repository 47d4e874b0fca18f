// SPDX-License-Identifier: Apache-2.0
#include "yolk/result.hpp"

#include <cstdio>

namespace yolk {

std::string_view to_string(ErrorKind kind) noexcept {
    switch (kind) {
        case ErrorKind::BadInput: return "bad input";
        case ErrorKind::Unsupported: return "unsupported";
        case ErrorKind::OutOfMemory: return "out of memory";
        case ErrorKind::DeviceLost: return "device lost";
        case ErrorKind::Driver: return "driver";
        case ErrorKind::Io: return "io";
        case ErrorKind::Failed: return "failed";
        case ErrorKind::Cancelled: return "cancelled";
    }
    return "unknown";
}

Error Error::while_doing(std::string_view what) && {
    message.insert(0, std::string("While ").append(what).append(": "));
    return std::move(*this);
}

void detail::bad_result_access(const Error* error) noexcept {
    if (error != nullptr) {
        std::fprintf(stderr, "yolk: the value of a failed Result was read. Its error (%s:%u): %s\n",
                     error->where.file_name(), static_cast<unsigned>(error->where.line()), error->message.c_str());
    } else {
        std::fprintf(stderr, "yolk: the error of a good Result was read\n");
    }
    std::abort();
}

}  // namespace yolk

// SPDX-License-Identifier: Apache-2.0
// Notices for people, on standard error only; standard output belongs to results. Implemented over spdlog.
#pragma once

#include <string_view>

namespace yolk {

enum class LogLevel { Debug, Info, Warning, Error, Off };

/// Default Info; the environment variable YOLK_LOG (debug, info, warning, error, off) overrides it. Thread-safe.
void set_log_level(LogLevel level);
void log(LogLevel level, std::string_view message);

inline void log_debug(std::string_view message) { log(LogLevel::Debug, message); }
inline void log_info(std::string_view message) { log(LogLevel::Info, message); }
inline void log_warning(std::string_view message) { log(LogLevel::Warning, message); }

}  // namespace yolk

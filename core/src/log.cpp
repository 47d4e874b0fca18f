// SPDX-License-Identifier: Apache-2.0
#include "yolk/core/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace yolk {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
    switch (level) {
        case LogLevel::Debug: return spdlog::level::debug;
        case LogLevel::Info: return spdlog::level::info;
        case LogLevel::Warning: return spdlog::level::warn;
        case LogLevel::Error: return spdlog::level::err;
        case LogLevel::Off: return spdlog::level::off;
    }
    return spdlog::level::info;
}

spdlog::logger& logger() {
    static const std::shared_ptr<spdlog::logger> instance = [] {
        auto made = std::make_shared<spdlog::logger>("yolk", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
        made->set_pattern("yolk: %^%l%$: %v");
        const char* wanted =
            std::getenv("YOLK_LOG");  // NOLINT(concurrency-mt-unsafe): read once, before any setenv of ours
        made->set_level(wanted != nullptr ? spdlog::level::from_str(wanted) : spdlog::level::info);
        return made;
    }();
    return *instance;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(to_spdlog(level)); }

void log(LogLevel level, std::string_view message) { logger().log(to_spdlog(level), "{}", std::string(message)); }

}  // namespace yolk

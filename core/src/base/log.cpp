// SPDX-License-Identifier: Apache-2.0
#include "yolk/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "yolk/internal/core/log_level.hpp"
#include "yolk/internal/core/log_sink.hpp"
#include "yolk/internal/core/printable.hpp"

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

/// Of $YOLK_LOG.
Result<spdlog::level::level_enum> wanted_level() {
    const char* const wanted = std::getenv("YOLK_LOG");  // NOLINT(concurrency-mt-unsafe): nothing of ours sets it
    if (wanted == nullptr || *wanted == '\0') return spdlog::level::info;
    for (const auto& [name, level] : {std::pair<std::string_view, LogLevel>("debug", LogLevel::Debug),
                                      {"info", LogLevel::Info},
                                      {"warning", LogLevel::Warning},
                                      {"error", LogLevel::Error},
                                      {"off", LogLevel::Off}}) {
        if (name == wanted) return to_spdlog(level);
    }
    return bad_input("YOLK_LOG is '{}'; it is debug, info, warning, error or off.", shown(wanted));
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of the process, as the logger is
std::atomic<WarningSink> warning_sink{nullptr};

spdlog::logger& logger() {
    static const std::shared_ptr<spdlog::logger> instance = [] {
        auto made = std::make_shared<spdlog::logger>("yolk", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
        made->set_pattern("yolk: %^%l%$: %v");
        const Result<spdlog::level::level_enum> level = wanted_level();
        made->set_level(level.value_or(spdlog::level::info));
        if (!level) made->warn("{}", level.error().message);
        return made;
    }();
    return *instance;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(to_spdlog(level)); }

Result<void> check_log_level() {
    const Result<spdlog::level::level_enum> level = wanted_level();
    return level ? Result<void>() : level.error();
}

void send_warnings_to(WarningSink sink) noexcept { warning_sink = sink; }

void log(LogLevel level, std::string_view message) {
    const std::string shown = printable_message(message);
    const WarningSink sink = level == LogLevel::Warning ? warning_sink.load() : nullptr;
    if (sink != nullptr && logger().should_log(spdlog::level::warn) && sink(shown)) return;
    logger().log(to_spdlog(level), "{}", shown);
}

}  // namespace yolk

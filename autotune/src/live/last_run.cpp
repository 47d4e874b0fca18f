// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/last_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>

#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kLargestLastRun = std::size_t{1} << 24U;
constexpr int kLastRunVersion = 1;

Json last_run_json(const std::vector<ShapeRequest>& shapes) {
    Json list = Json::array();
    for (const ShapeRequest& asked : shapes) {
        list.push_back({{"family", asked.family}, {"variant", asked.shape.variant}, {"extents", asked.shape.extents}});
    }
    return {{"yolk_last_run", kLastRunVersion}, {"shapes", std::move(list)}};
}

bool is_shape_request(const Json& json) {
    if (!json.is_object()) return false;
    for (const char* name : {"family", "variant"}) {
        if (!json.contains(name) || !json[name].is_string()) return false;
    }
    return json.contains("extents") && json["extents"].is_array() &&
           std::ranges::all_of(json["extents"], [](const Json& extent) { return extent.is_number_unsigned(); });
}

/// Nothing lies there, or what a run of ours left: no other file is written over.
bool is_free_or_ours(const std::filesystem::path& path) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return true;
    const Result<std::vector<std::byte>> bytes = read_file(path, kLargestLastRun);
    if (!bytes) return false;
    const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    return text.empty() || text.find("\"yolk_last_run\"") != std::string_view::npos;
}

}  // namespace

std::filesystem::path last_run_path() {
    const std::filesystem::path path = default_table_path();
    return path.empty() ? path : path_beside(path, ".last_run.json");
}

void remember_shapes(const Device& device) {
    const std::vector<ShapeRequest> shapes = shape_requests(device);
    const std::filesystem::path path = last_run_path();
    if (shapes.empty() || path.empty()) return;
    std::error_code ignored;
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
    if (!is_free_or_ours(path)) {
        log_warning(
            fmt::format("What to tune is not remembered: '{}' is a file of another's, and is left as it is. "
                        "Rename it, or name another table in $YOLK_TABLE.",
                        shown(path)));
        return;
    }
    if (const Result<void> written = write_file_atomically(path, to_line(last_run_json(shapes)) + "\n"); !written)
        log(LogLevel::Info, "What to tune is not remembered: " + written.error().message);
}

Result<std::vector<ShapeRequest>> last_run_shapes() {
    const std::filesystem::path path = last_run_path();
    std::error_code ignored;
    if (path.empty() || !std::filesystem::exists(path, ignored)) {
        return bad_input(
            "No run is remembered in '{}': train, eval, bench and system write their shapes there; "
            "run one of them first.",
            shown(path));
    }
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kLargestLastRun));
    std::string text(bytes.size(), '\0');
    std::ranges::transform(bytes, text.begin(), [](std::byte byte) { return static_cast<char>(byte); });
    const Json json = parse_json(text, "the file").value_or(nullptr);
    const bool known = json.is_object() && json.value("yolk_last_run", Json()) == kLastRunVersion &&
                       json.contains("shapes") && json["shapes"].is_array() &&
                       std::ranges::all_of(json["shapes"], is_shape_request);
    if (!known) {
        return bad_input("'{}' is damaged or of another Yolk; the next train, eval, bench or system replaces it.",
                         shown(path));
    }
    std::vector<ShapeRequest> shapes;
    for (const Json& entry : json["shapes"]) {
        shapes.push_back(
            {.family = entry["family"],
             .shape = {.variant = entry["variant"], .extents = entry["extents"].get<std::vector<std::uint64_t>>()}});
    }
    return shapes;
}

}  // namespace yolk::autotune

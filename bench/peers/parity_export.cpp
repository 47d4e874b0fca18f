// SPDX-License-Identifier: Apache-2.0
// yolk_parity_export CASES RESULTS: runs the cases that eggroll_parity.py wrote on every device, and writes the same
// file with the device's results for each case.
#include <fmt/format.h>

#include <cstdio>
#include <span>

#include "parity/parity_run.hpp"
#include "yolk/context.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/runtime/device_selection.hpp"
#include "yolk/json.hpp"

namespace yolk::evolve {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20U;

Result<Json> read_json(const char* path) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kLargestFile));
    YOLK_TRY(Json json, parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path));
    if (!json.is_object() || !json.contains("cases") || !json["cases"].is_array()) {
        return bad_input("'{}' has no list \"cases\". Let bench/peers/eggroll_parity.py write the file.", path);
    }
    return json;
}

/// The case with what this device makes of it.
Result<Json> exported_case(const Context& context, const Json& json) {
    YOLK_TRY(const ParityCase item, read_parity_case(json));
    YOLK_TRY(const std::vector<ParityQuantity> quantities,
             run_parity_case(context.device(), context.dispatcher(), item));
    Json exported = json;
    exported["results"] = Json::object();
    for (const ParityQuantity& quantity : quantities) exported["results"][quantity.name] = quantity.values;
    return exported;
}

Result<Json> exported_device(const Instance& instance, const DeviceInfo& info, const Json& cases) {
    YOLK_TRY(
        const Context context,
        Context::create(instance, {.device = std::to_string(info.index), .tuning = false, .pipeline_cache = false}));
    const std::string driver = info.driver_info.empty() ? "" : ", " + info.driver_info;
    Json run{{"device", info.name + driver}, {"cases", Json::array()}};
    for (const Json& item : cases) {
        YOLK_TRY(Json exported, exported_case(context, item));
        run["cases"].push_back(std::move(exported));
    }
    return run;
}

/// On every device that meets the floor; the others are named on standard error.
Result<void> export_parity(const char* cases_path, const char* results_path) {
    YOLK_TRY(const Json input, read_json(cases_path));
    YOLK_TRY(const Instance instance, Instance::create());
    Json output{{"runs", Json::array()}};
    for (const DeviceInfo& info : instance.devices()) {
        if (!missing_from_floor(info).empty()) {
            fmt::print(stderr, "[{}] is below the portable floor and left out.\n", info.name);
            continue;
        }
        YOLK_TRY(Json run, exported_device(instance, info, input["cases"]));
        output["runs"].push_back(std::move(run));
    }
    if (output["runs"].empty()) return unsupported("No Vulkan device meets the portable floor: nothing was exported.");
    return write_file_atomically(results_path, to_line(output) + "\n");
}

}  // namespace
}  // namespace yolk::evolve

int main(int argc, char** argv) {
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    if (arguments.size() != 3) {
        fmt::print(stderr, "yolk_parity_export takes two paths, CASES and RESULTS; {} were given.\n",
                   arguments.size() - 1);
        return 2;
    }
    const yolk::Result<void> done = yolk::evolve::export_parity(arguments[1], arguments[2]);
    if (done) return 0;
    fmt::print(stderr, "yolk_parity_export: {}\n", done.error().message);
    return 1;
}

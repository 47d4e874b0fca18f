// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/table_operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string>

#include "yolk/internal/autotune/user_kernel.hpp"
#include "yolk/internal/context/tuning_transfer.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kLargestImport = std::size_t{1} << 28U;

Result<Configuration> pinnable(const TuningSpace& space, const StoredConfiguration& named) {
    std::optional<Configuration> configuration = configuration_in(space, named);
    if (!configuration) {
        return bad_input("The configuration must give each knob of {} once: {}.", space.family(),
                         fmt::join(space.knobs() | std::views::transform(&TuningKnob::name), ", "));
    }
    YOLK_TRY_VOID(space.check(*configuration));
    return *std::move(configuration);
}

}  // namespace

Result<KeyContent> content_of(const TuningFile& file, const TuningKey& key) {
    KeyContent content{.key = key, .samples = {}, .quarantined = {}};
    YOLK_TRY(content.samples, file.samples(key));
    YOLK_TRY(content.quarantined, file.quarantined());
    std::erase_if(content.quarantined, [&](const Quarantined& entry) { return !(entry.key == key); });
    return content;
}

Result<std::vector<KeyContent>> user_kernels_with(const TuningFile& file, std::string_view part) {
    YOLK_TRY(const std::vector<TuningKey> keys, file.keys());
    std::vector<KeyContent> found;
    for (const TuningKey& key : keys) {
        if (key.family != kUserKernelFamily) continue;
        if (shape_text(key.family, key.shape).find(part) == std::string::npos) continue;
        YOLK_TRY(found.emplace_back(), content_of(file, key));
    }
    if (found.empty()) {
        return bad_input("The table has no kernel of your own with '{}' in its name; its list has their names.",
                         shown(part));
    }
    return found;
}

Result<std::size_t> export_table(const TuningFile& file, const std::filesystem::path& path) {
    YOLK_TRY(const std::vector<TuningChoice> choices, file.choices());
    YOLK_TRY_VOID(write_file_atomically(path, export_text(choices)));
    return choices.size();
}

Result<ImportOutcome> import_table(const TuningFile& file, const std::filesystem::path& path) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kLargestImport));
    std::string text(bytes.size(), '\0');
    std::ranges::transform(bytes, text.begin(), [](std::byte byte) { return static_cast<char>(byte); });
    YOLK_TRY(const Imported imported, import_text(text, fmt::format("'{}'", shown(path))));
    ImportOutcome outcome{.choices = imported.choices.size(), .left_out = imported.left_out};
    for (const TuningChoice& choice : imported.choices) {
        YOLK_TRY(const bool taken, file.put(choice, std::nullopt));
        outcome.taken += taken ? 1U : 0U;
    }
    return outcome;
}

Result<TuningChoice> pin_choice(const TuningFile& file, const ShapeQuestion& question,
                                const std::optional<StoredConfiguration>& configuration) {
    YOLK_TRY(const std::vector<TuningChoice> choices, file.choices());
    const auto found = std::ranges::find_if(choices, [&question](const TuningChoice& known) {
        return known.key == question.key && fits(question.space, known.configuration);
    });
    std::optional<TuningChoice> choice = found == choices.end() ? std::nullopt : std::optional(*found);
    if (configuration) {
        YOLK_TRY(const Configuration values, pinnable(question.space, *configuration));
        choice = TuningChoice{.key = question.key, .configuration = stored_configuration(question.space, values)};
    }
    if (!choice) {
        return bad_input("There is no choice for {}; tune it, or give the configuration to pin.",
                         shape_text(question.key.family, question.key.shape));
    }
    choice->pinned = true;
    YOLK_TRY_VOID(file.put(*choice, std::nullopt));
    return *std::move(choice);
}

Result<std::size_t> forget_shapes(const TuningFile& file, std::string_view what) {
    const std::size_t colon = std::min(what.find(':'), what.size());
    std::string_view part = colon < what.size() ? what.substr(colon + 1) : std::string_view();
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    return file.forget(what == "all" ? std::string_view() : what.substr(0, colon), part);
}

}  // namespace yolk::autotune

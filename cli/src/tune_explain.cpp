// SPDX-License-Identifier: Apache-2.0
#include "tune_explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "output.hpp"
#include "select_device.hpp"
#include "tune_prior.hpp"
#include "yolk/autotune/architecture.hpp"
#include "yolk/autotune/portfolio.hpp"
#include "yolk/autotune/space.hpp"
#include "yolk/autotune/tune_live.hpp"
#include "yolk/autotune/tuning_transfer.hpp"
#include "yolk/autotune/user_kernel.hpp"
#include "yolk/oracle/named_problem.hpp"
#include "yolk/runtime/probe.hpp"

namespace yolk::cli {

using autotune::Quarantined;
using autotune::TuningChoice;
using autotune::TuningFile;
using autotune::TuningKey;
using autotune::TuningSample;

Result<TuningFile> open_table() {
    const std::filesystem::path path = autotune::default_table_path();
    if (path.empty()) return bad_input("There is no place for a tuning table; name one in $YOLK_TABLE.");
    return TuningFile::open(path);
}

bool is_own(const std::string& text) {
    return text == autotune::kUserKernelFamily || text.starts_with(std::string(autotune::kUserKernelFamily) + " ");
}

Result<ExplainRequest> ask(const std::string& text, const CommonFlags& common) {
    if (is_own(text)) {
        return bad_input(
            "Kernels of your own have no ladder and nothing to pin: no plan of Yolk's asks for them. See --list, "
            "--show and --forget, and yolk tune --kernel FILE --space FILE --out FILE.");
    }
    YOLK_TRY(const std::unique_ptr<oracle::Problem> problem, oracle::make_named_problem(text));
    YOLK_TRY(Device device, open_device(common));
    YOLK_TRY_VOID(probe(device));
    TuningSpace space = problem->space(device.usable_info());
    TuningKey key = autotune::tuning_key(device.info(), space);
    Configuration heuristic = problem->default_configuration(device.usable_info());
    return ExplainRequest{std::move(device), std::move(space), std::move(key), std::move(heuristic)};
}

namespace {

/// What each source says, in the order in which they are asked; the one that answers is marked.
struct Source {
    std::string name;
    std::string text;
    bool answers = false;
};

Source architecture_source(const ExplainRequest& request, const std::vector<TuningChoice>& choices, std::string text) {
    const std::string name = autotune::architecture_of(request.key.device);
    if (!text.empty()) return {"same architecture", fmt::format("{}: {}", name, text)};
    if (name.empty()) return {"same architecture", "this device's is not known"};
    std::size_t count = 0;
    for (const TuningChoice& choice : choices) {
        if (choice.key.family == request.key.family && choice.key.device.device != request.key.device.device &&
            autotune::same_architecture(choice.key.device, request.key.device) &&
            tuning_distance(choice.key.shape, request.key.shape))
            ++count;
    }
    return {"same architecture",
            fmt::format("{}: {} choices of other devices, none with this driver and these kernels near enough; `yolk "
                        "tune` measures them first",
                        name, count)};
}

/// What a prior file would have `yolk tune` try: a plan takes nothing that was not proven.
std::string prediction_text(const ExplainRequest& request, const std::optional<autotune::PriorFile>& prior,
                            const std::vector<TuningSample>& samples) {
    constexpr std::size_t kMostCandidates = 4000;
    if (!prior) return "no prior file (prior.json beside the table, or --prior)";
    const std::vector<Configuration> drawn = request.space.draw(kMostCandidates, 1);
    Result<autotune::Space> space = autotune::space_of(request.space);
    std::vector<std::uint16_t> choices;
    for (const Configuration& configuration : drawn) {
        for (std::size_t k = 0; k < configuration.size(); ++k) {
            const std::vector<std::uint32_t>& values = request.space.knobs()[k].values;
            choices.push_back(static_cast<std::uint16_t>(std::ranges::find(values, configuration[k]) - values.begin()));
        }
    }
    if (!space) return "the space cannot be enumerated";
    const Result<autotune::CandidateSet> candidates = autotune::CandidateSet::of(*std::move(space), std::move(choices));
    if (!candidates) return "the space cannot be enumerated";
    const auto found = autotune::prior_for(*prior, *candidates, request.key.family);
    if (!found) return "the prior file does not know this family's knobs";
    std::vector<std::pair<std::size_t, double>> known;
    for (const TuningSample& sample : samples) {
        const auto values = ordered_configuration(request.space, sample.configuration);
        const auto at = values ? std::ranges::find(drawn, *values) : drawn.end();
        if (at != drawn.end() && std::isfinite(sample.milliseconds))
            known.emplace_back(static_cast<std::size_t>(at - drawn.begin()), std::log(sample.milliseconds));
    }
    return fmt::format("{} (rank {}, {} samples of this shape); `yolk tune` begins there, a plan does not take it",
                       request.space.text(drawn[autotune::predicted_best(*found, known)]), found->factors.size(),
                       known.size());
}

std::string portfolio_text(const ExplainRequest& request) {
    std::size_t allowed = 0;
    const auto portfolio = autotune::portfolio_of(autotune::shipped_portfolio(), request.key.family);
    for (const NamedConfiguration& configuration : portfolio) {
        const auto values = ordered_configuration(request.space, configuration);
        allowed += values && request.space.check(*values) ? 1U : 0U;
    }
    if (portfolio.empty()) return "none for this family";
    return fmt::format("{} configurations, {} of them allowed here; `yolk tune` tries them, a plan does not",
                       portfolio.size(), allowed);
}

std::vector<Source> ladder(const ExplainRequest& request, const std::vector<TuningChoice>& choices,
                           const std::vector<Quarantined>& quarantined, const std::vector<TuningSample>& samples,
                           const std::optional<autotune::PriorFile>& prior) {
    const TuningTable mine = autotune::usable_choices(choices, quarantined, request.key.device);
    const std::optional<TuningAnswer> answer = mine.find(request.space);
    const bool exact = answer && answer->source == TuningSource::Exact;
    const bool near = answer && answer->source == TuningSource::NearestShape;
    const bool alike = answer && answer->source == TuningSource::SameArchitecture;
    const auto told = [&](const char* otherwise) {
        if (!answer) return std::string(otherwise);
        return fmt::format("{}{} -> {}", autotune::shape_text(answer->entry->family, answer->entry->shape),
                           answer->entry->pinned ? ", pinned" : "", request.space.text(answer->configuration));
    };
    std::vector<Source> sources;
    sources.push_back(
        {"exact", exact ? told("") : fmt::format("nothing in the bucket {}", tuning_bucket(request.key.shape)), exact});
    std::size_t other_driver = 0;
    std::size_t other_kernels = 0;
    std::size_t bad = 0;
    for (const TuningChoice& choice : choices) {
        if (choice.key.family != request.key.family || choice.key.device.device != request.key.device.device) continue;
        if (!tuning_distance(choice.key.shape, request.key.shape)) continue;
        const bool same_driver = choice.key.device.driver == request.key.device.driver;
        if (!same_driver) ++other_driver;
        if (same_driver && choice.key.kernels != request.key.kernels) ++other_kernels;
    }
    for (const Quarantined& entry : quarantined) bad += entry.key == request.key ? 1U : 0U;
    sources.push_back(
        {"same device, other driver",
         fmt::format("{} choices; `yolk tune` measures them first, a plan does not take them", other_driver)});
    sources.push_back({"nearest shape", near ? told("") : (exact ? "not asked" : "none near enough"), near});
    sources.push_back(architecture_source(request, choices, alike ? told("") : std::string(answer ? "not asked" : "")));
    sources.back().answers = alike;
    sources.push_back({"low-rank prediction", prediction_text(request, prior, samples)});
    sources.push_back({"portfolio", portfolio_text(request)});
    sources.push_back({"heuristic", request.space.text(request.heuristic), !answer});
    if (other_kernels > 0)
        sources.push_back({"misses", fmt::format("{} choices were measured with other SPIR-V", other_kernels)});
    if (bad > 0) sources.push_back({"quarantine", fmt::format("{} configurations of this shape are not run", bad)});
    return sources;
}

}  // namespace

Result<int> explain(const std::string& text, const std::string& prior_path, const CommonFlags& common) {
    YOLK_TRY(const ExplainRequest request, ask(text, common));
    YOLK_TRY(const TuningFile file, open_table());
    YOLK_TRY(const std::vector<TuningChoice> choices, file.choices());
    YOLK_TRY(const std::vector<Quarantined> quarantined, file.quarantined());
    YOLK_TRY(const std::vector<TuningSample> samples, file.samples(request.key));
    YOLK_TRY(const std::optional<autotune::PriorFile> prior, find_prior(prior_path));
    const std::vector<Source> sources = ladder(request, choices, quarantined, samples, prior);
    if (common.json) {
        Json json{{"shape", autotune::shape_text(request.key.family, request.key.shape)},
                  {"bucket", tuning_bucket(request.key.shape)},
                  {"device", request.key.device.device},
                  {"driver", request.key.device.driver},
                  {"kernels", request.key.kernels},
                  {"sources", Json::array()}};
        for (const Source& source : sources) {
            json["sources"].push_back({{"source", source.name}, {"says", source.text}, {"answers", source.answers}});
            if (source.answers) json["answer"] = source.name;
        }
        print_json(json);
        return 0;
    }
    print_line(fmt::format("{} on {}", autotune::shape_text(request.key.family, request.key.shape),
                           request.key.device.driver));
    std::vector<std::vector<std::string>> rows;
    for (const Source& source : sources) rows.push_back({source.answers ? "->" : "", source.name, source.text});
    print_line(table(rows));
    return 0;
}

}  // namespace yolk::cli

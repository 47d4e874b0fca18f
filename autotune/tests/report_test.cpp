// SPDX-License-Identifier: Apache-2.0
// The page is held to what a reader relies on: nothing is loaded, no text is read as markup, plots stay in their
// frames, and what was measured of how much is said.
#include "yolk/internal/autotune/report.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "surfaces.hpp"
#include "table_folder.hpp"
#include "yolk/reduce.hpp"

namespace yolk::autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

/// Elements open and close like brackets, attributes are quoted.
void expect_well_formed(const std::string& html) {
    static const std::regex kTag("<(/?)([a-zA-Z0-9!]+)((?: [a-zA-Z:-]+(?:=\"[^\"<]*\")?)*)(/?)>");
    std::vector<std::string> open;
    std::size_t tags = 0;
    for (auto at = std::sregex_iterator(html.begin(), html.end(), kTag); at != std::sregex_iterator(); ++at, ++tags) {
        const std::string name = (*at)[2];
        if (name == "meta" || name == "br" || name == "!DOCTYPE" || (*at)[4].length() > 0) continue;
        if ((*at)[1].length() == 0) {
            open.push_back(name);
        } else {
            ASSERT_FALSE(open.empty()) << name;
            ASSERT_EQ(open.back(), name);
            open.pop_back();
        }
    }
    EXPECT_THAT(open, ::testing::IsEmpty());
    EXPECT_EQ(tags, count_of(html, "<")) << "something looks like a tag and is none";
}

/// What is drawn lies within its picture.
void expect_inside(const std::string& html) {
    static const std::regex kBox("viewBox=\"0 0 ([0-9.]+) ([0-9.]+)\"");
    static const std::regex kPlace(" (cx|cy|x|y)=\"(-?[0-9.]+)\"");
    for (std::size_t at = html.find("<svg"); at != std::string::npos; at = html.find("<svg", at + 1)) {
        const std::string picture = html.substr(at, html.find("</svg>", at) - at);
        std::smatch box;
        ASSERT_TRUE(std::regex_search(picture, box, kBox));
        const double width = std::stod(box[1]);
        const double height = std::stod(box[2]);
        for (auto of = std::sregex_iterator(picture.begin(), picture.end(), kPlace); of != std::sregex_iterator();
             ++of) {
            const double place = std::stod((*of)[2]);
            const bool across = (*of)[1] == "cx" || (*of)[1] == "x";
            ASSERT_GE(place, 0.0) << (*of)[0];
            ASSERT_LE(place, across ? width : height) << (*of)[0];
        }
    }
}

/// The samples of a search over reduce's 19 configurations, one of which failed and one of which was wrong.
struct Searched {
    TuningSpace space = space_of(DeviceInfo{}, ReduceDesc{.outer = 8, .columns = 41}).space();
    TuningKey key = some_key();
    std::vector<TuningSample> samples;
    std::vector<Quarantined> quarantined;
    TuningChoice choice;

    Searched() {
        const std::vector<Configuration> all = space.all();
        for (std::size_t i = 0; i < all.size(); ++i) {
            const StoredConfiguration named = stored_configuration(space, all[i]);
            if (i == 2) {
                samples.push_back({.configuration = named, .milliseconds = kInvalidCost, .reason = "Too large."});
            } else {
                for (const double factor : {1.0, 1.2, 1.1})
                    samples.push_back({.configuration = named, .milliseconds = factor * static_cast<double>(i + 1)});
            }
        }
        quarantined.push_back({key, stored_configuration(space, all[3]), "out[3] is <5> & not \"4\""});
        quarantined.push_back({some_key(1024), stored_configuration(space, all[4]), "another shape's"});
        for (const double milliseconds : {0.9, 1.0, 1.1}) {
            samples.push_back({.configuration = stored_configuration(space, all[0]),
                               .milliseconds = milliseconds,
                               .stage = SampleStage::Final});
        }
        choice = {.key = key,
                  .configuration = stored_configuration(space, all[0]),
                  .milliseconds = 1.0,
                  .heuristic_milliseconds = 2.5,
                  .plain_milliseconds = 4.0,
                  .spread = 0.1};
    }
    [[nodiscard]] ShapeReport report() const {
        const KnownShape known{space, space.all()[1]};
        return shape_report(key, samples, quarantined, &choice, &known);
    }
};

// Knobs of users' kernels may be words and fractions; nothing but the samples says which there are.
TEST(report, counts_words_in_their_order_and_names_them) {
    TuningKey key = some_key();
    key.family = "kernel";
    const auto configuration = [](const char* layout, double scale) {
        return StoredConfiguration{{"layout", KnobValue(layout)}, {"scale", scale}, {"wx", 8}};
    };
    const std::vector<TuningSample> samples{
        {.configuration = configuration("TILES", 0.5), .milliseconds = 1.0},
        {.configuration = configuration("ROWS", 2.0), .milliseconds = 2.0},
        {.configuration = configuration("ROWS", 0.5), .milliseconds = kInvalidCost, .reason = "wrong"}};
    TuningChoice choice{.key = key, .configuration = configuration("TILES", 0.5), .milliseconds = 1.0};
    const ShapeReport report = shape_report(key, samples, {}, &choice, nullptr);
    EXPECT_EQ(report.measured, 3U);
    ASSERT_TRUE(report.surface);
    const auto parameters = report.surface->candidates().space().parameters();
    ASSERT_EQ(parameters.size(), 3U);
    EXPECT_EQ(parameters[0].name, "layout{ROWS|TILES}");
    EXPECT_EQ(parameters[1].name, "scale{0.5|2}");
    EXPECT_EQ(parameters[2].name, "wx");
    ASSERT_FALSE(report.times.empty());
    EXPECT_EQ(report.times.back().configuration, "layout TILES, scale 0.5, wx 8");
    EXPECT_TRUE(report.times.back().candidate);
    ASSERT_EQ(report.failures.size(), 1U);
    EXPECT_EQ(report.failures[0].configuration, "layout ROWS, scale 0.5, wx 8");
}

TEST(report, holds_what_the_table_says) {
    const Searched searched;
    const ShapeReport report = searched.report();
    EXPECT_EQ(report.measured, 19U);
    EXPECT_EQ(report.candidates, "19 legal configurations");
    ASSERT_TRUE(report.surface);
    EXPECT_EQ(report.surface->valid_count(), 18U);
    EXPECT_DOUBLE_EQ(report.surface->optimum(), 1.05);  // the median of 1, 1.2, 1.1, .9, 1, 1.1
    ASSERT_THAT(report.times, SizeIs(3));
    EXPECT_EQ(report.times[0].name, "default");
    EXPECT_EQ(report.times[2].samples, (std::vector<double>{0.9, 1.0, 1.1}));
    ASSERT_TRUE(report.times[2].candidate);
    EXPECT_DOUBLE_EQ(report.surface->costs()[*report.times[2].candidate], 1.05);
    ASSERT_THAT(report.failures, SizeIs(2));
    EXPECT_TRUE(report.failures[0].quarantined);
    EXPECT_EQ(report.failures[1].reason, "Too large.");
}

TEST(report, page_is_one_file_and_says_what_it_rests_on) {
    Searched searched;
    searched.key.device.device = "<script>alert('x')</script>";
    searched.quarantined[0].key = searched.key;
    ShapeReport shape = searched.report();
    ASSERT_TRUE(add_curves(shape, {}));
    EXPECT_TRUE(shape.curves.empty());  // 19 are too few
    const std::vector<ShapeReport> shapes{shape};
    const std::string page = report_page(shapes, {});
    expect_well_formed(page);
    expect_inside(page);
    for (const char* outside : {"<script", "http", "src=", "<link", "@import", "url("})
        EXPECT_THAT(page, Not(HasSubstr(outside)));
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"));
    EXPECT_THAT(page, HasSubstr("out[3] is &lt;5&gt; &amp; not &quot;4&quot;"));
    EXPECT_THAT(page, HasSubstr("19 configurations were measured of 19 legal configurations; 2 failed."));
    EXPECT_THAT(page, HasSubstr("19 configurations were measured, and 20 are the least"));
    EXPECT_THAT(page, HasSubstr("2.50x"));  // 2.5 over 1
    EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
    EXPECT_EQ(page, report_page(shapes, {}));
    EXPECT_THAT(report_page({}, {}), HasSubstr("has no shapes yet"));
}

TEST(report, curves_are_of_all_strategies_on_the_same_axes) {
    const ReportReplays replays{.repeats = 3, .budget = 40, .seed = 5};
    const auto page = [&](std::size_t threads) {
        ShapeReport shape = surface_report(tiled_product(), "made-up.json");
        ReportReplays with = replays;
        with.threads = threads;
        EXPECT_TRUE(add_curves(shape, with));
        EXPECT_THAT(shape.curves, SizeIs(strategy_names().size()));
        EXPECT_EQ(shape.replayed_budget, 40U);
        return report_page(std::vector<ShapeReport>{shape}, with);
    };
    const std::string first = page(1);
    expect_well_formed(first);
    expect_inside(first);
    EXPECT_EQ(first, page(2));
    for (const std::string_view strategy : strategy_names())
        EXPECT_THAT(first, HasSubstr("<title>" + std::string(strategy) + "</title>"));
    EXPECT_THAT(first, HasSubstr("know only the 1440 configurations which were measured"));
    // A plot per knob, a common one, and one for each strategy besides random.
    EXPECT_EQ(count_of(first, "role=\"img\""), 6 + 1 + strategy_names().size() - 1);

    ShapeReport chosen = surface_report(tiled_product(), "made-up.json");
    ASSERT_TRUE(add_curves(chosen, {.strategies = {"greedy"}, .repeats = 2, .budget = 20}));
    ASSERT_THAT(chosen.curves, SizeIs(2));
    EXPECT_EQ(chosen.curves[1].strategy, "random");
    EXPECT_FALSE(add_curves(chosen, {.strategies = {"luck"}}));
}

TEST(report, keys_without_choice_or_space_are_shown_with_what_there_is) {
    const Searched searched;
    const ShapeReport unknown = shape_report(searched.key, searched.samples, searched.quarantined, nullptr, nullptr);
    EXPECT_TRUE(unknown.surface);
    EXPECT_TRUE(unknown.times.empty());
    EXPECT_TRUE(unknown.candidates.empty());
    const ShapeReport nothing = shape_report(searched.key, {}, {}, &searched.choice, nullptr);
    EXPECT_FALSE(nothing.surface);
    EXPECT_THAT(nothing.times, SizeIs(3));
    TuningKey stale = searched.key;
    stale.kernels = "other";
    const ShapeReport old = shape_report(stale, {}, {}, nullptr, nullptr);
    const std::string page = report_page(std::vector<ShapeReport>{unknown, nothing, old}, {});
    expect_well_formed(page);
    EXPECT_THAT(page, HasSubstr("Measured with other SPIR-V"));
    EXPECT_THAT(page, HasSubstr("No configuration that works was measured"));
}

TEST(report, page_shows_what_the_compiler_made_of_each_configuration) {
    const Searched searched;
    ShapeReport shape = searched.report();
    const char* const kHeading = "What the driver&rsquo;s compiler made of them";
    EXPECT_THAT(report_page(std::vector<ShapeReport>{shape}, {}), Not(HasSubstr(kHeading)));
    shape.times[1].pipelines.push_back({.kernel = "reduce_<max>",
                                        .subgroup_size = 64,
                                        .figures = {.registers = 48, .waves = 6, .waves_of = 16, .code_bytes = 1234}});
    const std::string page = report_page(std::vector<ShapeReport>{shape}, {});
    expect_well_formed(page);
    for (const char* part : {kHeading, "reduce_&lt;max&gt;", ">48<", ">6 of 16<", ">1234<"})
        EXPECT_THAT(page, HasSubstr(part));
    EXPECT_THAT(page, HasSubstr("heuristic</td><td><code>reduce_&lt;max&gt;</code></td><td class=\"n\">48</td><td "
                                "class=\"n\">&ndash;</td>"))
        << "spills that the driver does not report are no zero";
}

class report_table : public TableFolder {};
TEST_F(report_table, pipelines_of_default_heuristic_and_tuned_are_looked_at) {
    DeviceInfo info;
    info.name = "a GPU that is here";
    info.vendor_id = 0x1002;
    info.features.pipeline_statistics = true;
    const TuningSpace space = space_of(info, ReduceDesc{.outer = 8, .columns = 41}).space();
    const std::vector<Configuration> all = space.all();
    const auto file = TuningFile::open(table());
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->put({.key = tuning_key(info, space),
                           .configuration = stored_configuration(space, all[5]),
                           .milliseconds = 1.0,
                           .heuristic_milliseconds = 2.0},
                          std::nullopt));
    std::vector<Configuration> asked;
    const PlanInspector inspect = [&](const DeviceInfo& device, const oracle::Problem& problem,
                                      const Configuration& configuration) -> Result<InspectedPlan> {
        EXPECT_EQ(device.name, info.name);
        EXPECT_THAT(problem.name(), HasSubstr("reduce"));
        asked.push_back(configuration);
        if (asked.size() > 1) return unsupported("The driver said no.");
        PipelineReport made{.kernel = "reduce_one"};
        made.executables.push_back({.name = "compute", .statistics = {{"VGPRs", std::uint64_t{24}}}});
        InspectedPlan plan;
        plan.pipelines.push_back(made);
        return plan;
    };
    const auto reports = table_reports(*file, std::vector{info}, inspect);
    ASSERT_TRUE(reports);
    ASSERT_THAT(*reports, SizeIs(1));
    const std::vector<ReportedTime>& times = reports->front().times;
    ASSERT_THAT(times, SizeIs(2));
    EXPECT_THAT(asked, ElementsAre(times[0].values, all[5])) << "heuristic and tuned; the default was not timed";
    ASSERT_THAT(times[0].pipelines, SizeIs(1));
    EXPECT_EQ(times[0].pipelines[0].kernel, "reduce_one");
    EXPECT_EQ(times[0].pipelines[0].figures.registers, 24U);
    EXPECT_THAT(times[1].pipelines, SizeIs(0));
    EXPECT_THAT(reports->front().notes.back(), HasSubstr("'tuned' is not known: The driver said no."));

    asked.clear();
    info.features.pipeline_statistics = false;
    ASSERT_TRUE(table_reports(*file, std::vector{info}, inspect));
    EXPECT_THAT(asked, SizeIs(0)) << "a driver without statistics is not asked";
}

TEST_F(report_table, keys_are_sorted_and_whole) {
    const auto file = TuningFile::open(table());
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->add(some_key(64), {.configuration = {{"a", 1}}, .milliseconds = 1.0}));
    ASSERT_TRUE(file->quarantine({some_key(8), {{"a", 1}}, "why"}));
    ASSERT_TRUE(file->put(some_choice(some_key(16, "driver 0"), 2, 1.0), std::nullopt));
    const auto keys = file->keys();
    ASSERT_TRUE(keys);
    EXPECT_THAT(*keys, ElementsAre(some_key(16, "driver 0"), some_key(8), some_key(64)));
}

}  // namespace
}  // namespace yolk::autotune

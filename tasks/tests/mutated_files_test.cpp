// SPDX-License-Identifier: Apache-2.0
// Files of people's own, damaged at random: what is read is sound, and the rest is refused in words.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "data_files.hpp"
#include "peer_rows.hpp"
#include "read_arrays.hpp"
#include "read_images.hpp"
#include "read_table.hpp"
#include "yolk/configuration.hpp"
#include "yolk/internal/tasks/bench_outcome.hpp"
#include "yolk/internal/tasks/learning_log.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/mutation.hpp"

namespace yolk::tasks {
namespace {

using ::yolk::testing::Mutator;

/// Where readers that take a path find the bytes.
std::string written(std::string_view bytes, const std::string& name) {
    static const DataFolder folder;
    std::filesystem::remove(folder.path() / name);  // truncating the old one would make the file system wait
    return folder.write(name, bytes);
}

Result<void> sound(const Result<DataSet>& read) {
    if (!read) return read.error();
    const DataSet& data = *read;
    EXPECT_EQ(data.inputs.size(), data.rows() * data.width());
    EXPECT_TRUE(std::ranges::all_of(data.inputs, [](float value) { return std::isfinite(value); }));
    EXPECT_TRUE(data.labels.empty() || data.labels.size() == data.rows());
    return {};
}
Result<void> sound(const Result<FileArray>& read) {
    if (!read) return read.error();
    const std::uint64_t elements = elements_of(read->shape, std::numeric_limits<std::uint32_t>::max());
    EXPECT_EQ(read->is_text() ? read->texts.size() : read->numbers.size(), elements);
    return {};
}
Result<void> sound(const Result<Image>& read) {
    if (!read) return read.error();
    EXPECT_EQ(read->pixels.size(), std::size_t{read->height} * read->width * read->channels);
    return {};
}
Result<void> sound(const Result<LearningLog>& read) {
    if (!read) return read.error();
    EXPECT_TRUE(std::ranges::is_sorted(read->points, {}, &LearningPoint::generation));
    return {};
}
template <class T>
Result<void> sound(const Result<T>& read) {
    if (!read) return read.error();
    return {};
}

struct Format {
    std::string name;
    std::string whole;
    std::function<Result<void>(const std::string&)> read;
};
void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

std::string log_of_training() {
    std::string text = R"({"settings":{"task":"cartpole","population":64,"seed":1}})"
                       "\n";
    for (int i = 0; i < 3; ++i) {
        text += R"({"generation":)" + std::to_string(i) +
                R"(,"evaluations":64,"evaluations_per_second":1e5,"mean_return":9.5,"policy_return":8.0,"seconds":0.1})"
                "\n";
    }
    return text;
}

std::vector<Format> formats() {
    const auto by_path = [](const std::string& name) {
        return [name](const std::string& bytes) { return sound(read_data(written(bytes, name))); };
    };
    const std::string table = npy("<f4", "(2, 3)", raw({1.0F, 2.0F, 0.0F, 3.0F, 4.0F, 1.0F}));
    return {
        {"csv", "width,\"height, in cm\",kind\n1,2.5,cat\n-3e1, 4 ,\"a \"\"dog\"\"\"\n",
         [](const std::string& bytes) { return sound(parse_csv(bytes, "'m'", {})); }},
        {"npy", table, [](const std::string& bytes) { return sound(parse_npy(bytes, "'m'")); }},
        {"npy_table", table, by_path("m.npy")},
        {"npz",
         zip_of({{"x.npy", npy("<f4", "(2, 1)", raw({1.0F, 2.0F}))},
                 {"y.npy", npy("|u1", "(2,)", std::string("\x00\x01", 2))}}),
         by_path("m.npz")},
        {"idx", idx(8, {2, 1, 2}, "\x01\x02\x03\x04"),
         [](const std::string& bytes) { return sound(parse_idx(bytes, "'m'")); }},
        {"png", png_of(3, 2, true, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}),
         [](const std::string& bytes) { return sound(parse_image(bytes, "'m'")); }},
        {"pgm", "P5\n# made by hand\n2 1\n255\n\x01\x02",
         [](const std::string& bytes) { return sound(parse_image(bytes, "'m'")); }},
        {"toml",
         "version = 1\n[data]\nsource = \"a.csv\"\nheader = true\n[network]\nhidden = [8, 4]\nconv = [\"8x3p1\", "
         "\"max2\"]\n[search]\nlr = 1e-2\noptimizer = \"momentum\"\nfreeze = [\"layer0.bias\"]\n",
         [](const std::string& bytes) { return sound(parse_configuration(bytes, "'m'")); }},
        {"metrics", log_of_training(),
         [](const std::string& bytes) { return sound(read_learning_log(written(bytes, "metrics.jsonl"))); }},
        {"peer_rows",
         R"({"side":"yolk","size":512,"median":2.5,"lowest":2.0,"highest":3.0})"
         "\n"
         R"({"side":"torch","failed":"not installed"})"
         "\n",
         [](const std::string& bytes) { return sound(parse_peer_rows(bytes, "'m'")); }},
        {"bench",
         R"({"bench":"suite","format":1,"limits":[{"name":"memory","unit":"G bytes/s","rate":20}],"place":{"device":"d",)"
         R"("driver":"d 1","cores":2,"version":"0.1"},"rows":[{"group":"kernels","name":"softmax","unit":"G bytes/s",)"
         R"("rate":15,"runs":7,"seconds":0.002,"seconds_quartiles":[0.0019,0.0021],"limit_of":"memory","of_limit":0.7}]})",
         [](const std::string& bytes) { return sound(parse_bench_outcome(bytes, "'m'")); }},
    };
}

class mutated_files : public ::testing::TestWithParam<Format> {};

TEST_P(mutated_files, are_read_soundly_or_refused) {
    const Format& format = GetParam();
    ASSERT_OK(format.read(format.whole));
    const auto whole = std::as_bytes(std::span(format.whole));
    Mutator mutate(20261128);
    const int files = ::yolk::testing::mutation_count(2000);
    int refused = 0;
    for (int i = 0; i < files && !HasFailure(); ++i) {
        const std::vector<std::byte> bytes = mutate({whole.begin(), whole.end()});
        const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        SCOPED_TRACE(::testing::PrintToString(text));
        const Result<void> read = format.read(text);
        if (read) continue;
        ++refused;
        EXPECT_THAT(read.error().kind, ::testing::AnyOf(ErrorKind::BadInput, ErrorKind::Unsupported));
        EXPECT_FALSE(read.error().message.empty());
    }
    EXPECT_GT(refused, files / 10);
    EXPECT_LT(refused, files);
}

INSTANTIATE_TEST_SUITE_P(, mutated_files, ::testing::ValuesIn(formats()),
                         [](const auto& file) { return file.param.name; });

}  // namespace
}  // namespace yolk::tasks

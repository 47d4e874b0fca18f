// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "yolk/finetune.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/text_file.hpp"
#include "yolk/internal/core/utf8.hpp"
#include "yolk/json.hpp"

namespace yolk::transformer {
namespace {

constexpr std::size_t kMostPairBytes = std::size_t{4} << 30U;
constexpr double kHighestGrade = 1000.0;
constexpr std::string_view kForm =
    "a line is a query, a tabulator and a document, and perhaps another tabulator and a grade";

Result<double> parse_grade(std::string_view text, const std::string& place) {
    double grade = 0.0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), grade);
    if (code == std::errc() && end == text.data() + text.size()) return grade;
    return bad_input("{}: the grade '{}' is no number.", place, shown(text));
}

Result<RelevantPair> pair_of_columns(std::string_view line, const std::string& place) {
    const std::size_t first = line.find('\t');
    if (first == std::string_view::npos) return bad_input("{} has no tabulator: {}.", place, kForm);
    const std::size_t second = line.find('\t', first + 1);
    RelevantPair pair{.query = std::string(line.substr(0, first)),
                      .document = std::string(line.substr(first + 1, second - first - 1))};
    if (second == std::string_view::npos) return pair;
    if (line.find('\t', second + 1) != std::string_view::npos)
        return bad_input("{} has more than two tabulators: {}.", place, kForm);
    YOLK_TRY(pair.grade, parse_grade(line.substr(second + 1), place));
    return pair;
}

Result<RelevantPair> pair_of_json(std::string_view line, const std::string& place) {
    YOLK_TRY(const Json json, parse_json(line, place));
    if (!json.is_object()) return bad_input("{} is no JSON object.", place);
    RelevantPair pair;
    for (const auto& [name, to] : {std::pair("query", &pair.query), std::pair("document", &pair.document)}) {
        const auto found = json.find(name);
        if (found == json.end() || !found->is_string()) return bad_input("{} has no text '{}'.", place, name);
        *to = found->get<std::string>();
    }
    const auto grade = json.find("grade");
    if (grade == json.end()) return pair;
    if (!grade->is_number()) return bad_input("{}: the grade {} is no number.", place, shown(to_line(*grade)));
    pair.grade = grade->get<double>();
    return pair;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

}  // namespace

Result<std::vector<RelevantPair>> read_pairs(const std::filesystem::path& file) {
    YOLK_TRY(const std::string text, read_text(file, kMostPairBytes));
    const bool is_json = file.extension() == ".jsonl";
    std::vector<RelevantPair> pairs;
    std::uint64_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view line(text.data() + begin, end - begin);
        begin = end + 1;
        ++number;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        const std::string place = fmt::format("'{}', line {}", shown(file), number);
        if (!is_utf8(line)) return bad_input("{} is not UTF-8; texts must be.", place);
        YOLK_TRY(RelevantPair pair, is_json ? pair_of_json(line, place) : pair_of_columns(line, place));
        if (is_blank(pair.query)) return bad_input("{} has an empty query.", place);
        if (is_blank(pair.document)) return bad_input("{} has an empty document.", place);
        if (!(pair.grade >= 0.0 && pair.grade <= kHighestGrade))
            return bad_input("{}: the grade is {}; it must be from 0 to {}.", place, pair.grade, kHighestGrade);
        pairs.push_back(std::move(pair));
    }
    if (pairs.empty()) return bad_input("'{}' has no pair: {}.", shown(file), kForm);
    return pairs;
}

}  // namespace yolk::transformer

// SPDX-License-Identifier: Apache-2.0
#include "es_update_text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include "plan_checks.hpp"
#include "yolk/rollout.hpp"

namespace yolk {
namespace {

/// Parameters of so many elements: CartPole's policy where some width has them, else one matrix of so many rows; 0
/// rows: as square as can be.
Result<ParameterTable> parameters_of(std::uint32_t elements, std::uint32_t rows) {
    constexpr std::uint32_t kWidest = 256;
    if (rows == 0 && elements > 2 && (elements - 2) % 7 == 0 && (elements - 2) / 7 <= kWidest) {
        const PolicyNetwork policy{.widths = {4, (elements - 2) / 7, 2}};
        return ParameterTable::create(policy.parameters());
    }
    if (rows == 0) {
        rows = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(elements)));
        while (rows > 1 && elements % rows != 0) --rows;
    }
    if (rows == 0 || elements % rows != 0) return bad_input("No matrix has these elements.");
    return ParameterTable::create({{.name = "w", .rows = rows, .columns = elements / rows}});
}

std::string print_elements(const EsUpdateDesc& desc) { return std::to_string(desc.parameters.element_count()); }
bool parse_elements(EsUpdateDesc& desc, std::string_view text) {
    std::uint32_t elements = 0;
    if (!detail::parse_number(text, elements)) return false;
    Result<ParameterTable> table = parameters_of(elements, 0);
    if (table) desc.parameters = *std::move(table);
    return table.has_value();
}

/// That of most of the sums, where matrices have several.
std::string print_rank(const EsUpdateDesc& desc) {
    std::map<std::uint32_t, std::uint64_t> sums;
    for (const ParameterDesc& parameter : desc.parameters.parameters()) {
        if (parameter.perturbation != Perturbation::LowRank) continue;
        const std::uint32_t rank = rank_of(parameter, desc.rank);
        sums[rank] += std::uint64_t{rank} * parameter.rows * parameter.columns;
    }
    const auto most = std::ranges::max_element(sums, {}, [](const auto& of) { return of.second; });
    return std::to_string(most == sums.end() ? desc.rank : most->first);
}

/// 0: the table that `elements` alone gives, and tables of which no text tells.
std::string print_rows(const EsUpdateDesc& desc) {
    const auto parameters = desc.parameters.parameters();
    if (parameters.size() != 1 || parameters[0].perturbation != Perturbation::LowRank) return "0";
    const Result<ParameterTable> square = parameters_of(desc.parameters.element_count(), 0);
    const bool is_that =
        square && square->parameters().size() == 1 && square->parameters()[0].rows == parameters[0].rows;
    return is_that ? "0" : std::to_string(parameters[0].rows);
}
bool parse_rows(EsUpdateDesc& desc, std::string_view text) {
    std::uint32_t rows = 0;
    if (!detail::parse_number(text, rows)) return false;
    if (rows == 0) return true;
    Result<ParameterTable> table = parameters_of(desc.parameters.element_count(), rows);
    if (table) desc.parameters = *std::move(table);
    return table.has_value();
}

}  // namespace

Fields<EsUpdateDesc> es_update_fields() {
    using Desc = EsUpdateDesc;
    Field<Desc> rank = extent<&Desc::rank>("rank").from(1, kMaxRank);
    rank.print = &print_rank;
    return {"es_update",
            {Field<Desc>{.info = {.name = "elements",
                                  .role = FieldRole::Extent,
                                  .allowed = "a number from 1 to 2147483647, of all parameters",
                                  .fallback = "450"},
                         .print = &print_elements,
                         .parse = &parse_elements},
             extent<&Desc::population>("population").from(2), rank,
             Field<Desc>{.info = {.name = "rows",
                                  .role = FieldRole::Neither,
                                  .allowed = "0, or a divisor of elements: of the one matrix that they are",
                                  .fallback = "0"},
                         .print = &print_rows,
                         .parse = &parse_rows},
             variant<&Desc::weights>("weights"), variant<&Desc::antithetic>("pairs"),
             variant<&Desc::output>("output").in_no_key()}};
}

}  // namespace yolk

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "read_table.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::tasks {
namespace {

struct CsvRecord {
    std::vector<std::string> fields;
    std::uint32_t line = 0;  ///< where it begins, from 1
};

std::string_view trimmed(std::string_view text) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

std::optional<double> number_in(std::string_view text) {
    text = trimmed(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    double number = 0.0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// One record after the other.
class CsvReader {
   public:
    CsvReader(std::string_view text, const std::string& name) : text_(text), name_(&name) {
        if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
        const std::string_view first = text_.substr(0, text_.find('\n'));
        for (const char candidate : {',', ';', '\t'}) {
            if (std::ranges::count(first, candidate) > std::ranges::count(first, separator_)) separator_ = candidate;
        }
    }
    /// Nothing: the text has ended. Blank lines are passed over.
    [[nodiscard]] Result<std::optional<CsvRecord>> next() {
        while (at_ < text_.size()) {
            CsvRecord record{.fields = {}, .line = line_};
            YOLK_TRY_VOID(read(record));
            if (record.fields.size() > 1 || !trimmed(record.fields.front()).empty()) return std::optional(record);
        }
        return std::optional<CsvRecord>();
    }

   private:
    [[nodiscard]] Result<void> read(CsvRecord& record) {
        while (true) {
            std::string& field = record.fields.emplace_back();
            if (at_ < text_.size() && text_[at_] == '"') {
                YOLK_TRY_VOID(read_quoted(field, record.fields.size()));
            } else {
                const std::array<char, 3> ends{separator_, '\n', '\0'};
                const std::size_t end = std::min(text_.find_first_of({ends.data(), ends.size()}, at_), text_.size());
                field = trimmed(text_.substr(at_, end - at_));
                at_ = end;
            }
            if (at_ >= text_.size()) return {};
            const char ended_by = text_[at_++];
            if (ended_by == '\0') return bad_input("'{}', line {}, has a zero byte; it is no text.", *name_, line_);
            if (ended_by == '\n') {
                ++line_;
                return {};
            }
        }
    }
    [[nodiscard]] Result<void> read_quoted(std::string& field, std::size_t column) {
        const std::uint32_t begins = line_;
        for (++at_; at_ < text_.size(); ++at_) {
            if (text_[at_] == '\n') ++line_;
            if (text_[at_] != '"') {
                field += text_[at_];
                continue;
            }
            if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
            field += text_[++at_];
        }
        if (at_ >= text_.size()) {
            return bad_input("'{}', line {}, column {}: the quotation mark that opens here is never closed.", *name_,
                             begins, column);
        }
        ++at_;
        while (at_ < text_.size() && (text_[at_] == '\r' || text_[at_] == ' ')) ++at_;
        if (at_ >= text_.size() || text_[at_] == separator_ || text_[at_] == '\n') return {};
        return bad_input(
            "'{}', line {}, column {}: there is text after the closing quotation mark; a quotation mark inside a field "
            "is written twice.",
            *name_, line_, column);
    }

    std::string_view text_;
    const std::string* name_;
    std::size_t at_ = 0;
    std::uint32_t line_ = 1;
    char separator_ = ',';
};

/// Which column has the labels; the number of columns where none has.
Result<std::size_t> label_column(const CsvRecord& first, bool has_header, const std::string& name,
                                 const DataOptions& options) {
    const std::size_t columns = first.fields.size();
    if (!options.has_labels) return columns;
    if (options.label.empty()) return columns - 1;
    if (has_header) {
        const auto found = std::ranges::find(first.fields, options.label);
        if (found != first.fields.end()) return static_cast<std::size_t>(found - first.fields.begin());
    }
    const std::optional<double> number = number_in(options.label);
    if (number && *number >= 0.0 && *number < static_cast<double>(columns) && *number == std::floor(*number))
        return static_cast<std::size_t>(*number);
    if (!has_header) {
        return bad_input("'{}' has {} columns without names, so the label's column '{}' must be a number from 0 to {}.",
                         name, columns, shown(options.label), columns - 1);
    }
    std::vector<std::string> names;
    for (const std::string& field : first.fields) names.push_back(shown(field));
    return bad_input("'{}' has no column '{}' for the labels; its columns are {}.", name, shown(options.label),
                     fmt::join(names, ", "));
}

/// The rows of a table whose first record says how many columns there are.
struct CsvTable {
    DataSet data;
    std::vector<std::string> header;
    std::size_t columns = 0, label = 0;

    [[nodiscard]] std::string place(const CsvRecord& record, std::size_t column) const {
        const std::string named = header.empty() ? "" : fmt::format(" ('{}')", shown(header[column]));
        return fmt::format("'{}', line {}, column {}{}", data.name, record.line, column + 1, named);
    }
    [[nodiscard]] Result<void> add(CsvRecord record) {
        if (record.fields.size() != columns) {
            return bad_input("'{}', line {}, has {} fields, but the first line has {}; all lines need the same number.",
                             data.name, record.line, record.fields.size(), columns);
        }
        for (std::size_t column = 0; column < columns; ++column) {
            std::string& field = record.fields[column];
            if (field.empty()) return bad_input("{} is empty; fill it in, or remove the line.", place(record, column));
            if (column == label) {
                const std::optional<double> number = number_in(field);
                data.labels.push_back(number ? label_of_number(*number) : std::move(field));
                continue;
            }
            const std::optional<double> number = number_in(field);
            if (!number) {
                return bad_input(
                    "{} is '{}', which is not a number; inputs are numbers. Another column for the labels "
                    "is named with `label`.",
                    place(record, column), shown(field));
            }
            const auto value = static_cast<float>(*number);
            if (!std::isfinite(value))
                return bad_input("{} is {}, which is not a finite fp32 number.", place(record, column), shown(field));
            data.inputs.push_back(value);
        }
        data.lines.push_back(record.line);
        return {};
    }
};

}  // namespace

std::string label_of_number(double number) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (number == std::floor(number) && std::abs(number) <= kExact)
        return fmt::format("{}", static_cast<std::int64_t>(number));
    return fmt::format("{}", number);
}

Result<DataSet> parse_csv(std::string_view text, const std::string& name, const DataOptions& options) {
    CsvReader reader(text, name);
    YOLK_TRY(std::optional<CsvRecord> first, reader.next());
    if (!first) return bad_input("'{}' has no line with data.", name);
    const bool has_header = options.header.value_or(
        std::ranges::none_of(first->fields, [](const std::string& field) { return number_in(field).has_value(); }));
    CsvTable table;
    table.data.name = name;
    table.columns = first->fields.size();
    YOLK_TRY(table.label, label_column(*first, has_header, name, options));
    const std::size_t inputs = table.columns - (table.label < table.columns ? 1 : 0);
    if (inputs == 0) return bad_input("'{}' has one column, the labels; there are no inputs to learn from.", name);
    table.data.shape = {static_cast<std::uint32_t>(inputs)};
    if (has_header) {
        table.header = first->fields;
        for (std::size_t i = 0; i < table.columns; ++i) {
            if (i != table.label) table.data.columns.push_back(table.header[i]);
        }
    } else {
        YOLK_TRY_VOID(table.add(*std::move(first)));
    }
    while (true) {
        YOLK_TRY(std::optional<CsvRecord> record, reader.next());
        if (!record) break;
        YOLK_TRY_VOID(table.add(*std::move(record)));
    }
    if (table.data.lines.empty()) return bad_input("'{}' has a header and no line with data.", name);
    return std::move(table.data);
}

}  // namespace yolk::tasks

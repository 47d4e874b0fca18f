// SPDX-License-Identifier: Apache-2.0
#include "yolk/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <new>
#include <optional>
#include <set>
#include <vector>

#include "yolk/internal/core/memory.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/utf8.hpp"

namespace yolk {
namespace {

constexpr std::size_t kValueBytes = 48;
constexpr std::size_t kTextBytes = 48;

/// The parser's input: the text's characters one by one, with the words of numbers that are not finite exchanged for
/// null where that is wanted. `seen` is how far it has read.
class Cursor {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = char;

    Cursor(std::string_view rest, bool exchanges, std::size_t* seen) : rest_(rest), exchanges_(exchanges), seen_(seen) {
        exchange();
    }
    char operator*() const { return instead_.empty() ? rest_.front() : instead_.front(); }
    Cursor& operator++() {
        if (!instead_.empty()) {
            instead_.remove_prefix(1);
            if (instead_.empty()) exchange();
            return *this;
        }
        const char c = rest_.front();
        if (c == '"' && !escaped_) in_string_ = !in_string_;
        escaped_ = in_string_ && c == '\\' && !escaped_;
        take(1);
        exchange();
        return *this;
    }
    bool operator==(const Cursor& other) const {
        return rest_.size() == other.rest_.size() && instead_.size() == other.instead_.size();
    }

   private:
    void take(std::size_t count) {
        rest_.remove_prefix(count);
        *seen_ += count;
    }
    void exchange() {
        if (!exchanges_ || in_string_) return;
        for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
            if (!rest_.starts_with(word)) continue;
            instead_ = "null";
            take(word.size());
            return;
        }
    }

    std::string_view rest_;
    std::string_view instead_;
    bool exchanges_;
    bool in_string_ = false;
    bool escaped_ = false;
    std::size_t* seen_;
};

/// What nlohmann-json says is wrong, without its number, its place and the text that it read, which may be long.
std::string reason_of(std::string_view message) {
    const std::size_t begin = message.find(" - ");
    if (begin == std::string_view::npos)
        return std::string(message.substr(std::min(message.find("] ") + 2, message.size())));
    const std::string_view reason = message.substr(begin + 3);
    const std::size_t read = reason.find("; last read: ");
    const std::size_t expected = reason.rfind("; expected ");
    std::string text(reason.substr(0, std::min(read, expected)));
    if (expected != std::string_view::npos) text += reason.substr(expected);
    return text;
}

/// Makes the tree from the parser's events, and ends the parsing where a limit is passed.
template <class Tree>
class TreeBuilder {
   public:
    TreeBuilder(std::string_view text, std::string_view what, const JsonLimits& limits)
        : text_(text), what_(what), limits_(limits) {}

    bool null() { return add(Tree(nullptr)); }
    bool boolean(bool value) { return add(Tree(value)); }
    bool number_integer(std::int64_t value) { return add(Tree(value)); }
    bool number_unsigned(std::uint64_t value) { return add(Tree(value)); }
    bool number_float(double value, const std::string& /*text*/) { return add(Tree(value)); }
    bool string(std::string& value) { return charge(kTextBytes + value.size()) && add(Tree(std::move(value))); }
    bool binary(typename Tree::binary_t& /*value*/) { return false; }  // JSON has none

    bool start_object(std::size_t /*size*/) { return start(Tree::object()); }
    bool start_array(std::size_t /*size*/) { return start(Tree::array()); }
    bool end_object() { return end(); }
    bool end_array() { return end(); }
    bool key(std::string& name) {
        if (!charge(kTextBytes + kValueBytes + name.size())) return false;
        Open& object = open_.back();
        auto& members = object.value->template get_ref<typename Tree::object_t&>();
        if constexpr (std::is_same_v<Tree, SortedJson>) {
            const auto [member, is_new] = members.emplace(name, nullptr);
            if (!is_new) return twice(name);
            member_ = &member->second;
        } else {
            if (!object.names.insert(name).second) return twice(name);
            // ordered_map's own emplace() would look through all names before this one.
            auto& list = static_cast<typename Tree::object_t::Container&>(members);
            member_ = &list.emplace_back(name, nullptr).second;
        }
        return true;
    }
    template <class Exception>
    bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const Exception& exception) {
        error_ = bad_input("{} is not valid JSON: {}: {}.", what_, place(), reason_of(exception.what()));
        return false;
    }

    [[nodiscard]] std::size_t* seen() { return &seen_; }
    [[nodiscard]] Result<Tree> result() && {
        if (error_) return *std::move(error_);
        return std::move(root_);
    }

   private:
    struct Open {
        Tree* value;
        std::set<std::string> names;  ///< of an ordered object
    };

    [[nodiscard]] std::string place() const { return text_place(text_, seen_ == 0 ? 0 : seen_ - 1); }
    bool twice(std::string_view name) {
        constexpr std::size_t kMostQuoted = 60;
        std::size_t quoted = 0;
        while (quoted < name.size() && quoted < kMostQuoted) quoted += utf8_character_size(name.substr(quoted));
        error_ = bad_input("{} names '{}' twice in one object ({}). Keep one.", what_,
                           shown(std::string(name.substr(0, quoted)) + (quoted < name.size() ? "..." : "")), place());
        return false;
    }
    bool charge(std::size_t bytes) {
        used_ += bytes;
        if (used_ <= limits_.memory_bytes) return true;
        error_ = bad_input("{} takes more than {} of memory once it is read, the limit here; it is reached at {}.",
                           what_, size_text(limits_.memory_bytes), place());
        return false;
    }
    Tree* put(Tree value) {
        if (open_.empty()) return &(root_ = std::move(value));
        if (Tree& parent = *open_.back().value; parent.is_array()) {
            parent.push_back(std::move(value));
            return &parent.back();
        }
        return &(*member_ = std::move(value));
    }
    bool add(Tree value) { return charge(kValueBytes) && put(std::move(value)) != nullptr; }
    bool start(Tree value) {
        if (!charge(kValueBytes + kTextBytes)) return false;
        if (open_.size() == limits_.depth) {
            error_ = bad_input("{} nests arrays and objects more than {} deep ({}).", what_, limits_.depth, place());
            return false;
        }
        open_.push_back({put(std::move(value)), {}});
        return true;
    }
    bool end() {
        open_.pop_back();
        return true;
    }

    std::string_view text_;
    std::string_view what_;
    JsonLimits limits_;
    std::size_t seen_ = 0;
    std::size_t used_ = 0;
    Tree root_;
    std::vector<Open> open_;
    Tree* member_ = nullptr;  ///< whose name was read last
    std::optional<Error> error_;
};

template <class Tree>
Result<Tree> parse_tree(std::string_view text, std::string_view what, const JsonLimits& limits) {
    // The parser would take it for the end.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
        return bad_input("{} is not valid JSON: {}: a NUL byte.", what, text_place(text, nul));
    TreeBuilder<Tree> builder(text, what, limits);
    try {
        const Cursor end(text.substr(text.size()), false, builder.seen());
        Tree::sax_parse(Cursor(text, limits.non_finite_as_null, builder.seen()), end, &builder);
        return std::move(builder).result();
    } catch (const std::bad_alloc&) {
        return Error{ErrorKind::OutOfMemory, fmt::format("There is not enough memory to read {}.", what)};
    }
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
    return parse_tree<Json>(text, what, limits);
}

Result<SortedJson> parse_sorted_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
    return parse_tree<SortedJson>(text, what, limits);
}

std::string text_place(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, offset);
    const std::size_t line_end = before.rfind('\n');
    const std::size_t column = line_end == std::string_view::npos ? before.size() : before.size() - line_end - 1;
    if (text.find('\n') == std::string_view::npos) return fmt::format("column {}", column + 1);
    return fmt::format("line {}, column {}", std::ranges::count(before, '\n') + 1, column + 1);
}

std::string to_line(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

double shortest(float value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    double result = 0.0;
    std::from_chars(text.data(), end, result);
    return result;
}

}  // namespace yolk
